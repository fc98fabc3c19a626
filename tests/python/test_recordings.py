"""tools/decode_recordings on our own recordings, on broken ones, and on those of MORTAR_SHARED; and
every Arrow batch in them compared with what pyarrow reads.

MORTAR_BUILD names the CMake build folder (default build/dev), MORTAR_SEED repeats a run.
"""

import base64
import ctypes
import json
import os
import random
import re
import shutil
import struct
import subprocess

import pytest
from conftest import built

pa = pytest.importorskip("pyarrow")
pytest.importorskip("lz4.frame")
pytest.importorskip("thrift")
pytest.importorskip("databricks.sql")
from recordings_support import LZ4, OURS, body, lines_of, parse, reply_bytes, unpack  # noqa: E402

SEED = int(os.environ["MORTAR_SEED"])  # conftest.py chooses one
LAST = re.compile(r"(\d+) exchanges, (\d+) decoded, (\d+) failed")


def decode(*args):
    """(exit status, lines, the numbers of the last line)."""
    tool = built("tools/decode_recordings")
    done = subprocess.run([tool, *args], capture_output=True, timeout=60)
    assert done.returncode in (0, 1, 2), (done.returncode, done.stderr)
    lines = done.stdout.decode(errors="replace").splitlines()
    found = LAST.fullmatch(lines[-1]) if lines else None
    return done.returncode, lines, tuple(map(int, found.groups())) if found else None


# ---- The tool -------------------------------------------------------------------------------


def test_our_recordings_are_decoded():
    status, lines, numbers = decode(OURS)
    assert (status, numbers) == (0, (32, 32, 0)), lines
    assert "1 Thrift exceptions, 1 HTTP errors" in lines
    assert "62 messages written again: 62 the same bytes, 0 of another form" in lines
    assert "13 Arrow batches with 28 rows, 2 column sets with 6 rows" in lines
    assert "2 Arrow files, 6 batches with 10 rows" in lines
    assert "3 skipped: 1 JSON, 1 other bodies, 1 without a body" in lines


@pytest.mark.parametrize("args", [[], ["--what"], [OURS, OURS], ["/no/such/folder"]])
def test_wrong_usage(args):
    assert decode(*args)[0] == 2


def test_help():
    status, lines, _ = decode("--help")
    assert status == 0 and lines[0].startswith("usage: decode_recordings DIR")


def test_dump_is_json():
    _, lines, numbers = decode(OURS, "--dump")
    dumps = [json.loads(line) for line in lines if line.startswith("{")]
    requests = [d for d in dumps if "request" in d]
    assert len(requests) == numbers[0]
    assert len(dumps) == 2 * numbers[0] - 1  # the 403 has no Thrift reply
    assert {"error_code": 6, "error_message": "boom"} in [d["body"] for d in dumps]


def test_values_are_the_rows():
    _, lines, _ = decode(OURS, "--values")
    rows = [json.loads(line) for line in lines if line.startswith("{")]
    direct = [r["row"] for r in rows if r["file"].endswith("direct-results.jsonl")]
    assert len(rows) == 38 and len(direct) == 10
    assert direct[:5] == direct[5:]
    assert [r[:3] for r in direct[:3]] == [["1", "a", "1.50"], ["2", None, None], [None, "ccc", "-3.25"]]
    assert [r[1] for r in direct[3:5]] == ["\u00e4\u20ac", ""]
    assert [r[3] for r in direct[:5]] == ["[1,2]", "[]", None, "[null]", "[3]"]


# ---- Broken recordings ----------------------------------------------------------------------


def put(line, key, data):
    line[key] = base64.b64encode(data).decode()


def change(key, how):
    def apply(line):
        put(line, key, how(body(line, key)))
        return line

    return apply


def replace(old, new):
    def how(data):
        assert old in data
        return data.replace(old, new, 1)

    return how


def assign(key, value):
    def apply(line):
        line[key] = value
        return line

    return apply


def declare(rows):
    """Says another number of rows for the batch of five."""
    return change("response_b64", replace(ROWS + struct.pack(">q", 5), ROWS + struct.pack(">q", rows)))


def without(key):
    def apply(line):
        del line[key]
        return line

    return apply


BATCH = re.compile(rb"(\x0b\x00\x01\x00\x00..)\xff\xff\xff\xff...\x00", re.DOTALL)  # field 1, a message
ROWS = b"\x0a\0\2"  # the head of field 2, an i64
DIRECT, PAGES, FILES = "thrift/direct-results.jsonl", "thrift/pages.jsonl", "cloudfetch/files.jsonl"

# file, line, what happens to it, what must be said
BROKEN = {
    "reply cut": (DIRECT, 2, change("response_b64", lambda d: d[:-1]), "reply: .*ends too early"),
    "reply too long": (DIRECT, 1, change("response_b64", lambda d: d + b"\0"), "bytes behind"),
    "reply empty": (DIRECT, 1, assign("response_b64", ""), "reply: .*ends too early at byte 0"),
    "reply missing": (DIRECT, 1, without("response_b64"), "reply: .*ends too early at byte 0"),
    "reply is HTML": (DIRECT, 1, change("response_b64", lambda d: b"<html>sorry</html>"), "not a Thrift"),
    "reply is JSON": (DIRECT, 1, assign("response", {"a": 1}), "JSON, where Thrift"),
    "request cut": (DIRECT, 2, change("request_b64", lambda d: d[:-3]), "request: .*ends too early"),
    "request is a reply": (
        DIRECT,
        1,
        change("request_b64", replace(b"\x80\x01\x00\x01", b"\x80\x01\x00\x02")),
        "request: ",
    ),
    "other call": (
        DIRECT,
        1,
        change("request_b64", replace(b"\x0bOpenSession", b"\x0fOpenSessionXXXX")),
        "TCLIService has no call OpenSessionXXXX",
    ),
    "answer to another call": (
        DIRECT,
        5,
        change("response_b64", replace(b"\x0cCloseSession", b"\x0eCloseOperation")),
        "answers CloseOperation, asked was CloseSession",
    ),
    "other sequence id": (
        DIRECT,
        5,
        change("response_b64", replace(b"CloseSession\0\0\0\5", b"CloseSession\0\0\0\6")),
        "sequence id 6, asked was 5",
    ),
    "negative length": (
        DIRECT,
        1,
        change("request_b64", replace(b"\0\0\0\x09ansi_mode", b"\xff\xff\xff\x09ansi_mode")),
        "negative length",
    ),
    "not base64": (DIRECT, 3, assign("response_b64", "abc*"), "response_b64: not base64"),
    "half of base64": (DIRECT, 3, assign("response_b64", "abcde"), "response_b64: not base64"),
    "body is a number": (DIRECT, 3, assign("response_b64", 7), "response_b64: not a text"),
    "no status": (DIRECT, 3, without("status"), "no HTTP status"),
    "status is text": (DIRECT, 3, assign("status", "200"), "no HTTP status"),
    "LZ4 frame damaged": (
        DIRECT,
        2,
        change("response_b64", lambda d: d[: d.index(LZ4) + 5] + b"\0\0\0" + d[d.index(LZ4) + 8 :]),
        "Arrow batch: ",
    ),
    "batch damaged": (
        DIRECT,
        3,
        change("response_b64", lambda d: BATCH.sub(lambda m: m[1] + b"\xff" * 4 + b"\7\7\7\0", d, 1)),
        "Arrow batch: ",
    ),
    "more rows declared": (
        DIRECT,
        2,
        declare(6),
        "6 rows are declared, the batch holds 5",
    ),
    "negative rows declared": (
        DIRECT,
        2,
        declare(-1),
        "-1 rows are declared",
    ),
    "columns of unequal length": (
        DIRECT,
        4,
        change(
            "response_b64",
            replace(
                b"\x08\0\0\0\3" + struct.pack(">3i", 1, 2, 0), b"\x08\0\0\0\2" + struct.pack(">2i", 1, 2)
            ),
        ),
        "column 1 has 3 rows, column 0 has 2",
    ),
    "schema never told": (
        PAGES,
        5,
        change("request_b64", replace(b"\4" * 16, b"\7" * 16)),
        "schema is not known",
    ),
    "Arrow file cut": (FILES, 1, change("response_b64", lambda d: d[:-9]), "Arrow file: "),
    "file missing": (FILES, 2, assign("response_file", "bodies/gone.bin"), "gone.bin: No such file"),
    "file elsewhere": (FILES, 2, assign("response_file", "../../../passwd"), "leads elsewhere"),
    "file of root": (FILES, 2, assign("response_file", "/etc/passwd"), "leads elsewhere"),
}


def copy(tmp_path):
    shutil.copytree(OURS, tmp_path / "r")
    return tmp_path / "r"


@pytest.mark.parametrize("name", BROKEN)
def test_broken_line_is_named(tmp_path, name):
    file, number, apply, said = BROKEN[name]
    path = copy(tmp_path) / file
    lines = path.read_text().splitlines()
    lines[number - 1] = json.dumps(apply(json.loads(lines[number - 1])))
    path.write_text("\n".join(lines) + "\n")
    status, out, numbers = decode(tmp_path / "r")
    failures = [line for line in out if line.startswith(str(tmp_path))]
    assert status == 1 and numbers[2] == len(failures) >= 1, out
    assert numbers[0] == numbers[1] + numbers[2]
    if name != "schema never told":  # that shows where the schema is wanted
        assert len(failures) == 1
        assert failures[0].startswith(f"{path}:{number}: "), failures
    assert re.search(said, failures[0]), failures


NO_LINES = ["{", "[1]", "null", '"x"', "\x00\x01\x02", "{}", '{"status":200', "\ufeff{}"]


@pytest.mark.parametrize("text", NO_LINES)
def test_line_that_is_none(tmp_path, text):
    path = copy(tmp_path) / DIRECT
    path.write_text(path.read_text() + text)
    status, out, numbers = decode(tmp_path / "r")
    assert status == 1 and numbers[1:] == (32, 1), out
    assert any(line.startswith(f"{path}:6: ") for line in out), out


def test_blank_lines_and_carriage_returns_are_fine(tmp_path):
    path = copy(tmp_path) / DIRECT
    path.write_text(path.read_text().replace("\n", "\r\n\n"))
    assert decode(tmp_path / "r")[2] == (32, 32, 0)


def test_more_rows_than_declared_are_a_failure(tmp_path):
    path = copy(tmp_path) / DIRECT
    lines = path.read_text().splitlines()
    lines[1] = json.dumps(declare(4)(json.loads(lines[1])))
    path.write_text("\n\n \n".join(lines))  # blank lines are no exchanges
    status, out, numbers = decode(tmp_path / "r")
    assert status == 1 and numbers[2] == 1
    assert any("4 rows are declared, the batch holds " in line for line in out)


FIRST, SECOND = b"\x0c\0\1\x08\0\1\0\0\0\0\0", b"\x08\0\2\0\0\xa5\x08"
# Thrift allows these, so they are decoded, and are no failure where they are not written again.
OTHER_FORMS = {
    "fields in another order": replace(FIRST + SECOND, SECOND + FIRST),
    "a field that nobody knows": lambda d: d[:-2] + b"\x08\x7f\1\0\0\0\1\0\0",
    "a field twice": replace(SECOND, 2 * SECOND),
    "the old envelope": lambda d: d[4:19] + b"\2" + d[19:],
}


@pytest.mark.parametrize("name", OTHER_FORMS)
def test_another_form_is_decoded(tmp_path, name):
    path = copy(tmp_path) / DIRECT
    lines = path.read_text().splitlines()
    lines[0] = json.dumps(change("response_b64", OTHER_FORMS[name])(json.loads(lines[0])))
    path.write_text("\n".join(lines))
    status, out, numbers = decode(tmp_path / "r")
    assert (status, numbers) == (0, (32, 32, 0)), out
    assert "62 messages written again: 61 the same bytes, 1 of another form" in out


@pytest.mark.told
def test_damage_anywhere_is_survived(tmp_path):
    """Bytes of bodies are spoiled at random; decode() refuses any death by signal."""
    rng = random.Random(SEED)
    folder = copy(tmp_path)
    path = folder / DIRECT
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    told = 0
    print(f"seed {SEED}")
    for _ in range(150):
        line = dict(rng.choice(lines))
        data = bytearray(body(line, "response_b64"))
        for _ in range(rng.randrange(1, 4)):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        put(line, "response_b64", bytes(data))
        path.write_text(json.dumps(line) + "\n")
        told += decode(folder, "--dump", "--values")[0]
    assert told > 30


def test_files_that_are_none(tmp_path):
    folder = copy(tmp_path)
    (folder / "a.jsonl").write_bytes(random.Random(SEED).randbytes(3000).replace(b"\n", b"") + b"\n[[[[\n")
    (folder / "b.jsonl").write_bytes(b"[" * 1_000_000)
    (folder / "c.jsonl").symlink_to("nowhere.jsonl")
    (folder / "d.jsonl").mkdir()
    (folder / "loop").symlink_to(folder)
    os.mkfifo(folder / "e.jsonl")
    (folder / "notes.txt").write_text("no recording")
    status, out, numbers = decode(folder)
    assert status == 1 and numbers == (36, 32, 4), out
    for named in ("a.jsonl:1: not JSON", "a.jsonl:2: not JSON", "b.jsonl:1: not JSON", "c.jsonl: "):
        assert any(f"{folder}/{named}" in line for line in out), (named, out)


def test_folder_without_recordings(tmp_path):
    status, out, numbers = decode(tmp_path)
    assert status == 1 and numbers == (0, 0, 0)
    assert "no recorded exchange" in out[0]
    (tmp_path / "empty.jsonl").touch()
    status, out, numbers = decode(tmp_path)
    assert status == 1 and numbers == (0, 0, 0)


# ---- Arrow: our reader and pyarrow's --------------------------------------------------------


class Struct(ctypes.Structure):
    """Room for a struct of the Arrow C interfaces, or for an error of ours."""

    _fields_ = [("words", ctypes.c_uint64 * 200)]


@pytest.fixture(scope="module")
def bridge():
    return ctypes.CDLL(str(built("**/libmtr_arrow_bridge.so")))


def read_ours(bridge, data):
    stream, err = Struct(), Struct()
    status = bridge.mtr_bridge_read(
        data, ctypes.c_size_t(len(data)), ctypes.byref(stream), ctypes.byref(err)
    )
    assert status == 0, bytes(err)
    return pa.RecordBatchReader._import_from_c(ctypes.addressof(stream)).read_all()


def read_theirs(data):
    return pa.ipc.open_stream(data).read_all()


class Streams:
    """The Arrow streams of one file: what our decoder has to read."""

    def __init__(self, path):
        self.folder = path.parent
        self.metadata = {}
        self.found = []
        self.exchanges = 0
        for line in lines_of(path):
            self.add(line)

    def add(self, line):
        data = reply_bytes(line, self.folder)
        if line["path"].startswith("/sql/") and "request_b64" in line:
            self.exchanges += 1
            if line["status"] == 200:
                self.add_thrift(parse(body(line, "request_b64"))[1], *parse(data))
        elif data[:4] in (LZ4, b"\xff" * 4):
            self.found.append(unpack(data))

    def add_thrift(self, request, call, reply):
        if call == "FetchResults":
            self.add_page(request.operationHandle, reply)
        elif call == "GetResultSetMetadata":
            self.metadata[request.operationHandle.operationId.guid] = reply
        elif getattr(reply, "directResults", None):
            direct = reply.directResults
            if direct.resultSetMetadata:
                self.metadata[reply.operationHandle.operationId.guid] = direct.resultSetMetadata
            if direct.resultSet:
                self.add_page(reply.operationHandle, direct.resultSet)

    def add_page(self, handle, page):
        guid = handle.operationId.guid
        if page.resultSetMetadata:
            self.metadata[guid] = page.resultSetMetadata
        for batch in (page.results.arrowBatches if page.results else None) or []:
            self.found.append(self.metadata[guid].arrowSchema + unpack(batch.batch))


def streams_of(folder):
    for path in sorted(folder.rglob("*.jsonl")):
        yield path, Streams(path)


def compare(bridge, folder):
    """Compares every stream; gives their number and that of their rows."""
    count = rows = 0
    for path, streams in streams_of(folder):
        for data in streams.found:
            ours, theirs = read_ours(bridge, data), read_theirs(data)
            assert ours.schema.equals(theirs.schema, check_metadata=True), path
            assert ours.equals(theirs), path
            ours.validate(full=True)
            count += 1
            rows += theirs.num_rows
    return count, rows


def test_our_batches_are_pyarrow_s(bridge):
    assert compare(bridge, OURS) == (15, 38)


def test_shared_recordings_are_decoded(shared):
    folder = shared / "recordings"
    wanted = sum(s.exchanges for _, s in streams_of(folder))
    status, out, numbers = decode(folder)
    assert (status, numbers) == (0, (wanted, wanted, 0)), out
    assert wanted > 300
    again = re.search(r"(\d+) messages written again: (\d+) the same bytes, 0 of", "\n".join(out))
    assert again and again[1] == again[2] and int(again[1]) > 600, out


@pytest.mark.told
def test_shared_batches_are_pyarrow_s(shared, bridge):
    count, rows = compare(bridge, shared / "recordings")
    print(f"{count} streams, {rows} rows equal")
    assert count > 100
