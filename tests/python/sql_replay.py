"""A server that answers as recorded: Thrift exchanges of a .jsonl file (docs/decode_recordings.md),
found by call and statement text, with the caller's sequence id. What is not in the recording is
answered with success and nothing else."""

import base64
import http.server
import json
import pathlib
import struct
import threading

from databricks.sql.thrift_api.TCLIService import TCLIService, ttypes
from thrift.protocol import TBinaryProtocol
from thrift.transport import TTransport


def decode(body):
    """(name of the call, sequence id, its arguments) of a Thrift message."""
    protocol = TBinaryProtocol.TBinaryProtocol(TTransport.TMemoryBuffer(body))
    name, _, sequence = protocol.readMessageBegin()
    arguments = getattr(TCLIService, name + "_args")()
    arguments.read(protocol)
    return name, sequence, arguments.req


def encode(name, sequence, reply):
    memory = TTransport.TMemoryBuffer()
    protocol = TBinaryProtocol.TBinaryProtocol(memory)
    protocol.writeMessageBegin(name, 2, sequence)
    getattr(TCLIService, name + "_result")(success=reply).write(protocol)
    protocol.writeMessageEnd()
    return memory.getvalue()


def exchanges_of(path: pathlib.Path):
    """(call, statement or None, reply) of each Thrift exchange that went well."""
    for line in path.read_text().splitlines():
        exchange = json.loads(line)
        if exchange.get("status") != 200 or "request_b64" not in exchange:
            continue
        name, _, request = decode(base64.b64decode(exchange["request_b64"]))
        if "response_b64" in exchange:
            body = base64.b64decode(exchange["response_b64"])
        else:
            file = exchange["response_file"]
            near = [p for p in (path.parent / file, path.parent.parent / file) if p.exists()]
            body = near[0].read_bytes() if near else None
        if body:
            yield name, getattr(request, "statement", None), body


class Replay:
    """Serves one recording; `statements` are those that it has an answer for."""

    def __init__(self, path: pathlib.Path) -> None:
        self.replies = {}
        for name, statement, body in exchanges_of(path):
            self.replies.setdefault((name, statement), body)
        self.statements = [text for name, text in self.replies if name == "ExecuteStatement"]
        replay = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = replay.answer(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(200)
                self.send_header("Content-Type", "application/x-thrift")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.uri = f"http://127.0.0.1:{self.server.server_port}/sql/1.0/warehouses/replay"

    def answer(self, body):
        name, sequence, request = decode(body)
        recorded = self.replies.get((name, getattr(request, "statement", None)))
        if recorded is None:
            kind = getattr(ttypes, f"T{name}Resp")
            return encode(name, sequence, kind(status=ttypes.TStatus(statusCode=0)))
        # A strict message: version, length of the name, name, sequence id.
        at = 8 + struct.unpack(">i", recorded[4:8])[0]
        return recorded[:at] + struct.pack(">i", sequence) + recorded[at + 4 :]

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
