"""Clients of Hive's family against Kiln: PyHive and impyla, unmodified, over HTTP.

They read no Arrow, so they get Thrift columns (rows, with a protocol from before them). Their rows
must be those that databricks-sql-connector gets from the same server, but for these differences,
which are the clients' own or lie in what a Thrift column can say:

    type                 connector           PyHive              impyla
    DATE                 date                text                date
    TIMESTAMP            datetime with zone  datetime, UTC       datetime, UTC
    FLOAT                the nearest double  as written: 1.1     as written: 1.1
    MAP, STRUCT          list, dict          JSON text           JSON text
    ARRAY                numpy array         JSON text           JSON text as bytes

Needs PyHive 0.7 with thrift_sasl and pure-sasl, impyla 0.24, databricks-sql-connector 4.9, pyarrow
and lz4. MORTAR_BUILD names the build folder that holds kiln-canned; the tests that run against
`python -m mortar.kiln` are skipped where its extension module is not there.
"""

import contextlib
import datetime
import decimal
import json
import os
import urllib.parse
import urllib.request
from importlib.util import find_spec

import conftest
import pytest

hive = pytest.importorskip("pyhive.hive")
impala = pytest.importorskip("impala.dbapi")
sql = pytest.importorskip("databricks.sql")
pytest.importorskip("pyarrow")
pytest.importorskip("lz4")

HIVE_V5 = 4


# ---- Servers ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def canned():
    """The address of a kiln-canned."""
    if "MORTAR_BUILD" not in os.environ:
        pytest.skip("MORTAR_BUILD is not set")
    with conftest.canned() as address:
        yield address


@pytest.fixture(scope="module")
def kiln(request):
    """The address of `python -m mortar.kiln`."""
    if find_spec("mortar") is None or find_spec("mortar.kiln._kiln") is None:
        pytest.skip("mortar.kiln is not installed")
    return request.getfixturevalue("kiln_uri")


@pytest.fixture(params=["canned", "kiln"])
def server(request):
    return request.getfixturevalue(request.param)


def stats(address):
    root = address.partition("/sql/")[0]
    with urllib.request.urlopen(root + "/kiln/stats") as reply:
        return json.load(reply)


# ---- Clients ----------------------------------------------------------------------------------


def connector(address):
    return sql.connect(
        server_hostname="127.0.0.1",
        http_path=urllib.parse.urlsplit(address).path,
        _connection_uri=address,
        access_token="any",
        enable_telemetry=False,
    )


def pyhive(address):
    return hive.connect(scheme="http", host="127.0.0.1", port=urllib.parse.urlsplit(address).port)


def impyla(address):
    return impala.connect(
        host="127.0.0.1",
        port=urllib.parse.urlsplit(address).port,
        use_http_transport=True,
        http_path=urllib.parse.urlsplit(address).path.lstrip("/"),
        auth_mechanism="PLAIN",
        user="anybody",
        password="any",
    )


@contextlib.contextmanager
def cursor_of(connect, address):
    connection = connect(address)
    cursor = connection.cursor()
    try:
        yield cursor
    finally:
        cursor.close()
        connection.close()


def plain(value):
    """The connector gives numpy arrays for lists, at any depth."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return tuple(plain(item) for item in value)
    if hasattr(value, "tolist"):
        value = value.tolist()
    return [plain(item) for item in value] if isinstance(value, list) else value


def run(connect, address, text):
    """Column names, bare type names and rows."""
    with cursor_of(connect, address) as cursor:
        cursor.execute(text)
        rows = [tuple(plain(value) for value in row) for row in cursor.fetchall()]
        names = [column[0] for column in cursor.description]
        types = [column[1].lower().replace("_type", "") for column in cursor.description]
        return names, types, rows


# ---- What the others make of the connector's values --------------------------------------------


def whole(value):
    """The connector turns integers in nested values into floats where nulls are among them."""
    if isinstance(value, dict):
        return {key: whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def as_json(value, kind):
    value = whole(dict(value) if kind == "map" else value)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def as_hive(value, kind):
    if value is None:
        return None
    if kind in ("array", "map", "struct"):
        return as_json(value, kind)
    if kind == "date":
        return value.isoformat()
    if kind == "timestamp" and value.tzinfo:
        return value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    if kind == "float":
        return float(f"{value:.7g}")
    return value


def as_impala(value, kind):
    if value is None or kind == "date":
        return value
    if kind == "array":
        return as_json(value, kind).encode()
    return as_hive(value, kind)


CLIENTS = {"pyhive": (pyhive, as_hive), "impyla": (impyla, as_impala)}


@pytest.fixture(params=list(CLIENTS))
def client(request):
    return CLIENTS[request.param]


def same_rows(client, address, text):
    """The client's rows, which are the connector's."""
    connect, convert = client
    names, types, wanted = run(connector, address, text)
    got = run(connect, address, text)
    assert got[0] == names
    assert got[1] == types
    assert len(got[2]) == len(wanted)
    for row, other in zip(got[2], wanted):
        assert row == tuple(convert(value, kind) for value, kind in zip(other, types))
        assert [type(value) for value in row] == [
            type(convert(value, kind)) for value, kind in zip(other, types)
        ]
    return got[2]


# ---- Tests ------------------------------------------------------------------------------------


def test_one_row(client, server):
    assert same_rows(client, server, "SELECT 1") == [(1,)]


def test_a_thousand_rows(client, canned):
    rows = same_rows(client, canned, "SELECT * FROM rows_1000")
    assert rows == [(i, f"name {i}", i / 8) for i in range(1000)]


def test_mixed_types_with_nulls(client, canned):
    rows = same_rows(client, canned, "SELECT * FROM mixed")
    assert len(rows) == 1000
    assert sum(value is None for row in rows for value in row) == sum(
        (i + c) % 11 == 10 for i in range(1000) for c in range(12)
    )
    assert rows[3][4:6] == (decimal.Decimal("-46.25"), "smile 😀 3")


@pytest.mark.parametrize("count", [0, 1, 8, 9, 65, 1000, 12345])
def test_pages_of_any_length(client, kiln, count):
    text = f"SELECT id, if(id % 5 = 3, NULL, id * 2) AS twice FROM range({count}) ORDER BY id"
    rows = same_rows(client, kiln, text)
    assert rows == [(i, None if i % 5 == 3 else i * 2) for i in range(count)]


TYPES = {
    "boolean": "true",
    "tinyint": "CAST(-128 AS TINYINT)",
    "smallint": "CAST(32767 AS SMALLINT)",
    "int": "-2147483648",
    "bigint": "9223372036854775807",
    "float": "CAST(1.1 AS FLOAT)",
    "double": "CAST(0.1 AS DOUBLE)",
    "decimal": "CAST(-0.05 AS DECIMAL(38,18))",
    "string": "'größe 😀'",
    "binary": "X'00FF61'",
    "date": "DATE '1582-10-15'",
    "timestamp": "TIMESTAMP '1969-12-31 23:59:59.000001'",
    "timestamp_ntz": "TIMESTAMP_NTZ '2024-02-29 12:00:00'",
    "array": "array('1', NULL, 'größe')",
    "map": "map('a', 1, 'b', NULL)",
    "struct": "named_struct('x', 1, 'y', 'quote \"')",
}


@pytest.mark.parametrize("kind", list(TYPES))
def test_each_type(client, kiln, kind):
    value = TYPES[kind]
    text = f"SELECT v FROM (SELECT 1 AS i, {value} AS v UNION ALL SELECT 2, NULL) ORDER BY i"
    rows = same_rows(client, kiln, text)
    assert rows[0][0] is not None
    assert rows[1][0] is None


def test_nothing_but_null(client, kiln):
    assert same_rows(client, kiln, "SELECT NULL AS nothing, 1 AS one") == [(None, 1)]


def test_a_wrong_statement(client, kiln):
    connect, _ = client
    with cursor_of(connect, kiln) as cursor:
        with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
            cursor.execute("SELECT * FROM no_such_table")
        cursor.execute("SELECT 2")
        assert cursor.fetchall() == [(2,)]


def test_a_wrong_database(kiln):
    with pytest.raises(hive.OperationalError, match="SCHEMA_NOT_FOUND"):
        hive.connect(
            scheme="http",
            host="127.0.0.1",
            port=urllib.parse.urlsplit(kiln).port,
            database="no_such_schema",
        )


def test_statements_without_rows(client, kiln):
    connect, _ = client
    with cursor_of(connect, kiln) as cursor:
        cursor.execute("CREATE OR REPLACE TABLE main.default.foreign_rows (n INT)")
        cursor.execute("INSERT INTO main.default.foreign_rows VALUES (1), (NULL)")
        cursor.execute("SELECT n FROM main.default.foreign_rows ORDER BY n")
        assert cursor.fetchall() == [(None,), (1,)]
        cursor.execute("DROP TABLE main.default.foreign_rows")


def test_rows_of_an_old_protocol(canned, monkeypatch):
    """impyla reads rows when the server agrees on a protocol below the sixth, but never asks for
    one; it knows no bytes there, and leaves dates as text."""
    from impala import hiveserver2

    request = hiveserver2.TOpenSessionReq
    monkeypatch.setattr(
        hiveserver2,
        "TOpenSessionReq",
        lambda **fields: request(**{**fields, "client_protocol": HIVE_V5}),
    )
    rows = [(i, f"name {i}", i / 8) for i in range(1000)]
    assert run(impyla, canned, "SELECT * FROM rows_1000")[2] == rows
    assert run(impyla, canned, "SELECT 1")[2] == [(1,)]


def test_a_ping_and_an_empty_log(server):
    with cursor_of(impyla, server) as cursor:
        assert cursor.ping()
        cursor.execute("SELECT 1")
        assert cursor.get_log() == ""
    with cursor_of(pyhive, server) as cursor:
        cursor.execute("SELECT 1")
        assert cursor.fetch_logs() == []


def test_nothing_is_left_behind(client, canned):
    same_rows(client, canned, "SELECT 1")
    after = stats(canned)
    assert (after["sessions_open"], after["operations_open"]) == (0, 0)


def test_the_connector_without_pyarrow(canned, monkeypatch):
    """It asks for columns then, also with Databricks' own protocol."""
    from databricks.sql import result_set, utils
    from databricks.sql.backend import thrift_backend

    for module in (result_set, utils, thrift_backend):
        monkeypatch.setattr(module, "pyarrow", None)
    names, types, rows = run(connector, canned, "SELECT * FROM rows_1000")
    assert (names, types) == (["id", "name", "value"], ["bigint", "string", "double"])
    assert rows == [(i, f"name {i}", i / 8) for i in range(1000)]
    monkeypatch.undo()
    wanted = run(connector, canned, "SELECT * FROM mixed")[2]
    for module in (result_set, utils, thrift_backend):
        monkeypatch.setattr(module, "pyarrow", None)
    rows = run(connector, canned, "SELECT * FROM mixed")[2]
    assert [row[:4] + row[5:6] for row in rows] == [row[:4] + row[5:6] for row in wanted]


# ---- Metadata calls -----------------------------------------------------------------------------


def test_impyla_asks_for_what_there_is(kiln):
    """It asks with the regular expression .* where it means everything."""
    with cursor_of(impyla, kiln) as cursor:
        cursor.execute("CREATE SCHEMA IF NOT EXISTS seen")
        cursor.execute("CREATE OR REPLACE TABLE seen.a_b (id INT NOT NULL, name STRING)")
        cursor.execute("CREATE OR REPLACE TABLE seen.axb (id INT)")
        cursor.get_databases()
        assert ("seen", "main") in cursor.fetchall()
        assert [cursor.database_exists(name) for name in ("seen", "unseen")] == [True, False]
        cursor.get_tables("seen")
        assert [row[2:4] for row in cursor.fetchall()] == [("a_b", "TABLE"), ("axb", "TABLE")]
        cursor.get_tables()
        assert ("samples", "nycflights", "flights") in [row[:3] for row in cursor.fetchall()]
        assert [cursor.table_exists(name, "seen") for name in ("axb", "bxa")] == [True, False]
        assert cursor.get_table_schema("a\\_b", "seen") == [("id", "INT"), ("name", "STRING")]
        cursor.get_functions()
        assert "abs" in [row[2] for row in cursor.fetchall()]
        cursor.execute("DROP SCHEMA seen CASCADE")


def ask_as_hive(connection, name, **filters):
    """A metadata call through the generated code that PyHive brings: the columns and the rows."""
    from TCLIService import ttypes

    client, session = connection.client, connection.sessionHandle
    request = getattr(ttypes, f"T{name}Req")(sessionHandle=session, **filters)
    reply = getattr(client, name)(request)
    assert reply.status.statusCode == 0 and reply.operationHandle.hasResultSet
    of = {"operationHandle": reply.operationHandle}
    schema = client.GetResultSetMetadata(ttypes.TGetResultSetMetadataReq(**of)).schema
    page = client.FetchResults(ttypes.TFetchResultsReq(orientation=0, maxRows=100000, **of)).results
    client.CloseOperation(ttypes.TCloseOperationReq(**of))
    columns = []
    for description, column in zip(schema.columns, page.columns):
        kind = ttypes.TTypeId._VALUES_TO_NAMES[description.typeDesc.types[0].primitiveEntry.type]
        values = next(v for v in vars(column).values() if v is not None)
        nulls = int.from_bytes(values.nulls, "little")
        cells = [None if nulls >> i & 1 else value for i, value in enumerate(values.values)]
        columns.append((description.columnName, kind.removesuffix("_TYPE").lower(), cells))
    return [column[:2] for column in columns], list(zip(*(column[2] for column in columns)))


@pytest.fixture
def keyed(kiln):
    """A connection, and tables with keys on the server."""
    connection = pyhive(kiln)
    cursor = connection.cursor()
    for text in (
        "CREATE SCHEMA IF NOT EXISTS keyed",
        "CREATE OR REPLACE TABLE keyed.parent (a INT, b INT, note STRING, PRIMARY KEY (b, a))",
        "CREATE OR REPLACE TABLE keyed.child (x INT, y INT, FOREIGN KEY (x, y) REFERENCES keyed.parent (b, a))",
        "CREATE OR REPLACE TABLE keyed.free (a INT)",
    ):
        cursor.execute(text)
    yield connection
    for text in ("DROP TABLE keyed.child", "DROP SCHEMA keyed CASCADE"):
        cursor.execute(text)
    connection.close()


def test_keys(keyed):
    columns, rows = ask_as_hive(keyed, "GetPrimaryKeys", catalogName="main", schemaName="keyed")
    assert columns == [("TABLE_CAT", "string"), ("TABLE_SCHEM", "string"), ("TABLE_NAME", "string"),
                       ("COLUMN_NAME", "string"), ("KEQ_SEQ", "int"), ("PK_NAME", "string")]
    assert [row[:5] for row in rows] == [("main", "keyed", "parent", "b", 1), ("main", "keyed", "parent", "a", 2)]
    for table, count in (("parent", 2), ("PARENT", 2), ("free", 0), ("p%", 0), ("", 0)):
        assert len(ask_as_hive(keyed, "GetPrimaryKeys", schemaName="keyed", tableName=table)[1]) == count


def test_foreign_keys(keyed):
    columns, rows = ask_as_hive(keyed, "GetCrossReference", foreignTableName="child")
    assert [name for name, _ in columns] == [
        "PKTABLE_CAT", "PKTABLE_SCHEM", "PKTABLE_NAME", "PKCOLUMN_NAME", "FKTABLE_CAT", "FKTABLE_SCHEM",
        "FKTABLE_NAME", "FKCOLUMN_NAME", "KEQ_SEQ", "UPDATE_RULE", "DELETE_RULE", "FK_NAME", "PK_NAME",
        "DEFERRABILITY"]  # fmt: skip
    assert [row[2:4] + row[6:11] + row[13:] for row in rows] == [
        ("parent", "b", "child", "x", 1, 3, 3, 7), ("parent", "a", "child", "y", 2, 3, 3, 7)]
    assert ask_as_hive(keyed, "GetCrossReference", parentTableName="parent")[1] == rows
    assert ask_as_hive(keyed, "GetCrossReference", parentTableName="free")[1] == []
    assert ask_as_hive(keyed, "GetCrossReference", parentTableName="parent", foreignTableName="free")[1] == []


def test_types_and_kinds_of_tables(keyed):
    columns, rows = ask_as_hive(keyed, "GetTypeInfo")
    assert columns == [
        ("TYPE_NAME", "string"), ("DATA_TYPE", "int"), ("PRECISION", "int"), ("LITERAL_PREFIX", "string"),
        ("LITERAL_SUFFIX", "string"), ("CREATE_PARAMS", "string"), ("NULLABLE", "smallint"),
        ("CASE_SENSITIVE", "boolean"), ("SEARCHABLE", "smallint"), ("UNSIGNED_ATTRIBUTE", "boolean"),
        ("FIXED_PREC_SCALE", "boolean"), ("AUTO_INCREMENT", "boolean"), ("LOCAL_TYPE_NAME", "string"),
        ("MINIMUM_SCALE", "smallint"), ("MAXIMUM_SCALE", "smallint"), ("SQL_DATA_TYPE", "int"),
        ("SQL_DATETIME_SUB", "int"), ("NUM_PREC_RADIX", "int")]  # fmt: skip
    types = {row[0]: row for row in rows}
    # As Spark 4.3 has them.
    assert types["DECIMAL"][1:] == (3, 38, *[None] * 3, 1, False, 3, *[False] * 3, None, 0, 0, None, None, 10)
    assert types["STRING"][1:] == (12, *[None] * 4, 1, True, 3, True, False, False, None, 0, 0, *[None] * 3)
    assert types["STRUCT"][1:] == (2002, *[None] * 4, 1, False, 0, True, False, False, None, 0, 0, *[None] * 3)
    assert types["INT"][1:3] == (4, 10) and len(types) == 19
    assert ask_as_hive(keyed, "GetTableTypes") == ([("TABLE_TYPE", "string")], [("TABLE",), ("VIEW",)])


def test_functions(keyed):
    columns, rows = ask_as_hive(keyed, "GetFunctions", functionName="ab_")
    assert columns == [("FUNCTION_CAT", "string"), ("FUNCTION_SCHEM", "string"), ("FUNCTION_NAME", "string"),
                       ("REMARKS", "string"), ("FUNCTION_TYPE", "int"), ("SPECIFIC_NAME", "string")]
    assert (None, None, "abs", "", 0, "abs") in rows
    assert all(len(row[2]) == 3 and row[2].startswith("ab") for row in rows)
    assert ask_as_hive(keyed, "GetFunctions", catalogName="main", schemaName="keyed", functionName="ab_")[1] == rows
    names = [row[2] for row in ask_as_hive(keyed, "GetFunctions")[1]]
    assert len(names) > 300 and not [name for name in names if name.startswith("_")]
    assert ask_as_hive(keyed, "GetFunctions", functionName="no_such_function")[1] == []


def test_catalogs_schemas_tables_and_columns_as_hive_asks(keyed):
    assert ("main",) in ask_as_hive(keyed, "GetCatalogs")[1]
    assert ask_as_hive(keyed, "GetSchemas", schemaName="key%")[1] == [("keyed", "main")]
    tables = ask_as_hive(keyed, "GetTables", schemaName="keyed", tableTypes=["TABLE"])[1]
    assert [row[2] for row in tables] == ["child", "free", "parent"]
    columns = ask_as_hive(keyed, "GetColumns", schemaName="keyed", tableName="parent")[1]
    assert [(row[3], row[16]) for row in columns] == [("a", 0), ("b", 1), ("note", 2)]
