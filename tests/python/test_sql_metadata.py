"""The metadata calls: what there is and what fits a filter, through Mortar and through the unmodified
connector on the same Kiln. Rows are held to a filter of this file's own, too: two clients would agree
on a server's mistake."""

import itertools
import re

import pytest

pytest.importorskip("mortar.sql", reason="the extension module is not built")
pytest.importorskip("mortar.kiln._kiln", reason="the extension module is not built")
pytest.importorskip("databricks.sql")

from mortar import sql  # noqa: E402
from sql_support import (  # noqa: E402
    Background, Kiln, assert_same, connect, connect_other, rows_of, server_stats, set_faults, wait_for,
)  # fmt: skip

# Names that mean something to somebody on the way: patterns, quotes of all kinds, other letters.
CATALOGS = ["cat", "my_cat", "myxcat"]
SCHEMAS = ["plain", "a_b", "axb", "größe"]
TABLES = ["plain", "a_b", "axb", "a%b", "ab", "a\\b", "a\\", "we`ird", "it's", 'dou"ble', "größe", "日本"]
VIEWS = ["look_b", "lookxb"]
COLUMNS = ["plain", "a_b", "axb", "a%b", "a\\b", "c`c", "größe"]

PATTERNS = [
    None, "", "%", "_", "%%", "plain", "PLAIN", "plai", "a_b", r"a\_b", "a%b", r"a\%b", r"a\\b", r"a\b",
    "a\\", "a\\\\", "%\\\\%", "%`%", "we`ird", "`plain`", "it's", "'", "' OR true --", '%"%', "gr%e",
    "gr__e", "GRÖSSE", "GRÖßE", "日_", "%b", "no such", "lookxb", "look\\_%", "my_cat", r"my\_cat", ".*", "*",
]  # fmt: skip


def quoted(*names):
    return ".".join("`" + name.replace("`", "``") + "`" for name in names)


@pytest.fixture(scope="module")
def kiln(tmp_path_factory):
    server = Kiln(tmp_path_factory.mktemp("kiln"), "--faults", "on")
    with connect(server.uri) as connection, connection.cursor() as cursor:
        for catalog in CATALOGS:
            cursor.execute(f"CREATE CATALOG {quoted(catalog)}")
        for schema in SCHEMAS:
            cursor.execute(f"CREATE SCHEMA {quoted('my_cat', schema)}")
        columns = ", ".join(f"{quoted(name)} INT" for name in COLUMNS)
        for table in TABLES:
            cursor.execute(f"CREATE TABLE {quoted('my_cat', 'a_b', table)} ({columns})")
        cursor.execute(f"CREATE TABLE {quoted('my_cat', 'axb', 'plain')} (only INT) COMMENT 'a remark'")
        for view in VIEWS:
            cursor.execute(f"CREATE VIEW {quoted('my_cat', 'a_b', view)} AS SELECT 1 AS one")
    yield server.uri
    stats = server_stats(server.uri)
    server.end()
    assert (stats["sessions_open"], stats["operations_open"]) == (0, 0)


@pytest.fixture(scope="module")
def both(kiln):
    with connect(kiln) as mine, connect_other(kiln) as theirs:
        yield mine, theirs


@pytest.fixture
def cursor(kiln):
    with connect(kiln) as connection, connection.cursor() as cursor:
        yield cursor


# ---- What there is, and what fits ----------------------------------------------------------------


def fits(pattern, name):
    """Whether a name fits a pattern; None fits all."""
    if pattern in (None, ".*", "*"):  # the last two are Hive's
        return True
    regex, letters = "", iter(pattern)
    for letter in letters:
        if letter == "\\":
            regex += re.escape(next(letters, letter))
        else:
            regex += {"%": ".*", "_": "."}.get(letter, re.escape(letter))
    return re.fullmatch(regex, name, re.I | re.S) is not None


def all_schemas():
    yield from ((catalog, schema) for catalog in CATALOGS for schema in ("default", "information_schema"))
    yield from (("my_cat", schema) for schema in SCHEMAS)
    yield from (("main", schema) for schema in ("default", "information_schema"))
    yield from (("samples", schema) for schema in ("default", "information_schema", "nycflights"))


FLIGHTS = ["airlines", "airports", "flights", "planes", "weather"]


def all_tables():
    yield from (("my_cat", "a_b", table, "TABLE") for table in TABLES)
    yield from (("my_cat", "a_b", view, "VIEW") for view in VIEWS)
    yield ("my_cat", "axb", "plain", "TABLE")
    yield from (("samples", "nycflights", table, "TABLE") for table in FLIGHTS)


def own_columns():
    """Those outside the samples."""
    yield from (("my_cat", "a_b", table, column) for table in TABLES for column in COLUMNS)
    yield from (("my_cat", "a_b", view, "one") for view in VIEWS)
    yield ("my_cat", "axb", "plain", "only")


def outcome(connection, call, *arguments, **keywords):
    """What a call says: description and rows, or the error."""
    with connection.cursor() as cursor:
        try:
            assert getattr(cursor, call)(*arguments, **keywords) is cursor
        except Exception as error:
            return "error", type(error).__name__, str(error)
        return "rows", [tuple(column) for column in cursor.description], rows_of(cursor.fetchall())


def rows_by_both(both, call, *arguments, **keywords):
    """The rows of a call, which have to be the same through either client."""
    mine, theirs = (outcome(connection, call, *arguments, **keywords) for connection in both)
    assert_same(mine, theirs)
    assert mine[0] == "rows", mine
    return [tuple(value[1] for value in row) for row in mine[2]]


def test_catalogs(both):
    assert rows_by_both(both, "catalogs") == [(name,) for name in sorted([*CATALOGS, "main", "samples"])]


@pytest.mark.parametrize("place", [0, 1])
def test_schemas(both, place):
    for pattern in PATTERNS:
        found = rows_by_both(both, "schemas", *(pattern if i == place else None for i in range(2)))
        wanted = [names for names in all_schemas() if fits(pattern, names[place])]
        assert sorted(found) == sorted((schema, catalog) for catalog, schema in wanted), pattern


@pytest.mark.parametrize("place", [0, 1, 2])
def test_tables(both, place):
    for pattern in PATTERNS:
        found = rows_by_both(both, "tables", *(pattern if i == place else None for i in range(3)))
        wanted = [names for names in all_tables() if fits(pattern, names[place])]
        assert sorted(row[:4] for row in found) == sorted(wanted), pattern


@pytest.mark.parametrize("place", [0, 1, 2, 3])
def test_columns(both, place):
    for pattern in PATTERNS:
        found = rows_by_both(both, "columns", *(pattern if i == place else None for i in range(4)))
        wanted = [names for names in own_columns() if fits(pattern, names[place])]
        assert sorted(row[:4] for row in found if row[0] != "samples") == sorted(wanted), pattern


def test_filters_together(both):
    some = [None, "%", "a_b", r"a\_b", "plain"]
    for catalog, schema, table in itertools.product(["my_cat", r"my\_cat", "cat"], some, some):
        found = rows_by_both(both, "tables", catalog, schema, table)
        wanted = [names for names in all_tables() if all(map(fits, (catalog, schema, table), names))]
        assert sorted(row[:4] for row in found) == sorted(wanted)


@pytest.mark.parametrize("types, shown", [
    (None, {"TABLE", "VIEW"}), ([], {"TABLE", "VIEW"}), (["TABLE"], {"TABLE"}), (["VIEW"], {"VIEW"}),
    (["VIEW", "TABLE"], {"TABLE", "VIEW"}), (["view"], set()), (["V%"], set()), ([""], set()),
    (["MANAGED_TABLE"], set()), (["it's"], set()), (["VIEW", "no such"], {"VIEW"}),
])  # fmt: skip
def test_table_types(both, types, shown):
    found = rows_by_both(both, "tables", "my_cat", table_types=types)
    assert {row[3] for row in found} == shown
    wanted = [names for names in all_tables() if names[0] == "my_cat" and names[3] in shown]
    assert len(found) == len(wanted)


def test_keywords(both):
    found = rows_by_both(both, "columns", column_name="only", table_name="plain", schema_name="axb",
                         catalog_name="my_cat")
    assert [row[:4] for row in found] == [("my_cat", "axb", "plain", "only")]
    assert len(rows_by_both(both, "schemas", schema_name="plain", catalog_name="my_cat")) == 1


def test_a_catalogs_underscore_means_itself_where_that_is_asked_for(kiln):
    with connect(kiln, escape_catalog_name=True) as mine:
        with connect_other(kiln, escape_catalog_name=True) as theirs:
            for name in ["my_cat", r"my\_cat", "my%", None]:
                found = rows_by_both((mine, theirs), "schemas", name)
                assert ("default", "myxcat") in found if name in ("my%", None) else len(found) == 6
                rows_by_both((mine, theirs), "tables", name)
                rows_by_both((mine, theirs), "columns", name, "axb")


# ---- What is told --------------------------------------------------------------------------------

STRING, INT = "string", "int"
DESCRIPTIONS = {
    "catalogs": [("TABLE_CAT", STRING)],
    "schemas": [("TABLE_SCHEM", STRING), ("TABLE_CATALOG", STRING)],
    "tables": [(name, STRING) for name in (
        "TABLE_CAT", "TABLE_SCHEM", "TABLE_NAME", "TABLE_TYPE", "REMARKS", "TYPE_CAT", "TYPE_SCHEM",
        "TYPE_NAME", "SELF_REFERENCING_COL_NAME", "REF_GENERATION")],
    "columns": [
        ("TABLE_CAT", STRING), ("TABLE_SCHEM", STRING), ("TABLE_NAME", STRING), ("COLUMN_NAME", STRING),
        ("DATA_TYPE", INT), ("TYPE_NAME", STRING), ("COLUMN_SIZE", INT), ("BUFFER_LENGTH", "tinyint"),
        ("DECIMAL_DIGITS", INT), ("NUM_PREC_RADIX", INT), ("NULLABLE", INT), ("REMARKS", STRING),
        ("COLUMN_DEF", STRING), ("SQL_DATA_TYPE", INT), ("SQL_DATETIME_SUB", INT),
        ("CHAR_OCTET_LENGTH", INT), ("ORDINAL_POSITION", INT), ("IS_NULLABLE", STRING),
        ("SCOPE_CATALOG", STRING), ("SCOPE_SCHEMA", STRING), ("SCOPE_TABLE", STRING),
        ("SOURCE_DATA_TYPE", "smallint"), ("IS_AUTO_INCREMENT", STRING)],
}  # fmt: skip


@pytest.mark.parametrize("call", DESCRIPTIONS)
def test_description(both, call):
    for filters in ([], ["no such"]) if call != "catalogs" else ([],):  # without rows, too
        for connection in both:
            with connection.cursor() as cursor:
                getattr(cursor, call)(*filters)
                assert [tuple(column[:2]) for column in cursor.description] == DESCRIPTIONS[call]
                assert all(column[2:] == (None,) * 5 for column in cursor.description)


# type of a column -> DATA_TYPE, TYPE_NAME, COLUMN_SIZE, DECIMAL_DIGITS, NUM_PREC_RADIX
TYPES = {
    "BOOLEAN": (16, "BOOLEAN", 1, None, None),
    "TINYINT": (-6, "TINYINT", 1, 0, 10),
    "SMALLINT": (5, "SMALLINT", 2, 0, 10),
    "INT": (4, "INT", 4, 0, 10),
    "BIGINT": (-5, "BIGINT", 8, 0, 10),
    "FLOAT": (6, "FLOAT", 4, 7, 10),
    "DOUBLE": (8, "DOUBLE", 8, 15, 10),
    "DECIMAL(10,2)": (3, "DECIMAL(10,2)", 8, 2, 10),
    "DECIMAL(38,0)": (3, "DECIMAL(38,0)", 16, 0, 10),
    "STRING": (12, "STRING", None, None, None),
    "BINARY": (-2, "BINARY", None, None, None),
    "DATE": (91, "DATE", 4, None, None),
    "TIMESTAMP": (93, "TIMESTAMP", 8, 6, None),
    "TIMESTAMP_NTZ": (93, "TIMESTAMP_NTZ", 8, 6, None),
    "ARRAY<INT>": (2003, "ARRAY<INT>", None, None, None),
    "ARRAY<ARRAY<DECIMAL(5,1)>>": (2003, "ARRAY<ARRAY<DECIMAL(5,1)>>", None, None, None),
    "MAP<STRING, INT>": (2000, "MAP<STRING, INT>", None, None, None),
    "STRUCT<a: INT, date: DATE, m: MAP<STRING, ARRAY<TIMESTAMP>>>":
        (2002, "STRUCT<a: INT, date: DATE, m: MAP<STRING, ARRAY<TIMESTAMP>>>", None, None, None),
}  # fmt: skip


def test_types_of_columns(kiln, both):
    columns = ", ".join(f"c{n} {text}" for n, text in enumerate(TYPES))
    both[0].cursor().execute(f"CREATE OR REPLACE TABLE cat.default.typed ({columns})")
    found = rows_by_both(both, "columns", "cat", "default", "typed")
    both[0].cursor().execute("DROP TABLE cat.default.typed")
    assert [(*row[4:7], *row[8:10]) for row in found] == list(TYPES.values())
    assert [row[16] for row in found] == list(range(len(TYPES)))
    assert {(row[10], row[17], row[22]) for row in found} == {(1, "YES", "NO")}


def test_remarks_and_nulls(both):
    create = "CREATE OR REPLACE TABLE cat.default.noted (a INT NOT NULL COMMENT 'first', b STRING) COMMENT 'it\\'s'"
    both[0].cursor().execute(create)
    table = rows_by_both(both, "tables", "cat", None, "noted")
    columns = rows_by_both(both, "columns", "cat", None, "noted")
    both[0].cursor().execute("DROP TABLE cat.default.noted")
    assert table == [("cat", "default", "noted", "TABLE", "it's", *[None] * 5)]
    assert [(row[10], row[11], row[17]) for row in columns] == [(0, "first", "NO"), (1, "", "YES")]


def test_a_catalog_that_is_dropped_is_gone(both):
    both[0].cursor().execute("CREATE CATALOG gone")
    assert ("gone",) in rows_by_both(both, "catalogs")
    both[0].cursor().execute("DROP CATALOG gone CASCADE")
    assert ("gone",) not in rows_by_both(both, "catalogs")


# ---- The cursor around it ------------------------------------------------------------------------


def test_rows_are_fetched_in_every_way(cursor):
    first = cursor.tables("my_cat").fetchone()
    assert first.TABLE_CAT == "my_cat" and first["TABLE_TYPE"] == "TABLE"
    assert cursor.rowcount == -1 and cursor.rownumber == 1
    rest = [*cursor.fetchmany(3), *cursor]
    assert [first, *rest] == cursor.tables("my_cat").fetchall() and len(rest) == 14
    assert cursor.fetchall() == [] and cursor.fetchone() is None


def test_rows_as_arrow(cursor):
    pa = pytest.importorskip("pyarrow")
    table = cursor.columns("my_cat", "a\\_b", "plain").fetchall_arrow()
    kinds = {"string": pa.string(), "int": pa.int32(), "tinyint": pa.int8(), "smallint": pa.int16()}
    assert table.schema.names == [name for name, _ in DESCRIPTIONS["columns"]]
    assert table.schema.types == [kinds[kind] for _, kind in DESCRIPTIONS["columns"]]
    assert table.column("COLUMN_NAME").to_pylist() == COLUMNS
    assert cursor.tables("no such").fetchall_arrow().num_rows == 0


def test_many_rows_come_in_pages(kiln, both):
    before = server_stats(kiln)["exchanges"]["FetchResults"]
    with connect(kiln, page_rows=7) as mine, mine.cursor() as cursor:
        found = [tuple(row) for row in cursor.columns("my_cat").fetchall()]
    assert server_stats(kiln)["exchanges"]["FetchResults"] - before > 10
    assert found == rows_by_both(both, "columns", "my_cat")


def test_a_call_takes_the_place_of_a_statement(cursor):
    cursor.execute("SELECT 1")
    query_id = cursor.query_id
    cursor.catalogs()
    assert cursor.query_id != query_id and re.fullmatch("[0-9a-f-]{36}", cursor.query_id)
    cursor.execute("SELECT 2 AS two")
    assert cursor.fetchall()[0].two == 2


@pytest.mark.parametrize("call, arguments, words", [
    ("schemas", (1,), "catalog_name must be a str or None"),
    ("schemas", (None, b"x"), "schema_name must be a str or None"),
    ("tables", (None, None, "a\0b"), "table_name holds a NUL character"),
    ("columns", (None, None, None, "\ud800"), "column_name holds half a surrogate pair"),
    ("tables", (None, None, None, "VIEW"), "table_types must be a list"),
    ("tables", (None, None, None, ["VIEW", None]), "table_types must be"),
])  # fmt: skip
def test_what_is_no_filter_is_refused(kiln, cursor, call, arguments, words):
    before = server_stats(kiln)["operations_total"]
    with pytest.raises(sql.ProgrammingError, match=words):
        getattr(cursor, call)(*arguments)
    assert server_stats(kiln)["operations_total"] == before
    assert cursor.catalogs().fetchone()


def test_a_closed_cursor_asks_nothing(kiln):
    with connect(kiln) as connection:
        cursor = connection.cursor()
        cursor.close()
        for call in DESCRIPTIONS:
            with pytest.raises(sql.InterfaceError, match="closed cursor"):
                getattr(cursor, call)()


# ---- Failures ------------------------------------------------------------------------------------


@pytest.fixture
def faults(kiln):
    yield lambda *rules: set_faults(kiln, *rules)
    set_faults(kiln)


def test_an_error_has_the_servers_words(faults, both):
    words = {"message": "[CATALOG_NOT_FOUND] no catalog c", "sqlstate": "42704"}
    faults({"call": "GetTables", "nth": "every", "error": words})
    outcomes = [outcome(connection, "tables", "c") for connection in both]
    assert [said[0] for said in outcomes] == ["error", "error"]
    with both[0].cursor() as cursor, pytest.raises(sql.DatabaseError, match="CATALOG_NOT_FOUND") as caught:
        cursor.tables("c")
    assert caught.value.sqlstate == "42704"


def test_it_is_sent_again_as_a_read_is(faults, kiln):
    with connect(kiln) as connection, connection.cursor() as cursor:
        wanted = cursor.columns("my_cat").fetchall()
        for call in ("columns", "tables", "schemas", "catalogs"):
            getattr(cursor, call)()
            wanted = cursor.fetchall()
            before = connection.stats()["retries"]
            name = f"Get{call.capitalize()}"
            faults({"call": name, "when": "after", "nth": [1, 2], "cut": 10})
            getattr(cursor, call)()
            assert cursor.fetchall() == wanted
            assert connection.stats()["retries"] - before == 2


def test_one_that_waits_is_given_up(faults, kiln):
    """close() from another thread ends the wait, and nothing stays on the server."""
    faults({"call": "GetColumns", "when": "after", "delay_after_ms": 300_000})
    connection = connect(kiln)
    cursor = connection.cursor()
    before = server_stats(kiln)["exchanges"]["GetColumns"]
    waiting = Background(lambda: cursor.columns("my_cat"))
    wait_for(lambda: server_stats(kiln)["exchanges"]["GetColumns"] > before)
    connection.close()
    with pytest.raises(sql.Error):
        waiting.result()


def test_types_functions_and_keys(kiln):
    """Their names are filters, each of its own call; what a server finds is the server's business."""
    with connect(kiln) as connection, connection.cursor() as cursor:
        assert {row.TABLE_TYPE for row in cursor.table_types()} == {"TABLE", "VIEW"}
        types = {row.TYPE_NAME: row.DATA_TYPE for row in cursor.type_info()}
        assert (types["INT"], types["STRING"]) == (4, 12)
        assert [row.FUNCTION_NAME for row in cursor.functions(function_name="ab_")] == ["abs"]
        assert cursor.functions(function_name="no such").fetchall() == []
        cursor.execute("CREATE SCHEMA my_cat.keyed")
        cursor.execute("CREATE TABLE my_cat.keyed.owner (id INT PRIMARY KEY, other INT)")
        cursor.execute("CREATE TABLE my_cat.keyed.owned (id INT REFERENCES my_cat.keyed.owner (id))")
        names = ("my_cat", "keyed", "owner")
        assert [row.COLUMN_NAME for row in cursor.primary_keys(*names)] == ["id"]
        assert cursor.primary_keys("my_cat", "keyed", "owne%").fetchall() == []
        found = cursor.foreign_keys(*names, "my_cat", "keyed", "owned").fetchall()
        assert [(row.PKCOLUMN_NAME, row.FKCOLUMN_NAME) for row in found] == [("id", "id")]
        assert cursor.foreign_keys(*names, "my_cat", "keyed", "owner").fetchall() == []
        with pytest.raises(sql.ProgrammingError, match="foreign_table_name"):
            cursor.foreign_keys(*names, "my_cat", "keyed", "ow\0ned")
        cursor.execute("DROP SCHEMA my_cat.keyed CASCADE")
