"""40,000 rows come whole, in order and once, or end in an error: as Thrift columns, as Thrift rows and
as Arrow, in pages and batches of all sizes that a server may make of them, and however a cursor
fetches them. The replies are made with other people's Thrift, Arrow and LZ4."""

import functools
import itertools
import os
import random

import pytest

pytest.importorskip("mortar.sql", reason="the extension module is not built")
pytest.importorskip("databricks.sql")
pa = pytest.importorskip("pyarrow")
frame = pytest.importorskip("lz4.frame")

from databricks.sql.thrift_api.TCLIService import ttypes as t  # noqa: E402
from mortar import sql  # noqa: E402

from sql_support import connect  # noqa: E402
from thrift_support import ThriftServer, decode, encode, renumber, success  # noqa: E402

ROWS = 40_000
OK = t.TStatus(statusCode=0)
HIVE_V1, SPARK_V8 = 0, 0xA508
SCHEMA = pa.schema([("id", pa.int64()), ("s", pa.string())])
END = b"\xff\xff\xff\xff\0\0\0\0"


def text(row):
    return None if row % 3 == 0 else f"s{row}"


WANTED = [(row, text(row)) for row in range(ROWS)]


def cuts(chance):
    """ROWS as uneven sizes, 0 and 1 among them."""
    sizes = [1, 0, 4096]
    while sum(sizes) < ROWS:
        sizes.append(min(chance.choice([0, 1, 7, 8, 9, 65, 1000, 4096, chance.randrange(9000)]),
                         ROWS - sum(sizes)))
    return [*sizes, 0]


# ---- Layouts: from a range of rows to a TRowSet -------------------------------------------------


def columns(rows, _):
    """Of the nulls as many bytes as it takes to tell the last one."""
    nulls = sum(1 << k for k, row in enumerate(rows) if text(row) is None)
    return {"columns": [
        t.TColumn(i64Val=t.TI64Column(values=list(rows), nulls=b"")),
        t.TColumn(stringVal=t.TStringColumn(
            values=[text(row) or "" for row in rows],
            nulls=nulls.to_bytes((nulls.bit_length() + 7) // 8, "little"))),
    ]}


def in_rows(rows, _):
    """A null lacks its value."""
    return {"rows": [t.TRow(colVals=[
        t.TColumnValue(i64Val=t.TI64Value(value=row)),
        t.TColumnValue(stringVal=t.TStringValue(value=text(row))),
    ]) for row in rows]}


def message(rows):
    batch = pa.record_batch([pa.array(rows, pa.int64()), pa.array(map(text, rows))], schema=SCHEMA)
    return batch.serialize().to_pybytes()


def batch_of(rows, shape):
    """Bytes for these rows, with more in them than it says."""
    if shape == "padded":
        return message([*rows, -1, -2, -3])
    if shape == "end before":
        return END + message(rows)
    if shape == "end behind":
        return message(rows) + END
    if shape == "in two" and len(rows) > 1:
        return message(rows[:1]) + END + message(rows[1:])
    if shape == "with schema":
        return SCHEMA.serialize().to_pybytes() + message(rows)
    return message(rows) if shape == "empty" or len(rows) else b""


SHAPES = ["plain", "padded", "end before", "end behind", "in two", "with schema", "empty"]


def arrow(rows, chance, pack=bytes):
    batches = []
    while len(rows) or chance.random() < 0.3:
        size = min(chance.choice([0, 1, 9, 700, 4096]), len(rows))
        shape = chance.choice(SHAPES)
        batches.append(t.TSparkArrowBatch(batch=pack(batch_of(rows[:size], shape)), rowCount=size))
        batches[-1].shape = shape
        rows = rows[size:]
    return {"arrowBatches": batches}


arrow_lz4 = functools.partial(arrow, pack=functools.partial(frame.compress, store_size=False))
LAYOUTS = {"columns": columns, "rows": in_rows, "Arrow": arrow, "Arrow, LZ4": arrow_lz4}


# ---- The server ---------------------------------------------------------------------------------


def table_schema(names):
    kinds = [t.TTypeId.BIGINT_TYPE, t.TTypeId.STRING_TYPE]
    entries = [t.TTypeEntry(primitiveEntry=t.TPrimitiveTypeEntry(type=kind)) for kind in kinds]
    return t.TTableSchema(columns=[
        t.TColumnDesc(columnName=name, typeDesc=t.TTypeDesc(types=[entry]), position=at)
        for at, (name, entry) in enumerate(zip(names, entries))])


class Result:
    """A statement's replies, each encoded once. The statement is `LAYOUT[, what]`."""

    handle = t.TOperationHandle(
        operationId=t.THandleIdentifier(guid=bytes(16), secret=bytes(16)), operationType=0,
        hasResultSet=True)

    def __init__(self, layout, hive, spoil=None, names=SCHEMA.names, sizes=None):
        chance = random.Random(os.environ["MORTAR_SEED"])
        first, self.hive, self.layout, self.names = 0, hive, layout, names
        self.pages = []
        for size in sizes or cuts(chance):
            if hive and not size:
                continue  # it would be the end
            page = LAYOUTS[layout](range(first, first + size), chance)
            self.pages.append(t.TRowSet(startRowOffset=first, **{"rows": [], **page}))
            first += size
        if spoil:
            spoil([batch for page in self.pages for batch in page.arrowBatches
                   if batch.rowCount and batch.shape != "padded"])
        self.next = 0
        self.encoded = {}

    def metadata(self):
        schema = pa.schema(zip(self.names, SCHEMA.types)).serialize().to_pybytes()
        lz4 = self.layout == "Arrow, LZ4"
        return t.TGetResultSetMetadataResp(
            status=OK, schema=table_schema(self.names), lz4Compressed=lz4,
            arrowSchema=schema if lz4 else None)

    def fetch(self, page):
        more = page + 1 < len(self.pages) and not self.hive
        rows = self.pages[page] if page < len(self.pages) else t.TRowSet(startRowOffset=ROWS, rows=[])
        return t.TFetchResultsResp(status=OK, hasMoreRows=more, results=rows)

    def execute(self):
        state = t.TGetOperationStatusResp(status=OK, operationState=2)
        direct = t.TSparkDirectResults(operationStatus=state, resultSetMetadata=self.metadata(),
                                       resultSet=self.fetch(0))
        return t.TExecuteStatementResp(status=OK, operationHandle=self.handle,
                                       directResults=None if self.hive else direct)

    def once(self, name, make, *key):
        if (name, key) not in self.encoded:
            self.encoded[name, key] = encode(name, 0, make(*key))
        return self.encoded[name, key]

    def answer(self, name):
        if name == "ExecuteStatement":
            self.next = 0 if self.hive else 1
            return self.once(name, self.execute)
        if name == "FetchResults":
            self.next += 1
            return self.once(name, self.fetch, self.next - 1)
        if name == "GetResultSetMetadata":
            return self.once(name, self.metadata)
        if name == "GetOperationStatus":
            state = t.TGetOperationStatusResp(status=OK, operationState=2)
            return self.once(name, lambda: state)
        return None


class Server(ThriftServer):
    """Speaks one protocol version; statements take turns."""

    def __init__(self, version):
        self.version, self.results, self.running = version, {}, None
        super().__init__()

    def answer(self, body):
        name, sequence, request = decode(body)
        if name == "OpenSession":
            return encode(name, sequence, t.TOpenSessionResp(
                status=OK, serverProtocolVersion=self.version,
                sessionHandle=t.TSessionHandle(sessionId=Result.handle.operationId)))
        if name == "ExecuteStatement":
            self.running = self.results[request.statement]
        reply = self.running.answer(name) if self.running else None
        return renumber(reply, sequence) if reply else success(name, sequence)


# A server of Hive's has no Arrow.
PLACES = {f"{name} {layout}": (name, layout) for name in ("Hive", "Databricks") for layout in LAYOUTS
          if name != "Hive" or not layout.startswith("Arrow")}


@pytest.fixture(scope="module")
def servers():
    made = {"Hive": Server(HIVE_V1), "Databricks": Server(SPARK_V8)}
    for name, layout in PLACES.values():
        made[name].results[layout] = Result(layout, name == "Hive")
    yield made
    for server in made.values():
        server.close()


@pytest.fixture(params=PLACES)
def place(request):
    return PLACES[request.param]


@pytest.fixture
def layout(place):
    return place[1]


@pytest.fixture
def cursor(servers, place):
    with connect(servers[place[0]].uri) as connection, connection.cursor() as made:
        yield made


# ---- Fetching -----------------------------------------------------------------------------------


def tuples(table):
    return list(zip(*(column.to_pylist() for column in table.columns)))


def drain(cursor, size):
    while rows := cursor.fetchmany(size):
        assert len(rows) <= size
        yield from rows


@pytest.mark.parametrize("size", [1, 7, 1000, 10_000, 1_000_000])
def test_fetchmany(cursor, layout, size):
    assert list(drain(cursor.execute(layout), size)) == WANTED
    assert cursor.rownumber == ROWS and cursor.fetchmany(size) == []


@pytest.mark.parametrize("size", [1000, 1_000_000])
def test_fetchmany_arrow(cursor, layout, size):
    cursor.execute(layout)
    tables = list(itertools.takewhile(lambda table: table.num_rows,
                                      iter(lambda: cursor.fetchmany_arrow(size), None)))
    assert all(table.num_rows == size for table in tables[:-1])
    whole = pa.concat_tables(tables)
    whole.validate(full=True)
    assert tuples(whole) == WANTED


def test_all_at_once(cursor, layout):
    assert cursor.execute(layout).fetchall() == WANTED
    assert tuples(cursor.execute(layout).fetchall_arrow()) == WANTED
    assert [tuple(row) for row in cursor.execute(layout)] == WANTED


@pytest.mark.parametrize("round", range(3))
def test_all_ways_take_turns(cursor, layout, round):
    chance = random.Random(f"{os.environ['MORTAR_SEED']} {round}")
    sizes = [0, 1, 7, 8, 100, 1000, 5000]
    cursor.execute(layout)
    got = []
    while len(got) < ROWS - 6000:
        ways = [lambda: [cursor.fetchone()], lambda: cursor.fetchmany(chance.choice(sizes)),
                lambda: tuples(cursor.fetchmany_arrow(chance.choice(sizes))),
                lambda: list(itertools.islice(cursor, chance.choice(sizes)))]
        got += chance.choice(ways)()
        assert cursor.rownumber == len(got)
    got += cursor.fetchall() if round % 2 else tuples(cursor.fetchall_arrow())
    assert got == WANTED
    assert cursor.fetchone() is None and cursor.fetchall() == []


# ---- Names --------------------------------------------------------------------------------------


@pytest.mark.parametrize("names", [
    ("", ""), ("a", "a"), ("count", "index"), ("a.b", "\u65e5\u672c \U0001f600"), ("x" * 5000, "`id` "),
    ("__class__", "_fields"), ("1", "A\nB")], ids=lambda names: ascii(names)[:20])
@pytest.mark.parametrize("layout", ["columns", "rows", "Arrow, LZ4"])
def test_names_are_what_the_server_says(names, layout, servers):
    server = servers["Databricks"]
    server.results["names"] = Result(layout, False, names=names, sizes=[2, 3])
    with connect(server.uri) as connection, connection.cursor() as cursor:
        rows = cursor.execute("names").fetchmany(2)
        assert tuple(entry[0] for entry in cursor.description) == names
        table = cursor.fetchall_arrow()
    assert tuple(table.column_names) == names and [*rows, *tuples(table)] == WANTED[:5]
    assert list(rows[1].asDict()) == list(dict.fromkeys(names))


# ---- Counts that are wrong ----------------------------------------------------------------------


def one_more(where):
    def spoil(batches):
        batches[where(len(batches))].rowCount += 1
    return spoil


@pytest.mark.parametrize("where", [lambda n: 0, lambda n: n // 2, lambda n: -1],
                         ids=["first", "middle", "last"])
def test_a_batch_that_lacks_rows_is_an_error(where):
    """What came before is right, and the error stays."""
    server = Server(SPARK_V8)
    server.results["short"] = Result("Arrow", False, one_more(where))
    with connect(server.uri) as connection, connection.cursor() as cursor:
        got = []
        with pytest.raises(sql.Error, match="lacks 1 of the rows declared for it|begins at row"):
            cursor.execute("short")
            while row := cursor.fetchone():
                got.append(row)
        assert got == WANTED[:len(got)]
        if got:
            for fetch in (cursor.fetchone, cursor.fetchall, cursor.fetchall_arrow):
                with pytest.raises(sql.Error, match="lacks|begins"):
                    fetch()
    server.close()


def without_count(batches):
    batches[-1].rowCount = None


def test_a_batch_without_a_count_is_an_error():
    """It is not one of no rows, which would be left out."""
    server = Server(SPARK_V8)
    server.results["uncounted"] = Result("Arrow", False, without_count)
    with connect(server.uri) as connection, connection.cursor() as cursor:
        cursor.execute("uncounted")
        with pytest.raises(sql.InvalidServerResponseError, match="has no bytes or no row count"):
            cursor.fetchall()
    server.close()


def with_short_marker(batches):
    """The end marker of old streams has four bytes: what follows it does not lie where it should."""
    batches[-1].batch = bytes(4) + message(range(batches[-1].rowCount))


def test_rows_that_lie_askew_are_the_servers_fault():
    server = Server(SPARK_V8)
    server.results["askew"] = Result("Arrow", False, with_short_marker)
    with connect(server.uri) as connection, connection.cursor() as cursor:
        cursor.execute("askew")
        with pytest.raises(sql.InvalidServerResponseError, match="not aligned"):
            cursor.fetchall()
    server.close()
