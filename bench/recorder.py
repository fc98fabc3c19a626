"""Records the request of one Mortar statement, for the plain program to send again, and the reply,
for the bare responder to answer with.

A relay stands between mortar_bench and the server for two statements and keeps what both sent. It forwards whole HTTP messages with a Content-Length, one connection, nothing else. It does
not forward CloseSession, so the recorded session lives on at the server and its statement can be
sent again and again.
"""

import re
import socket
import subprocess
import threading

SECONDS = 30  # for the whole recording
CALLS = (b"OpenSession", b"ExecuteStatement", b"CloseSession")


def read_message(stream):
    """Head and body of one HTTP message; empty when the peer has closed."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        line = stream.readline()
        if not line:
            return b""
        head += line
    length = re.search(rb"(?im)^content-length:[ \t]*(\d+)", head)
    if not length:
        raise RuntimeError("a message without Content-Length can't be recorded")
    return head + stream.read(int(length.group(1)))


def call_of(request):
    """The Thrift call in it; the name stands at the start of the body."""
    start = request.partition(b"\r\n\r\n")[2][:64]
    return next((name for name in CALLS if name in start), b"another call")


class Relay(threading.Thread):
    """Takes one connection and keeps what passes; `failure` says why it ended early."""

    def __init__(self, address):
        super().__init__(daemon=True)
        self.address = address
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(SECONDS)
        self.port = self.listener.getsockname()[1]
        self.requests, self.replies = [], []
        self.failure = None

    def run(self):
        try:
            with self.listener, self.listener.accept()[0] as client:
                client.settimeout(SECONDS)
                where = (self.address.host, self.address.port)
                with socket.create_connection(where, SECONDS) as server:
                    self.forward(client, server)
        except (OSError, RuntimeError) as problem:
            self.failure = problem

    def forward(self, client, server):
        asked, answered = client.makefile("rb"), server.makefile("rb")
        while request := read_message(asked):
            if call_of(request) == b"CloseSession":
                return
            self.requests.append(request)
            server.sendall(request)
            self.replies.append(read_message(answered))
            client.sendall(self.replies[-1])


def record(program, address, sql):
    """Request and reply of `sql` in the steady state, after a first run of it in the same session."""
    relay = Relay(address)
    relay.start()
    command = [program, "--sql", sql, "--statements", "1", "--warm-up", "0"]
    command.append(f"http://127.0.0.1:{relay.port}{address.path}")
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=SECONDS)
    relay.join(SECONDS)
    calls = [call_of(request) for request in relay.requests]
    if calls != [b"OpenSession", b"ExecuteStatement", b"ExecuteStatement"]:
        raise RuntimeError(f"a statement is not one exchange: {calls} ({relay.failure})")
    return relay.requests[-1], relay.replies[-1]
