"""tools/read_ipc as a process, also that of a sanitizer build where there is one: streams of pyarrow,
those of MORTAR_SHARED, and streams that lie about their sizes."""

import gzip
import json
import mmap
import os
import pathlib
import re
import resource
import subprocess

import pytest
from conftest import ROOT, built

pa = pytest.importorskip("pyarrow")

SHARED = os.environ.get("MORTAR_SHARED")
SANITIZED = ROOT / "build" / "asan" / "tools" / "read_ipc"
LINE = re.compile(r"(?P<path>.+?): (?:(?P<rows>\d+) rows|error: (?P<error>.+))")
ROOM = 300 << 20  # of memory for a process that is to refuse: the program itself takes 6 MB


def is_current(program):
    """Made of the sources that are here: an old build would be judged for what was mended."""
    sources = [path for folder in ("src/arrow", "src/base", "tools") for path in (ROOT / folder).rglob("*.[ch]")]
    return program.exists() and program.stat().st_mtime >= max(path.stat().st_mtime for path in sources)


def programs():
    return [built("tools/read_ipc"), *([SANITIZED] if is_current(SANITIZED) else [])]


def run(program, *arguments, limit=None):
    def limited():
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    return subprocess.run(
        [program, *map(str, arguments)], capture_output=True, timeout=60, preexec_fn=limited if limit else None
    )


def read_all(paths, limit=None):
    """{path: rows, or the error's text}, the same by every program."""
    found = []
    for program in programs()[:1] if limit else programs():  # a sanitizer wants all addresses
        done = run(program, "--cells", *paths, limit=limit)
        assert done.stderr == b""
        lines = [LINE.fullmatch(line) for line in done.stdout.decode().splitlines()]
        assert [line["path"] for line in lines] == [str(path) for path in paths]
        found.append({line["path"]: line["error"] or int(line["rows"]) for line in lines})
        assert done.returncode == any(line["error"] is not None for line in lines)
    assert all(other == found[0] for other in found)
    return found[0]


def stream_of(batches, schema, **options):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return sink.getvalue().to_pybytes()


def sample():
    rows = [(1, "a", [1, None]), (None, None, None), (3, "ccc", []), (4, "\u00e4\u20ac", [5])]
    schema = pa.schema([("id", pa.int32()), ("s", pa.large_utf8()), ("l", pa.list_(pa.int64()))])
    return pa.record_batch([pa.array(column, field.type) for column, field in zip(zip(*rows), schema)], schema=schema)


OPTIONS = {
    "plain": {},
    "lz4": {"compression": "lz4"},
    "zstd": {"compression": "zstd"},
    "old": {"use_legacy_format": True, "metadata_version": pa.ipc.MetadataVersion.V4},
}


def test_rows_of_all_batches(tmp_path):
    batch, wanted = sample(), {}
    for name, options in OPTIONS.items():
        data = stream_of([batch, batch.slice(1, 2), batch.slice(4)], batch.schema, **options)
        for ending, cut in (("", len(data)), ("-no-end", -4 if name == "old" else -8)):
            path = tmp_path / (name + ending)
            path.write_bytes(data[:cut])
            wanted[str(path)] = 6
    assert read_all(wanted) == wanted


def test_the_end_may_not_come_inside_a_message(tmp_path):
    data, paths = stream_of([sample()], sample().schema, compression="lz4"), []
    whole = len(pa.ipc.open_stream(data).schema.serialize())
    for n in range(0, len(data) - 8, 3):
        if n != whole:  # a schema alone is a stream without batches
            paths.append(tmp_path / f"{n:04}")
            paths[-1].write_bytes(data[:n])
    assert all(re.search("cut off|begin with", str(said)) for said in read_all(paths).values())


def test_types_are_refused_by_name(tmp_path):
    refused = {
        "dictionary": pa.dictionary(pa.int8(), pa.utf8()), "utf8 view": pa.string_view(),
        "binary view": pa.binary_view(), "list view": pa.list_view(pa.int8()),
        "large list view": pa.large_list_view(pa.int8()),
        "run-end encoded": pa.run_end_encoded(pa.int16(), pa.int8()),
        "dense union": pa.dense_union([pa.field("a", pa.int8())]),
        "sparse union": pa.sparse_union([pa.field("a", pa.int8())]),
    }
    for name, t in refused.items():
        (tmp_path / name).write_bytes(stream_of([], pa.schema([("the column", t)])))
    for name, said in zip(refused, read_all([tmp_path / name for name in refused]).values(), strict=True):
        assert name in said and '"the column"' in said


def test_files_that_can_not_be_read(tmp_path):
    (tmp_path / "empty").touch()
    (tmp_path / "text").write_text("no Arrow at all\n")
    said = read_all([tmp_path / name for name in ("none", "empty", "text", ".")])
    assert list(said.values())[0] == "No such file or directory"
    assert all(isinstance(text, str) for text in said.values())


@pytest.mark.parametrize("arguments", [[], ["--cells"], ["--what", "x"]])
def test_wrong_usage(arguments):
    for program in programs():
        done = run(program, *arguments)
        assert done.returncode == 2 and b"usage: read_ipc" in done.stderr and done.stdout == b""


def test_help():
    done = run(programs()[0], "--help")
    assert done.returncode == 0 and done.stdout.startswith(b"usage: read_ipc")


# ---- Sizes that lie ----------------------------------------------------------------------------


def frame_at(data):
    """Where the stated size of the largest compressed buffer stands."""
    return max(range(len(data) - 12), key=lambda i: (data[i + 8 : i + 12] in MAGICS) * (1 + size_at(data, i)))


MAGICS = (b"\x04\x22\x4d\x18", b"\x28\xb5\x2f\xfd")


def size_at(data, i):
    return int.from_bytes(data[i : i + 8], "little", signed=True)


def refusals(tmp_path, streams):
    """What is said of streams that must be refused within little memory."""
    paths = []
    for name, data in streams.items():
        paths.append(tmp_path / name)
        paths[-1].write_bytes(data)
    read_all(paths)  # by the sanitized program, too
    said = read_all(paths, limit=ROOM)
    for path, text in said.items():
        assert isinstance(text, str) and "out of memory" not in text, (path, text)
    return said


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
def test_a_stated_size_is_not_allocated(tmp_path, codec):
    schema = pa.schema([("c", pa.binary())])
    data = stream_of([pa.record_batch([pa.array([bytes(1 << 20)])], schema=schema)], schema, compression=codec)
    at = frame_at(data)
    assert size_at(data, at) == 1 << 20
    sizes = (0, 1, (1 << 20) - 1, (1 << 20) + 1, 1 << 29, 1 << 30, 1 << 40, (1 << 63) - 1, -2)
    said = refusals(tmp_path, {
        str(size): data[:at] + size.to_bytes(8, "little", signed=True) + data[at + 8 :] for size in sizes
    })
    assert all("compressed buffer" in text or "bytes" in text for text in said.values()), said


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
def test_a_bomb_is_over_the_limit(tmp_path, codec):
    """1.5 GB of zeros, honestly stated. The mapping takes no memory, as nothing is written to it."""
    size = 1500 << 20
    zeros = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ)
    column = pa.Array.from_buffers(pa.int8(), size, [None, pa.py_buffer(zeros)])
    schema = pa.schema([("c", pa.int8())])
    data = stream_of([pa.record_batch([column], schema=schema)], schema, compression=codec)
    assert len(data) < size // 200
    (said,) = refusals(tmp_path, {"bomb": data}).values()
    assert "more than 1073741824 bytes" in said
    at = frame_at(data)  # now it says that it is small
    small = data[:at] + (1 << 20).to_bytes(8, "little") + data[at + 8 :]
    (said,) = refusals(tmp_path, {"liar": small}).values()
    assert "compressed buffer 1" in said


def test_lengths_in_heads_are_not_allocated(tmp_path):
    """Each of the first words of a tiny stream says 2 GB or more."""
    batch = sample()
    data = stream_of([batch], batch.schema)
    streams = {}
    for at in range(0, len(data) - 8, 4):
        for word in (0x7FFFFFF8, 0x7FFFFFFF, 0x80000000, 0xFFFFFFF8):
            streams[f"{at:04}-{word:x}"] = data[:at] + word.to_bytes(4, "little") + data[at + 4 :]
    paths = [tmp_path / name for name in streams]
    for path, broken in zip(paths, streams.values()):
        path.write_bytes(broken)
    read_all(paths)
    for path, said in read_all(paths, limit=ROOM).items():
        assert said in (0, 4) or "out of memory" not in str(said), (path, said)


# ---- Streams made by others --------------------------------------------------------------------


def shared(folder):
    return sorted((pathlib.Path(SHARED) / "arrow-ipc" / folder).glob("*.stream"))


needs_shared = pytest.mark.skipif(not SHARED, reason="MORTAR_SHARED is not set")


@needs_shared
@pytest.mark.parametrize("folder", ["golden", "compressed"])
def test_rows_are_those_of_the_json(folder):
    for path, said in read_all(shared(folder)).items():
        with gzip.open(path.replace(".stream", ".json.gz")) as file:
            wanted = sum(batch["count"] for batch in json.load(file)["batches"])
        assert said == wanted or "not supported" in str(said), (path, said)


@pytest.mark.told
@needs_shared
def test_hostile_streams_within_little_memory():
    paths = shared("hostile")
    said = read_all(paths)
    assert read_all(paths, limit=ROOM) == said
    rows = [text for text in said.values() if isinstance(text, int)]
    print(f"{len(rows)} with rows, {len(said) - len(rows)} refused, by {len(programs())} programs")
