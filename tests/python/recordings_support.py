"""Reads recordings with other people's code only: the connector's bindings on PyPI's thrift, and lz4."""

import base64
import json
import os
import pathlib

import lz4.frame
from conftest import ROOT
from databricks.sql.thrift_api.TCLIService import TCLIService
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.Thrift import TMessageType
from thrift.transport.TTransport import TMemoryBuffer

OURS = ROOT / "tests" / "fixtures" / "recordings"
SHARED = os.environ.get("MORTAR_SHARED")
THEIRS = sorted((pathlib.Path(SHARED) / "recordings" / "thrift").glob("*.jsonl")) if SHARED else []
LZ4 = b"\x04\x22\x4d\x18"


def body(line, key):
    return base64.b64decode(line[key])


def reply_bytes(line, folder):
    """The body of a line's reply; empty when it has none."""
    if "response_file" not in line:
        return body(line, "response_b64") if "response_b64" in line else b""
    beside = folder / line["response_file"]
    return (beside if beside.exists() else folder.parent / line["response_file"]).read_bytes()


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def unpack(data):
    """One frame or several, or no frame at all."""
    plain = b""
    while data[:4] == LZ4:
        decoder = lz4.frame.LZ4FrameDecompressor()
        plain += decoder.decompress(data)
        data = decoder.unused_data or b""
    return plain + data


def parse(data):
    """(call, struct) of a Thrift message; the struct of an exception is None."""
    protocol = TBinaryProtocol(TMemoryBuffer(data))
    call, kind, _ = protocol.readMessageBegin()
    if kind == TMessageType.EXCEPTION:
        return call, None
    request = kind == TMessageType.CALL
    box = getattr(TCLIService, call + ("_args" if request else "_result"))()
    box.read(protocol)
    return call, box.req if request else box.success


def thrift_exchanges(path):
    """(call, request, reply) of each Thrift exchange with a reply; an exception is None."""
    for line in lines_of(path):
        if line["status"] == 200 and "request_b64" in line:
            call, request = parse(body(line, "request_b64"))
            yield call, request, parse(reply_bytes(line, path.parent))[1]
