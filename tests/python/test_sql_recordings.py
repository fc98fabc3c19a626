"""What a warehouse sent, replayed by Kiln and read through Mortar: the rows that pyarrow finds in the
recorded batches, the description that the recorded schema makes, the recorded failures; and the same
through the connector. The recordings are our own and those of MORTAR_SHARED."""

import itertools

import pyarrow as pa
import pytest

pytest.importorskip("mortar.sql", reason="the extension module is not built")
pytest.importorskip("databricks.sql")

from databricks.sql.thrift_api.TCLIService import ttypes as t  # noqa: E402
from mortar import sql  # noqa: E402
from recordings_support import OURS, SHARED, THEIRS, thrift_exchanges, unpack  # noqa: E402
from sql_support import Kiln, assert_same, connect, connect_other, rows_of  # noqa: E402

# Intervals as Arrow: only other clients ask for them, and pyarrow has no array class for months.
UNREADABLE_BY_OTHERS = {
    "SELECT * FROM main.jdbc_test_schema.intervals_demo": (
        "100-0", "100-0", "100-0", "3 00:00:00.000000000", "3 04:00:00.000000000",
        "3 04:30:00.000000000", "3 04:30:20.123000000", "1 03:00:00.000000000",
        "1 03:15:00.000000000", "1 03:15:20.456000000", "0 01:30:30.500000000",
        "0 00:00:45.789000000"),
}


class Recorded:
    """One statement of a recording, and what came back."""

    def __init__(self, statement, reply):
        self.statement, self.failure, self.metadata, self.pages = statement, None, None, []
        if reply.status.statusCode == t.TStatusCode.ERROR_STATUS:
            self.failure = reply.status.errorMessage
        elif reply.directResults:
            self.add_direct(reply.directResults)

    def add_direct(self, direct):
        if direct.operationStatus.operationState == t.TOperationState.ERROR_STATE:
            self.failure = direct.operationStatus.displayMessage
        self.metadata = direct.resultSetMetadata
        if direct.resultSet:
            self.add_page(direct.resultSet)

    def add_page(self, page):
        self.metadata = page.resultSetMetadata or self.metadata
        self.pages.append(page.results)

    @property
    def table(self):
        """As pyarrow reads the batches; None: the rows came as columns."""
        batches = [batch.batch for page in self.pages for batch in page.arrowBatches or []]
        if not self.metadata.arrowSchema:
            return None
        return pa.ipc.open_stream(self.metadata.arrowSchema + b"".join(map(unpack, batches))).read_all()

    @property
    def rows(self):
        table = self.table
        columns = [column for page in self.pages for column in page.columns or []]
        values = map(column_values, columns) if table is None else (c.to_pylist() for c in table.columns)
        return [list(row) for row in zip(*values)]

    @property
    def description(self):
        """(name, type, precision, scale) of each column."""
        fields = pa.ipc.read_schema(pa.py_buffer(self.metadata.arrowSchema)) if self.metadata.arrowSchema else []
        columns = self.metadata.schema.columns
        return [describe(*pair) for pair in itertools.zip_longest(columns, fields)]


def describe(column, field):
    """The protocol's type ids know no VARIANT, and call it a string; the Arrow field says it."""
    entry = column.typeDesc.types[0].primitiveEntry
    name = t.TTypeId._VALUES_TO_NAMES[entry.type].removesuffix("_TYPE").lower()
    if field and (field.metadata or {}).get(b"Spark:DataType:SqlName") == b"VARIANT":
        name = "variant"
    sizes = entry.typeQualifiers.qualifiers if entry.typeQualifiers and name == "decimal" else {}
    return (column.columnName, name, *(sizes[k].i32Value if sizes else None for k in ("precision", "scale")))


def column_values(column):
    """Of the one field that is set."""
    found = next(value for value in vars(column).values() if value is not None)
    nulls = "".join(f"{byte:08b}"[::-1] for byte in found.nulls)
    return [None if nulls[i : i + 1] == "1" else value for i, value in enumerate(found.values)]


def statements_of(path):
    """The statements of a recording, in order."""
    found, by_id = [], {}
    for call, request, reply in thrift_exchanges(path):
        if call == "ExecuteStatement":
            found.append(Recorded(request.statement, reply))
            if reply.operationHandle:
                by_id[reply.operationHandle.operationId.guid] = found[-1]
        elif call == "FetchResults":
            by_id[request.operationHandle.operationId.guid].add_page(reply)
        elif call == "GetResultSetMetadata":
            by_id[request.operationHandle.operationId.guid].metadata = reply
    return found


RECORDINGS = [path for path in [*sorted((OURS / "thrift").glob("*.jsonl")), *THEIRS] if statements_of(path)]


@pytest.fixture
def replay(tmp_path):
    """Starts Kiln on recordings."""
    started = []

    def start(path, *options):
        started.append(Kiln(tmp_path, "replay", str(path), *options))
        return started[-1].uri

    yield start
    for server in started:
        server.end()


def check(connection, recorded):
    with connection.cursor() as cursor:
        if recorded.failure:
            with pytest.raises(sql.Error) as raised:
                cursor.execute(recorded.statement)
            assert recorded.failure in str(raised.value)
            return 0
        cursor.execute(recorded.statement)
        assert [(d[0], d[1], d[4], d[5]) for d in cursor.description] == recorded.description
        rows = cursor.fetchall()
    assert rows_of(rows) == rows_of(recorded.rows)
    return len(rows)


def check_arrow(connection, recorded):
    with connection.cursor() as cursor:
        cursor.execute(recorded.statement)
        assert cursor.fetchall_arrow().equals(recorded.table)


def readable(path):
    return [r for r in statements_of(path) if r.statement not in UNREADABLE_BY_OTHERS]


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda p: p.stem)
def test_rows_are_those_that_pyarrow_reads(path, replay):
    with connect(replay(path)) as connection:
        for recorded in readable(path):
            print(recorded.statement)
            check(connection, recorded)


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda p: p.stem)
def test_arrow_is_that_of_pyarrow(path, replay):
    with connect(replay(path)) as connection:
        for recorded in readable(path):
            print(recorded.statement)
            # Statements without rows have no Arrow columns, and one column in the description.
            if not recorded.failure and recorded.table is not None and recorded.table.num_columns:
                check_arrow(connection, recorded)


@pytest.mark.told
@pytest.mark.parametrize("folder", [OURS / "thrift", *{path.parent for path in THEIRS}], ids=["ours", "theirs"][:1 + bool(THEIRS)])
def test_scenarios_of_one_folder(folder, replay):
    """In the order of the files, each in a session of its own."""
    uri, rows = replay(folder), 0
    paths = [path for path in RECORDINGS if path.parent == folder]
    for path in paths:
        with connect(uri) as connection:
            rows += sum(check(connection, recorded) for recorded in readable(path))
    print(f"{len(paths)} scenarios, {rows} rows")
    assert rows


def outcome(cursor, text, error):
    try:
        cursor.execute(text)
        return ("rows", cursor.description, rows_of(cursor.fetchall()))
    except error as e:
        return ("error", type(e).__name__, str(e))


def outcomes(connection, path, error):
    return [outcome(connection.cursor(), recorded.statement, error) for recorded in readable(path)]


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda p: p.stem)
def test_the_connector_agrees(path, replay):
    from databricks import sql as other

    with connect(replay(path)) as connection:
        mine = outcomes(connection, path, sql.Error)
    with connect_other(replay(path), _disable_pandas=True) as connection:
        theirs = outcomes(connection, path, other.Error)
    for one, another in zip(mine, theirs, strict=True):
        assert_same(one, another)


@pytest.mark.skipif(not SHARED, reason="MORTAR_SHARED is not set")
@pytest.mark.parametrize("text", UNREADABLE_BY_OTHERS)
def test_what_others_cannot_read(text, replay):
    path = next(path for path in THEIRS if "interval" in path.stem)
    with connect(replay(path)) as connection, connection.cursor() as cursor:
        cursor.execute(text)
        assert {d[1] for d in cursor.description} == {"interval_year_month", "interval_day_time"}
        assert cursor.fetchall() == [UNREADABLE_BY_OTHERS[text]]


@pytest.mark.skipif(not SHARED, reason="MORTAR_SHARED is not set")
def test_recordings_were_there():
    assert len(THEIRS) > 20
