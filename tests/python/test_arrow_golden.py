"""The IPC reader and writer judged by pyarrow.

MORTAR_BUILD names the CMake build folder (its libmtr_arrow_bridge.so is loaded; a build without
sanitizers, or with their library preloaded). MORTAR_SHARED names the folder of test data made by
others; without it those tests are skipped. Needs pytest and pyarrow.
"""
import base64
import ctypes
import datetime
import decimal
import glob
import gzip
import json
import os
import random
import re

import pytest

pa = pytest.importorskip("pyarrow")

BUILD = os.environ.get("MORTAR_BUILD")
SHARED = os.environ.get("MORTAR_SHARED")
if not BUILD:
    pytest.skip("MORTAR_BUILD is not set", allow_module_level=True)

CAP = 64 << 20  # bytes that the reader may hold, whatever the input says
STATUS = {"OK": 0, "NOMEM": 2, "UNSUPPORTED": 5, "CORRUPT": 15}


class Error(ctypes.Structure):
    _fields_ = [
        ("status", ctypes.c_int),
        ("outcome", ctypes.c_int),
        ("http_status", ctypes.c_int32),
        ("server_code", ctypes.c_int32),
        ("os_error", ctypes.c_int32),
        ("session_lost", ctypes.c_bool),
        ("sqlstate", ctypes.c_char * 6),
        ("query_id", ctypes.c_char * 37),
        ("session_id", ctypes.c_char * 37),
        ("message", ctypes.c_char * 1024),
    ]


class Struct(ctypes.Structure):
    """Room for any struct of the C data interface: five pointers to ten, and it never moves."""

    _fields_ = [("words", ctypes.c_uint64 * 10)]

    @property
    def address(self):
        return ctypes.addressof(self)


def load():
    found = glob.glob(os.path.join(BUILD, "**", "libmtr_arrow_bridge*"), recursive=True)
    assert found, "libmtr_arrow_bridge is not built in " + BUILD
    lib = ctypes.CDLL(found[0])
    lib.mtr_bridge_limit.argtypes = [ctypes.c_size_t]
    lib.mtr_bridge_limit.restype = None
    lib.mtr_bridge_peak.restype = lib.mtr_bridge_held.restype = ctypes.c_size_t
    lib.mtr_bridge_free.argtypes = [ctypes.c_void_p]
    lib.mtr_bridge_free.restype = None
    return lib


LIB = load()


class Refused(Exception):
    """What our reader or writer says; .status is its number."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


def open_ours(data):
    stream, err = Struct(), Error()
    status = LIB.mtr_bridge_read(data, ctypes.c_size_t(len(data)), ctypes.byref(stream), ctypes.byref(err))
    if status:
        assert err.status == status
        raise Refused(status, err.message.decode())
    return pa.RecordBatchReader._import_from_c(stream.address)


def read_ours(data):
    """(schema, batches), or Refused."""
    reader = open_ours(data)
    batches = []
    try:
        while True:
            batches.append(reader.read_next_batch())
    except StopIteration:
        return reader.schema, batches
    except pa.ArrowInvalid as e:
        raise Refused(None, str(e)) from e


def write_ours(schema, batches):
    stream, err = Struct(), Error()
    out, size = ctypes.c_void_p(), ctypes.c_size_t()
    pa.RecordBatchReader.from_batches(schema, batches)._export_to_c(stream.address)
    status = LIB.mtr_bridge_write(ctypes.byref(stream), ctypes.byref(out), ctypes.byref(size), ctypes.byref(err))
    release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(stream.words[3])
    release(stream.address)
    if status:
        raise Refused(status, err.message.decode())
    data = ctypes.string_at(out, size.value)
    LIB.mtr_bridge_free(out)
    return data


def format_batch(batch, rows=1000):
    """Every cell of the first rows as text."""
    schema, array, err = Struct(), Struct(), Error()
    batch._export_to_c(array.address, schema.address)
    buf, size = ctypes.create_string_buffer(200), ctypes.c_size_t()
    out = []
    for row in range(min(rows, batch.num_rows)):
        for column in range(batch.num_columns):
            status = LIB.mtr_bridge_format(
                ctypes.byref(schema), ctypes.byref(array), ctypes.c_int64(column), ctypes.c_int64(row),
                buf, ctypes.c_size_t(200), ctypes.byref(size), ctypes.byref(err))
            assert status == 0, err.message
            assert len(buf.value) <= size.value
            out.append(buf.value)
    for struct, index in ((array, 8), (schema, 7)):
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(struct.words[index])(struct.address)
    return out


def read_pyarrow(data):
    reader = pa.ipc.open_stream(data)
    return reader.schema, list(reader)


def check_equal(ours, theirs):
    assert ours[0].equals(theirs[0], check_metadata=True)
    assert len(ours[1]) == len(theirs[1])
    for mine, other in zip(ours[1], theirs[1]):
        mine.validate(full=True)
        assert mine.equals(other)
        format_batch(mine)


@pytest.fixture(autouse=True)
def capped():
    LIB.mtr_bridge_limit(CAP)
    held = LIB.mtr_bridge_held()
    yield
    assert LIB.mtr_bridge_held() == held, "the reader's memory was not given back"


def shared(*folders):
    if not SHARED:
        return []
    return sorted(f for d in folders for f in glob.glob(os.path.join(SHARED, "arrow-ipc", d, "*.stream")))


# ---- values as JSON -----------------------------------------------------------------------------


def leaf_of_json(t, v):
    """A value of Arrow's integration format, where numbers of 64 bits and more are texts."""
    if pa.types.is_boolean(t):
        return bool(v)
    if pa.types.is_decimal(t):
        with decimal.localcontext() as ctx:
            ctx.prec = 100
            return decimal.Decimal(v).scaleb(-t.scale)
    if pa.types.is_floating(t) or pa.types.is_string(t) or pa.types.is_large_string(t):
        return v
    if pa.types.is_binary(t) or pa.types.is_large_binary(t) or pa.types.is_fixed_size_binary(t):
        return bytes.fromhex(v)
    if t == pa.month_day_nano_interval():
        return pa.MonthDayNano([v["months"], v["days"], v["nanoseconds"]])
    return int(v)


def child_types(t):
    if pa.types.is_struct(t):
        return [t.field(i).type for i in range(t.num_fields)]
    return [pa.struct([t.key_field, t.item_field]) if pa.types.is_map(t) else t.value_type]


def buffer_of_bits(bits):
    return pa.py_buffer(bytes(sum(b << i for i, b in enumerate(bits[at:at + 8])) for at in range(0, len(bits), 8)))


def buffer_of_offsets(t, offsets):
    return pa.array([int(v) for v in offsets], pa.int64() if pa.types.is_large_list(t) else pa.int32()).buffers()[1]


def array_of_json(t, column):
    """The array that a column of the integration format describes."""
    count, valid = column["count"], column.get("VALIDITY", [1] * column["count"])
    if pa.types.is_null(t):
        return pa.nulls(count)
    if not pa.types.is_nested(t):
        return pa.array([leaf_of_json(t, v) if there else None for v, there in zip(column["DATA"], valid)], t)
    children = [array_of_json(*pair) for pair in zip(child_types(t), column["children"])]
    buffers = [None if all(valid) else buffer_of_bits(valid)]  # pyarrow 23 takes none for a map's entries
    if "OFFSET" in column:
        buffers.append(buffer_of_offsets(t, column["OFFSET"]))
    return pa.Array.from_buffers(t, count, buffers, valid.count(0), children=children)


def texts_of_json(unit, column):
    """What mortar_format_cell makes of intervals for which pyarrow has no arrays."""
    for there, v in zip(column["VALIDITY"], column["DATA"]):
        if not there:
            yield b"NULL"
        elif unit == "YEAR_MONTH":
            yield b"%s%d-%d" % (b"-" if v < 0 else b"", abs(v) // 12, abs(v) % 12)
        else:
            total = v["days"] * 86400000 + v["milliseconds"]
            minutes, ms = divmod(abs(total), 60000)
            yield b"%s%d %02d:%02d:%02d.%06d" % (
                b"-" if total < 0 else b"", minutes // 1440, minutes // 60 % 24, minutes % 60, ms // 1000, ms % 1000 * 1000)


def check_values(batch, fields, columns):
    """A batch of ours against one of the JSON."""
    for i, (field, column) in enumerate(zip(fields, columns, strict=True)):
        unit = field["type"].get("unit")
        assert batch.schema.names[i] == field["name"] == column["name"]
        if field["type"]["name"] == "interval" and unit != "MONTH_DAY_NANO":
            assert format_batch(batch)[i::batch.num_columns] == list(texts_of_json(unit, column))
        else:
            assert batch.column(i).equals(array_of_json(batch.schema.field(i).type, column)), column["name"]


def golden(path):
    with gzip.open(path.replace(".stream", ".json.gz")) as file:
        return json.load(file)


def types_in(field):
    """The names of the JSON's types in a field and below it."""
    yield "dictionary" if "dictionary" in field else field["type"]["name"]
    for child in field["children"]:
        yield from types_in(child)


# The JSON's names of what is refused, and how an error names it.
REFUSED = {
    "dictionary": "dictionary-encoded", "union": "union", "runendencoded": "run-end encoded",
    "listview": "list view", "largelistview": "large list view", "binaryview": "binary view", "utf8view": "utf8 view",
}


def refused_first(fields):
    """The first field with a type that is refused, and the words for that type; or None."""
    for field in fields:
        for name in types_in(field):
            if name in REFUSED:
                return field["name"], REFUSED[name]
    return None


@pytest.mark.parametrize("path", shared("golden", "compressed") or [pytest.param(None, marks=pytest.mark.skip(
    reason="MORTAR_SHARED is not set: no golden streams"))], ids=lambda path: path and os.path.basename(path))
def test_golden_stream(path):
    """The values of the JSON, and all that pyarrow reads; or the column and the type are named."""
    wanted, data = golden(path), open(path, "rb").read()
    refused = refused_first(wanted["schema"]["fields"])
    if refused:
        with pytest.raises(Refused) as refusal:
            read_ours(data)
        assert refusal.value.status == STATUS["UNSUPPORTED"]
        assert f'"{refused[0]}"' in str(refusal.value) and refused[1] in str(refusal.value)
        return
    ours = read_ours(data)
    check_equal(ours, read_pyarrow(data))
    for batch, of_json in zip(ours[1], wanted["batches"], strict=True):
        assert batch.num_rows == of_json["count"]
        check_values(batch, wanted["schema"]["fields"], of_json["columns"])


def judge_hostile(data):
    """True for rows, False for a clear error; anything else raises. The error's text is UTF-8."""
    LIB.mtr_bridge_limit(CAP)
    before = LIB.mtr_bridge_held()
    try:
        _, batches = read_ours(data)
    except Refused as e:
        assert str(e), "a refusal without a text"
        assert "out of memory" not in str(e), str(e)
        return False
    except pa.ArrowException as e:
        # pyarrow refuses the schema for a rule of its own (reserved extension names and such)
        assert re.search(r"(?i)extension|metadata|timezone|utf-?8|decimal", str(e)), str(e)
        return False
    finally:
        assert LIB.mtr_bridge_peak() - before < (1 << 20) + 300 * len(data)
    for batch in batches:
        try:
            batch.validate(full=True)
        except pa.ArrowInvalid as e:
            # Text and values are not checked; everything that could lead outside is.
            assert re.search(r"UTF8|fit in precision|does not represent|not within|date64|time|range", str(e)), str(e)
        format_batch(batch, 100)
    return True


@pytest.mark.told
@pytest.mark.skipif(not SHARED, reason="MORTAR_SHARED is not set: no hostile streams")
def test_hostile_streams_give_rows_or_an_error():
    rows = errors = 0
    for path in shared("hostile"):
        if judge_hostile(open(path, "rb").read()):
            rows += 1
        else:
            errors += 1
    print("\nhostile: %d rows, %d errors" % (rows, errors))
    assert rows + errors


def recorded_replies():
    for path in sorted(glob.glob(os.path.join(SHARED, "recordings", "*", "*.jsonl"))):
        for line in open(path, encoding="utf-8"):
            body = json.loads(line).get("response_b64")
            if body:
                yield base64.b64decode(body)


LZ4_MAGIC = b"\x04\x22\x4d\x18"


def message_at(reply, at, compression=None):
    """The IPC message at a place of a reply, in its own size; None if there is none."""
    try:
        source = pa.py_buffer(reply[at:])
        if compression:
            source = pa.input_stream(source, compression=compression)
        return pa.ipc.read_message(source)
    except (pa.ArrowException, OSError, EOFError):
        return None


def recorded_streams():
    """Whole IPC streams: LZ4 files, and the schemas of replies with the batches that belong to them."""
    for reply in recorded_replies():
        if reply.startswith(LZ4_MAGIC):
            yield pa.input_stream(pa.py_buffer(reply), compression="lz4").read()
            continue
        messages = [message_at(reply, m.start()) for m in re.finditer(rb"\xff\xff\xff\xff", reply)]
        messages += [message_at(reply, m.start(), "lz4") for m in re.finditer(re.escape(LZ4_MAGIC), reply)]
        schemas = [m for m in messages if m and m.type == "schema"]
        batches = [m for m in messages if m and m.type == "record batch"]
        if schemas:
            yield b"".join(m.serialize().to_pybytes() for m in schemas[:1] + batches)


@pytest.mark.told
@pytest.mark.skipif(not SHARED, reason="MORTAR_SHARED is not set: no recordings")
def test_recorded_results_are_equal():
    streams = set(recorded_streams())
    rows = 0
    for stream in streams:
        ours = read_ours(stream)
        check_equal(ours, read_pyarrow(stream))
        rows += sum(batch.num_rows for batch in ours[1])
    print("\nrecorded: %d different streams, %d rows" % (len(streams), rows))
    assert rows


# ---- streams of our own -------------------------------------------------------------------------

LEAVES = [
    pa.null(), pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(),
    pa.uint32(), pa.uint64(), pa.float16(), pa.float32(), pa.float64(), pa.decimal32(9, 2),
    pa.decimal64(18, 0), pa.decimal128(38, 10), pa.decimal128(5, -2), pa.decimal256(76, 38),
    pa.date32(), pa.date64(), pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns"),
    pa.timestamp("s"), pa.timestamp("ms", "UTC"), pa.timestamp("us", "Europe/Berlin"),
    pa.timestamp("us"), pa.timestamp("ns", "+02:00"), pa.duration("s"), pa.duration("ms"),
    pa.duration("us"), pa.duration("ns"), pa.month_day_nano_interval(), pa.binary(5), pa.binary(0),
    pa.utf8(), pa.binary(), pa.large_utf8(), pa.large_binary(),
]
NESTED = [
    pa.list_(pa.int32()), pa.large_list(pa.utf8()), pa.list_(pa.float32(), 3), pa.list_(pa.int8(), 0),
    pa.struct([]), pa.struct([("a", pa.int64()), ("b", pa.list_(pa.utf8()))]),
    pa.map_(pa.utf8(), pa.int32()), pa.map_(pa.int64(), pa.struct([("x", pa.decimal128(10, 2))]), True),
    pa.list_(pa.list_(pa.list_(pa.null()))),
    pa.list_(pa.struct([("m", pa.map_(pa.date32(), pa.bool_())), ("n", pa.null())])),
    pa.list_(pa.struct([("t", pa.timestamp("us", "UTC")), ("f", pa.list_(pa.binary(2), 2))]), 2),
]


def decimal_value(rnd, t):
    digits = rnd.randrange(10 ** rnd.randint(1, t.precision))
    with decimal.localcontext() as ctx:
        ctx.prec = 100
        return decimal.Decimal(digits * rnd.choice((1, -1))).scaleb(-t.scale)


def bits(rnd, t):
    width = t.bit_width
    unsigned = pa.types.is_unsigned_integer(t)
    return rnd.randrange(2**width) if unsigned else rnd.randrange(-(2 ** (width - 1)), 2 ** (width - 1))


def leaf_value(rnd, t):
    if pa.types.is_boolean(t):
        return rnd.random() < 0.5
    if pa.types.is_integer(t):
        return bits(rnd, t)
    if pa.types.is_floating(t):
        return float(rnd.randint(-2000, 2000))
    if pa.types.is_decimal(t):
        return decimal_value(rnd, t)
    if pa.types.is_date(t):
        return datetime.date(1970, 1, 1) + datetime.timedelta(rnd.randint(-700000, 2900000))
    if pa.types.is_time(t):
        return datetime.time(rnd.randrange(24), rnd.randrange(60), rnd.randrange(60))
    if pa.types.is_timestamp(t) or pa.types.is_duration(t):
        return rnd.randint(-(2**40), 2**40)
    if t == pa.month_day_nano_interval():
        return pa.MonthDayNano([rnd.randint(-99, 99), rnd.randint(-99, 99), rnd.randint(-(2**60), 2**60)])
    if pa.types.is_fixed_size_binary(t):
        return rnd.randbytes(t.byte_width)
    if pa.types.is_binary(t) or pa.types.is_large_binary(t):
        return rnd.randbytes(rnd.randint(0, 9))
    return "".join(rnd.choice("aé€😀\"\\\n ") for _ in range(rnd.randint(0, 9)))


def value(rnd, t, nulls=0.2):
    if pa.types.is_null(t) or rnd.random() < nulls:
        return None
    if pa.types.is_struct(t):
        return {f.name: value(rnd, f.type, nulls) for f in t}
    if pa.types.is_map(t):
        return [(value(rnd, t.key_type, 0), value(rnd, t.item_type, nulls)) for _ in range(rnd.randint(0, 3))]
    if pa.types.is_fixed_size_list(t):
        return [value(rnd, t.value_type, nulls) for _ in range(t.list_size)]
    if pa.types.is_list(t) or pa.types.is_large_list(t):
        return [value(rnd, t.value_type, nulls) for _ in range(rnd.randint(0, 4))]
    return leaf_value(rnd, t)


def random_batches(seed, types):
    rnd = random.Random(seed)
    fields = [pa.field("c%d" % i, t, metadata={"k": "v\u00e9%d" % i} if i % 3 == 0 else None)
              for i, t in enumerate(types)]
    schema = pa.schema(fields, metadata={"who": "random", "empty": ""})
    batches = []
    for rows, nulls in ((0, 0), (1, 0.5), (7, 0), (8, 0.3), (65, 0.2), (300, 1.0)):
        arrays = [pa.array([value(rnd, t, nulls) for _ in range(rows)], t) for t in types]
        batch = pa.record_batch(arrays, schema=schema)
        batches.append(batch)
        batches.append(batch.slice(rows // 3, rows // 2))
    return schema, batches


def write_pyarrow(schema, batches, **options):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return sink.getvalue().to_pybytes()


OPTIONS = [
    {}, {"compression": "lz4"}, {"compression": "zstd"},
    {"metadata_version": pa.ipc.MetadataVersion.V4},
    {"metadata_version": pa.ipc.MetadataVersion.V4, "use_legacy_format": True},
]


@pytest.mark.parametrize("types", [[t] for t in LEAVES + NESTED] + [LEAVES + NESTED],
                         ids=lambda ts: str(ts[0]) if len(ts) == 1 else "all")
def test_random_streams_both_ways(types):
    schema, batches = random_batches(str(types), types)
    for options in OPTIONS:
        check_equal(read_ours(write_pyarrow(schema, batches, **options)), (schema, batches))
    written = write_ours(schema, batches)
    theirs = read_pyarrow(written)
    for batch in theirs[1]:
        batch.validate(full=True)
    check_equal(theirs, (schema, batches))
    check_equal(read_ours(written), (schema, batches))


def test_batches_outlive_their_stream_and_each_other():
    schema, batches = random_batches("life", [pa.utf8(), pa.list_(pa.int32())])
    data = write_pyarrow(schema, batches)
    columns = [b.column(1) for b in read_ours(data)[1]]
    assert all(c.equals(b.column(1)) for c, b in zip(columns, batches))


@pytest.mark.parametrize(
    "options", [{}, {"compression": "lz4"}, {"compression": "zstd"}], ids=["plain", "lz4", "zstd"])
def test_streams_with_broken_bytes_give_valid_rows_or_an_error(options):
    """What is accepted must be valid to pyarrow's full check, wherever a byte was changed."""
    rnd = random.Random(5)
    accepted = 0
    for t in LEAVES[1:4] + LEAVES[-4:] + NESTED:
        schema, batches = random_batches(str(t), [t])
        data = write_pyarrow(schema, batches[6:8], **options)
        for _ in range(150):
            broken = bytearray(data)
            for _ in range(rnd.randint(1, 3)):
                broken[rnd.randrange(len(broken))] = rnd.choice((0, 1, 0x7F, 0x80, 0xFF, rnd.randrange(256)))
            accepted += judge_hostile(bytes(broken))
    assert accepted


def test_refusals_name_column_and_type():
    for t, word in ((pa.dictionary(pa.int8(), pa.utf8()), "dictionary"), (pa.string_view(), "utf8 view"),
                    (pa.binary_view(), "binary view"), (pa.list_view(pa.int8()), "list view"),
                    (pa.large_list_view(pa.int8()), "large list view"),
                    (pa.run_end_encoded(pa.int16(), pa.int8()), "run-end encoded"),
                    (pa.dense_union([pa.field("a", pa.int8())]), "dense union"),
                    (pa.sparse_union([pa.field("a", pa.int8())]), "sparse union")):
        for outer in (t, pa.list_(t), pa.struct([("inner", t)])):
            schema = pa.schema([("fine", pa.int8()), ("the column", outer)])
            with pytest.raises(Refused) as refusal:
                read_ours(write_pyarrow(schema, []))
            assert refusal.value.status == STATUS["UNSUPPORTED"]
            assert word in str(refusal.value) and '"the column"' in str(refusal.value)
            with pytest.raises(Refused) as refusal:
                write_ours(schema, [])
            assert word in str(refusal.value) and '"the column"' in str(refusal.value)


def test_a_compressed_length_is_not_believed():
    schema = pa.schema([("c", pa.binary())])
    batch = pa.record_batch([pa.array([b"x" * 100000])], schema=schema)
    data = write_pyarrow(schema, [batch], compression="lz4")
    at = data.index((100000).to_bytes(8, "little") + b"\x04\x22\x4d\x18")
    for size in (1 << 40, (1 << 63) - 1, 1 << 30, 99999, 100001, 0):
        broken = data[:at] + size.to_bytes(8, "little") + data[at + 8:]
        assert judge_hostile(broken) is False
    check_equal(read_ours(data), (schema, [batch]))


def test_cells_as_text():
    rows = [
        (pa.int64(), -5, b"-5"), (pa.bool_(), True, b"true"), (pa.float64(), 1e20, b"1.0E20"),
        (pa.decimal256(76, 3), decimal.Decimal("-0.007"), b"-0.007"),
        (pa.utf8(), "aé", "aé".encode()), (pa.binary(), b"\xca\xfe", b"X'CAFE'"),
        (pa.date32(), datetime.date(2013, 1, 1), b"2013-01-01"),
        (pa.timestamp("us", "Etc/UTC"), datetime.datetime(2013, 1, 1, 5, 0, 0, 500), b"2013-01-01 05:00:00.0005"),
        (pa.map_(pa.utf8(), pa.list_(pa.int8())), [("k", [1, None])], b'{"k":[1,null]}'),
        (pa.null(), None, b"NULL"),
    ]
    schema = pa.schema([("c%d" % i, t) for i, (t, _, _) in enumerate(rows)])
    batch = pa.record_batch([pa.array([None, v, None], t) for t, v, _ in rows], schema=schema)
    assert format_batch(batch.slice(1, 1)) == [text for _, _, text in rows]
    assert format_batch(batch.slice(2, 1)) == [b"NULL"] * len(rows)
