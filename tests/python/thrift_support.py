"""A server that answers what a test wants, made of other people's Thrift."""

import http.server
import struct
import threading

from databricks.sql.thrift_api.TCLIService import TCLIService, ttypes
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.transport.TTransport import TMemoryBuffer


def decode(body):
    """(name of the call, sequence id, its arguments) of a Thrift message."""
    protocol = TBinaryProtocol(TMemoryBuffer(body))
    name, _, sequence = protocol.readMessageBegin()
    arguments = getattr(TCLIService, name + "_args")()
    arguments.read(protocol)
    return name, sequence, arguments.req


def encode(name, sequence, reply):
    memory = TMemoryBuffer()
    protocol = TBinaryProtocol(memory)
    protocol.writeMessageBegin(name, 2, sequence)
    getattr(TCLIService, name + "_result")(success=reply).write(protocol)
    protocol.writeMessageEnd()
    return memory.getvalue()


def renumber(message, sequence):
    """The same message, a strict one, with another sequence id: version, length of the name, name,
    sequence id."""
    at = 8 + struct.unpack(">i", message[4:8])[0]
    return message[:at] + struct.pack(">i", sequence) + message[at + 4:]


def success(name, sequence):
    kind = getattr(ttypes, f"T{name}Resp")
    return encode(name, sequence, kind(status=ttypes.TStatus(statusCode=0)))


class ThriftServer:
    """Serves HTTP on a free port; answer(body), which makes a reply of a request, is the subclass's."""

    def __init__(self) -> None:
        answer = self.answer

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self):
                body = answer(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(200)
                self.send_header("Content-Type", "application/x-thrift")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.uri = f"http://127.0.0.1:{self.server.server_port}/sql/1.0/warehouses/test"

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
