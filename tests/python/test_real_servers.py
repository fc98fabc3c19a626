"""Real servers of other people: Spark's Thrift Server and HiveServer2, over every transport that they
have. One table of statements, and beside it what no table can say: errors of connecting, cancels,
limits of time, pages, metadata.

MORTAR_SERVERS names the places to try, such as "spark-http hive-sasl"; each is started by its script in
tests/servers, one after the other, but for one that runs already: "spark-http:10001". `make
test-servers` runs this with all of them.
"""

from __future__ import annotations

import datetime
import logging
import math
import os
import socket
import subprocess
import threading
import time
from decimal import Decimal
from typing import Any, NamedTuple

import pytest

pytest.importorskip("mortar.sql", reason="the extension module is not built")

from conftest import ROOT  # noqa: E402
from mortar import sql  # noqa: E402
from sql_support import Background  # noqa: E402

PLACES = os.environ.get("MORTAR_SERVERS", "").split()
if not PLACES:
    pytest.skip("MORTAR_SERVERS names no real server: see make test-servers", allow_module_level=True)

SCRIPTS = {"spark": "spark-thrift", "hive": "hive-server2"}

# Statements that end when they are cancelled, and not before as far as a test is concerned. Spark ends a
# task at its own pace, so there are many short ones.
ENDLESS = {
    "spark": "select sum(id % 7) from range(0, 100000000000, 1, 5000)",
    "hive": "select count(*) from (select posexplode(split(space(100000), ' ')) as (p, x)) a "
            "join (select posexplode(split(space(100000), ' ')) as (p, x)) b on a.p + b.p < 0",
}  # fmt: skip


def numbers(server: str, count: int) -> str:
    """A table of one column n with 0 .. count - 1."""
    if server == "spark":
        return f"(select id as n from range(0, {count}, 1, 1)) numbers"
    return f"(select posexplode(split(space({count - 1}), ' ')) as (n, x)) numbers"


# ---- The servers -------------------------------------------------------------------------------


class Place(NamedTuple):
    server: str
    transport: str
    port: int

    def connect(self, **keywords: Any) -> sql.Connection:
        given = {"username": "tester", "password": "any", "tls": False, "transport": self.transport,
                 "http_path": "/cliservice", "_retry_stop_after_attempts_count": 0}  # fmt: skip
        return sql.connect("127.0.0.1", _port=self.port, **{**given, **keywords})


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that takes `spark` or `hive` is for that server alone, one that takes `http` or `binary`
    for these transports; `case` stands for the rows of the table that are for the place's server."""
    names = metafunc.fixturenames
    places = [
        place
        for place in PLACES
        if not {"spark", "hive"} & {*names} - {place.split("-")[0]}
        if not ("http" in names and "-http" not in place)
        if not ("binary" in names and "-http" in place)
    ]
    if "case" in names:
        pairs = [(place, case) for place in places for case in CASES[place.split("-")[0]]]
        metafunc.parametrize(("place", "case"), pairs, indirect=["place"], scope="module",
                             ids=[f"{place}-{case.name}" for place, case in pairs])  # fmt: skip
    elif "place" in names:
        metafunc.parametrize("place", places, indirect=True, scope="module")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


@pytest.fixture(scope="module")
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory):
    """One server, as long as the tests of its place run."""
    name, _, running = request.param.partition(":")
    server, transport = name.split("-")
    if running:
        yield Place(server, transport, int(running))
        return
    folder, port = tmp_path_factory.mktemp(name), free_port()

    def script(*arguments: str) -> int:
        command = [ROOT / "tests" / "servers" / SCRIPTS[server], *arguments]
        return subprocess.run([*map(str, command)], stdout=subprocess.DEVNULL, timeout=300).returncode

    try:
        assert script("start", str(folder), str(port), transport) == 0
        assert script("status", str(folder)) == 0
        yield Place(server, transport, port)
    finally:
        script("stop", str(folder))
    assert script("status", str(folder)) == 1


@pytest.fixture(scope="module")
def connection(place: Place):
    with place.connect() as connection:
        yield connection


# Only for pytest_generate_tests to see.
spark = hive = http = binary = pytest.fixture(lambda place: place)


@pytest.fixture
def cursor(connection: sql.Connection):
    with connection.cursor() as cursor:
        yield cursor


# ---- The table ---------------------------------------------------------------------------------


class Case(NamedTuple):
    """What the last of some statements gives: columns ("name type ...") and rows, or an error."""

    name: str
    statements: tuple[str, ...]
    columns: str | None = None
    rows: list[tuple[Any, ...]] = []
    sqlstate: str | None = None  # of the error
    words: str | None = None  # in its text


CASES: dict[str, list[Case]] = {"spark": [], "hive": []}


def add(servers: str, name: str, *statements: str, columns: str | None = None,
         rows: list[tuple[Any, ...]] | tuple = (), sqlstate: str | None = None,
         words: str | None = None) -> None:  # fmt: skip
    for server in servers.split():
        texts = tuple(text.replace("{numbers}", numbers(server, 20)) for text in statements)
        CASES[server].append(Case(name, texts, columns, list(rows), sqlstate, words))


BOTH = "spark hive"
add(BOTH, "int", "select 1 as x", columns="x int", rows=[(1,)])
add(BOTH, "boolean", "select true as x, false as y", columns="x boolean y boolean", rows=[(True, False)])
add(BOTH, "tinyint", "select cast(-128 as tinyint) as x, cast(127 as tinyint) as y",
     columns="x tinyint y tinyint", rows=[(-128, 127)])  # fmt: skip
add(BOTH, "smallint", "select cast(-32768 as smallint) as x, cast(32767 as smallint) as y",
     columns="x smallint y smallint", rows=[(-(2**15), 2**15 - 1)])  # fmt: skip
add(BOTH, "ends of int", "select cast('-2147483648' as int) as x, 2147483647 as y",
     columns="x int y int", rows=[(-(2**31), 2**31 - 1)])  # fmt: skip
add(BOTH, "ends of bigint", "select cast('-9223372036854775808' as bigint) as x, 9223372036854775807 as y",
     columns="x bigint y bigint", rows=[(-(2**63), 2**63 - 1)])  # fmt: skip
add(BOTH, "float comes as the double nearest to it", "select cast(1.5 as float) as x, cast(1.1 as float) as y",
     columns="x float y float", rows=[(1.5, 1.100000023841858)])  # fmt: skip
add(BOTH, "double", "select cast('1.7976931348623157E308' as double) as x, cast('4.9E-324' as double) as y",
     columns="x double y double", rows=[(1.7976931348623157e308, 5e-324)])  # fmt: skip
add(BOTH, "infinities", "select cast('Infinity' as double) as x, cast('-Infinity' as double) as y",
     columns="x double y double", rows=[(math.inf, -math.inf)])  # fmt: skip
add(BOTH, "decimal has its scale", "select cast(12.5 as decimal(10,3)) as x, cast(-7 as decimal(5,2)) as y",
     columns="x decimal(10,3) y decimal(5,2)", rows=[(Decimal("12.500"), Decimal("-7.00"))])  # fmt: skip
add(BOTH, "decimal of 38 digits", f"select cast('{'9' * 38}' as decimal(38,0)) as x",
     columns="x decimal(38,0)", rows=[(Decimal("9" * 38),)])  # fmt: skip
add(BOTH, "decimal of the smallest scale", "select cast('-0.00000000000000000000000000000000000001' as decimal(38,38)) as x",
     columns="x decimal(38,38)", rows=[(Decimal("-1E-38"),)])  # fmt: skip
add(BOTH, "empty string", "select '' as x", columns="x string", rows=[("",)])
add(BOTH, "letters beyond the basic plane", "select '\U0001f600 größe 日本' as x", columns="x string",
     rows=[("\U0001f600 größe 日本",)])  # fmt: skip
add(BOTH, "NUL inside a string", "select 'a\\0b' as x", columns="x string", rows=[("a\0b",)])
add(BOTH, "long string", "select repeat('abcdefghij', 10000) as x", columns="x string",
     rows=[("abcdefghij" * 10000,)])  # fmt: skip
add("spark", "varchar and char of a cast are strings", "select cast('a' as varchar(5)) as x, cast('b' as char(4)) as y",
     columns="x string y string", rows=[("a", "b")])  # fmt: skip
add("hive", "varchar and char of a cast", "select cast('a' as varchar(5)) as x, cast('b' as char(4)) as y",
     columns="x varchar y char", rows=[("a", "b   ")])  # fmt: skip
add(BOTH, "binary", "select cast('ab' as binary) as x, unhex('00ff80') as y, unhex('') as z",
     columns="x binary y binary z binary", rows=[(b"ab", b"\x00\xff\x80", b"")])  # fmt: skip
add(BOTH, "date", "select cast('2024-02-29' as date) as x, cast('0001-01-01' as date) as y, cast('9999-12-31' as date) as z",
     columns="x date y date z date",
     rows=[(datetime.date(2024, 2, 29), datetime.date(1, 1, 1), datetime.date(9999, 12, 31))])  # fmt: skip
add(BOTH, "timestamp in microseconds", "select cast('2024-02-29 12:34:56.789012' as timestamp) as x",
     columns="x timestamp", rows=[(datetime.datetime(2024, 2, 29, 12, 34, 56, 789012),)])  # fmt: skip
add(BOTH, "timestamp with zeros cut off", "select cast('2024-02-29 12:34:56.500000' as timestamp) as x",
     columns="x timestamp", rows=[(datetime.datetime(2024, 2, 29, 12, 34, 56, 500000),)])  # fmt: skip
add(BOTH, "timestamp without a fraction", "select cast('1969-12-31 23:59:59' as timestamp) as x",
     columns="x timestamp", rows=[(datetime.datetime(1969, 12, 31, 23, 59, 59),)])  # fmt: skip
add(BOTH, "void", "select null as x", columns="x null", rows=[(None,)])
add(BOTH, "a null of each type",
     "select cast(null as boolean) as a, cast(null as tinyint) as b, cast(null as smallint) as c, cast(null as int) as d, "
     "cast(null as bigint) as e, cast(null as float) as f, cast(null as double) as g, cast(null as decimal(9,2)) as h, "
     "cast(null as string) as i, cast(null as binary) as j, cast(null as date) as k, cast(null as timestamp) as l",
     columns="a boolean b tinyint c smallint d int e bigint f float g double h decimal(9,2) i string j binary k date l timestamp",
     rows=[(None,) * 12])  # fmt: skip
add(BOTH, "array", "select array(1, 2, null) as x", columns="x array", rows=[("[1,2,null]",)])
add(BOTH, "map", "select map('k', 1) as x", columns="x map", rows=[('{"k":1}',)])
add(BOTH, "struct", "select named_struct('a', 1, 'b', 'y', 'c', array(true)) as x", columns="x struct",
     rows=[('{"a":1,"b":"y","c":[true]}',)])  # fmt: skip
add("spark", "dates inside an array are bare", "select array(cast('2024-01-01' as date), null) as x",
     columns="x array", rows=[("[2024-01-01,null]",)])  # fmt: skip
add("hive", "dates inside an array are quoted", "select array(cast('2024-01-01' as date), null) as x",
     columns="x array", rows=[('["2024-01-01",null]',)])  # fmt: skip
add("spark", "quotes inside nested text are not escaped", "select map('k\"', 1) as x, array('y\"z') as y",
     columns="x map y array", rows=[('{"k"":1}', '["y"z"]')])  # fmt: skip
add("hive", "quotes inside nested text are escaped", "select map('k\"', 1) as x, array('y\"z') as y",
     columns="x map y array", rows=[('{"k\\"":1}', '["y\\"z"]')])  # fmt: skip
add(BOTH, "interval of months", "select interval '1-2' year to month as x, interval '-1-2' year to month as y",
     columns="x interval_year_month y interval_year_month", rows=[("1-2", "-1-2")])  # fmt: skip
add(BOTH, "interval of seconds has nine digits", "select interval '1 02:03:04.567' day to second as x",
     columns="x interval_day_time", rows=[("1 02:03:04.567000000",)])  # fmt: skip
add("spark", "calendar interval is a string", "select make_interval(1, 2, 0, 3, 4, 5, 6.5) as x", columns="x string",
     rows=[("1 years 2 months 3 days 4 hours 5 minutes 6.5 seconds",)])  # fmt: skip
add("spark", "timestamp without a zone", "select timestamp_ntz'2024-01-02 03:04:05' as x", columns="x timestamp",
     rows=[(datetime.datetime(2024, 1, 2, 3, 4, 5),)])  # fmt: skip
add("hive", "timestamp with the local zone is a text with its zone", "set time zone UTC",
     "select cast('2024-02-29 13:34:56.789 Europe/Paris' as timestamp with local time zone) as x",
     columns="x string", rows=[("2024-02-29 12:34:56.789 UTC",)])  # fmt: skip
add("hive", "union", "select create_union(1, 7, 'a') as x", columns="x union", rows=[('{1:"a"}',)])
add("spark", "time is no type of the protocol", "select time'12:00:00' as x", sqlstate="0A000",
     words="UNSUPPORTED_TIME_TYPE")  # fmt: skip
add("spark", "variant has no name in the protocol", "select parse_json('{\"a\":1}') as x", sqlstate="HY000",
     words="Unrecognized type name: variant")  # fmt: skip
add("spark", "variant as a string", "select cast(parse_json('{\"a\":1}') as string) as x", columns="x string",
     rows=[('{"a":1}',)])  # fmt: skip
add("spark", "two columns of one name", "select 5 as a, 6 as a", columns="a int a int", rows=[(5, 6)])
add("hive", "two columns of one name get two", "select 5 as a, 6 as a", columns="a int a_1 int", rows=[(5, 6)])
add(BOTH, "many columns", "select " + ", ".join(f"{i} as c{i}" for i in range(300)),
     columns=" ".join(f"c{i} int" for i in range(300)), rows=[tuple(range(300))])  # fmt: skip
add(BOTH, "no rows", "select x from (select 1 as x) q where x = 2", columns="x int")
add(BOTH, "null first, bitmap cut behind it", "select if(n = 0, null, cast(n as int)) as x from {numbers}",
     columns="x int", rows=[(n or None,) for n in range(20)])  # fmt: skip
add(BOTH, "null last", "select if(n = 19, null, cast(n as int)) as x from {numbers}", columns="x int",
     rows=[(None if n == 19 else n,) for n in range(20)])  # fmt: skip
add(BOTH, "every other null", "select if(n % 2 = 1, null, cast(n as string)) as x from {numbers}",
     columns="x string", rows=[(None if n % 2 else str(n),) for n in range(20)])  # fmt: skip
add(BOTH, "nothing but nulls", "select cast(null as boolean) as x from {numbers}", columns="x boolean",
     rows=[(None,)] * 20)  # fmt: skip
add(BOTH, "no null, no bitmap", "select cast(n as bigint) as x from {numbers}", columns="x bigint",
     rows=[(n,) for n in range(20)])  # fmt: skip
add(BOTH, "group", "select n % 3 as x, count(*) as y from {numbers} group by n % 3 order by x",
     columns=None, rows=[(0, 7), (1, 7), (2, 6)])  # fmt: skip
add(BOTH, "union and order", "select x from (select 2 as x union all select 1 as x) q order by x", columns="x int",
     rows=[(1,), (2,)])  # fmt: skip
add(BOTH, "common table expression", "with q as (select 1 as x) select x + 1 as y from q", columns="y int",
     rows=[(2,)])  # fmt: skip
add(BOTH, "comments and line ends", "select /* a remark */ 1 as x -- to the end\n", columns="x int", rows=[(1,)])
add(BOTH, "long statement", "select '" + "x" * 200_000 + "' as x", columns="x string", rows=[("x" * 200_000,)])
add("spark", "trailing semicolon", "select 1 as x;", columns="x int", rows=[(1,)])
add("hive", "trailing semicolon", "select 1 as x;", sqlstate="42000", words="ParseException")
add("spark", "parse error", "selec 1", sqlstate="42601", words=r"PARSE_SYNTAX_ERROR")
add("hive", "parse error", "selec 1", sqlstate="42000", words="ParseException")
add("spark", "no such table", "select * from not_there", sqlstate="42P01", words="TABLE_OR_VIEW_NOT_FOUND")
add("hive", "no such table", "select * from not_there", sqlstate="42S02", words="Table not found 'not_there'")
add("spark", "no such column", "select y from (select 1 as x) q", sqlstate="42703", words="UNRESOLVED_COLUMN")
add("hive", "no such column", "select y from (select 1 as x) q", sqlstate="42000", words="Invalid table alias or column")
add("spark", "division by zero", "select 1 / 0 as x", sqlstate="22012", words="DIVIDE_BY_ZERO")
add("hive", "division by zero is null", "select 1 / 0 as x", columns="x double", rows=[(None,)])
add("spark", "bad cast", "select cast('abc' as int) as x", sqlstate="22018", words="CAST_INVALID_INPUT")
add("hive", "bad cast is null", "select cast('abc' as int) as x", columns="x int", rows=[(None,)])
add("spark", "marker without a parameter", "select ? as x", sqlstate="42P02", words="UNBOUND_SQL_PARAMETER")
add("spark", "execute immediate binds", "execute immediate 'select ? as x' using 7", columns="x int", rows=[(7,)])
add("spark", "ddl has a column Result and no rows", "create database if not exists made", columns="Result string")
add("hive", "ddl has no columns", "create database if not exists made")
add("spark", "insert", "drop table if exists made.t1", "create table made.t1 (i int, v varchar(5), c char(4), d decimal(10,2))",
     "insert into made.t1 values (1, 'a', 'b', 1.5), (2, null, null, null)", columns="Result string")  # fmt: skip
add("hive", "insert", "drop table if exists made.t1", "create table made.t1 (i int, v varchar(5), c char(4), d decimal(10,2))",
     "insert into made.t1 values (1, 'a', 'b', 1.5), (2, null, null, null)")  # fmt: skip
add(BOTH, "select from a table", "select i as i, v as v, c as c, d as d from made.t1 where i is not null",
     columns="i int v varchar c char d decimal(10,2)",
     rows=[(1, "a", "b   ", Decimal("1.50")), (2, None, None, None)])  # fmt: skip
add("spark", "star has plain names", "select * from made.t1 where i = 2",
     columns="i int v varchar c char d decimal(10,2)", rows=[(2, None, None, None)])  # fmt: skip
add("hive", "star has the table in its names", "select * from made.t1 where i = 2",
     columns="t1.i int t1.v varchar t1.c char t1.d decimal(10,2)", rows=[(2, None, None, None)])  # fmt: skip
add(BOTH, "count", "select count(*) as x from made.t1", columns="x bigint", rows=[(2,)])
add("spark", "show tables", "show tables in made", columns="namespace string tableName string isTemporary boolean",
     rows=[("made", "t1", False)])  # fmt: skip
add("hive", "show tables", "show tables in made", columns="tab_name string", rows=[("t1",)])
add("spark", "describe", "describe made.t1", columns="col_name string data_type string comment string",
     rows=[("i", "int", None), ("v", "varchar(5)", None), ("c", "char(4)", None), ("d", "decimal(10,2)", None)])  # fmt: skip
add("hive", "describe", "describe made.t1", columns="col_name string data_type string comment string",
     rows=[("i", "int", ""), ("v", "varchar(5)", ""), ("c", "char(4)", ""), ("d", "decimal(10,2)", "")])  # fmt: skip
add(BOTH, "view", "create view made.v1 as select i from made.t1", "select i as i from made.v1 where i = 1",
     columns="i int", rows=[(1,)])  # fmt: skip
add("spark", "update is refused", "update made.t1 set i = 3", sqlstate="0A000", words="UPDATE")
add("hive", "update is refused", "update made.t1 set i = 3", sqlstate="42000", words="update or delete")
add("spark", "table is there already", "create table made.t1 (x int)", sqlstate="42P07", words="TABLE_OR_VIEW_ALREADY_EXISTS")
add("hive", "table is there already", "create table made.t1 (x int)", sqlstate="08S01", words="already exists")
add(BOTH, "use", "use made", "select current_database() as x", columns="x string", rows=[("made",)])
add(BOTH, "use is the session's", "use default", "select current_database() as x", columns="x string", rows=[("default",)])
add("spark", "use of what is not there", "use not_there", sqlstate="42704", words="SCHEMA_NOT_FOUND")
add("hive", "use of what is not there", "use not_there", sqlstate="42000", words="Database does not exist")
add("spark", "set", "set mortar.test=7", "set mortar.test", columns="key string value string", rows=[("mortar.test", "7")])
add("hive", "set", "set mortar.test=7", "set mortar.test", columns="set string", rows=[("mortar.test=7",)])
add("spark", "set without a value", "set mortar.unset", columns="key string value string",
     rows=[("mortar.unset", "<undefined>")])  # fmt: skip
add("hive", "set without a value", "set mortar.unset", columns="set string", rows=[("mortar.unset is undefined",)])
add("spark", "drop", "drop database made cascade", columns="Result string")
add("hive", "drop", "drop database made cascade")


def described(cursor: sql.Cursor) -> str | None:
    if cursor.description is None:
        return None
    sizes = [f"({column[4]},{column[5]})" if column[4] else "" for column in cursor.description]
    return " ".join(f"{column[0]} {column[1]}{size}" for column, size in zip(cursor.description, sizes))


def test_statement(case: Case, cursor: sql.Cursor) -> None:
    for statement in case.statements[:-1]:
        cursor.execute(statement)
    if case.words:
        with pytest.raises(sql.DatabaseError, match=case.words) as caught:
            cursor.execute(case.statements[-1]).fetchall()
        error = caught.value
        assert (error.sqlstate, error.status, error.outcome) == (case.sqlstate, "SERVER", "done")
        assert error.session_id and "\tat " not in str(error)
    else:
        rows = cursor.execute(case.statements[-1]).fetchall()
        assert [*map(tuple, rows)] == case.rows
        if case.columns or not case.rows:
            assert described(cursor) == case.columns


# ---- Values that == does not tell apart --------------------------------------------------------


def test_nan(place: Place, cursor: sql.Cursor) -> None:
    assert math.isnan(cursor.execute("select cast('NaN' as double)").fetchone()[0])


def test_negative_zero(spark: Place, place: Place, cursor: sql.Cursor) -> None:
    zero = cursor.execute("select cast(-1 as double) * cast(0 as double)").fetchone()[0]
    assert math.copysign(1, zero) == -1


# ---- Statements as a whole ---------------------------------------------------------------------


def test_rows_changed_are_told_by_hive_alone(place: Place, cursor: sql.Cursor) -> None:
    cursor.execute("create table changed (i int)")
    assert cursor.execute("insert into changed values (1), (2)").rowcount == (2 if place.server == "hive" else -1)
    assert cursor.execute("select i from changed").rowcount == -1
    cursor.execute("drop table changed")


def test_many_pages(place: Place) -> None:
    """Of Hive no page has more than 10,000 rows, whatever is asked for, and none says where it begins;
    neither server ever says that there are more: the end is a page without rows."""
    with place.connect() as connection, connection.cursor() as cursor:
        before = connection.stats()["exchanges"]
        cursor.execute(f"select n as n from {numbers(place.server, 25_000)}")
        assert [row.n for row in cursor] == [*range(25_000)]
        fetches = connection.stats()["exchanges"] - before
        assert fetches >= (4 if place.server == "hive" else 2)


def test_pages_of_the_size_asked_for(place: Place) -> None:
    with place.connect(page_rows=100) as connection, connection.cursor() as cursor:
        before = connection.stats()["exchanges"]
        cursor.execute(f"select n as n from {numbers(place.server, 1000)}")
        assert [row.n for row in cursor.fetchmany(150)] == [*range(150)]
        assert cursor.fetchone().n == 150
        assert [row.n for row in cursor] == [*range(151, 1000)]
        assert connection.stats()["exchanges"] - before >= 11


def test_arrow(place: Place, cursor: sql.Cursor) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table = cursor.execute(f"select cast(n as int) as n, cast(n as string) as s from {numbers(place.server, 3)}").fetchall_arrow()
    assert table.schema == pyarrow.schema([("n", pyarrow.int32()), ("s", pyarrow.string())])
    assert table.to_pydict() == {"n": [0, 1, 2], "s": ["0", "1", "2"]}


def test_parameters_are_refused_before_anything_is_sent(place: Place, connection: sql.Connection, cursor: sql.Cursor) -> None:
    before = connection.stats()["exchanges"]
    with pytest.raises(sql.NotSupportedError, match="has no parameters") as caught:
        cursor.execute("select ? as x", [1])
    assert caught.value.outcome == "not_sent"
    assert connection.stats()["exchanges"] == before


def test_parameters_written_into_the_text(place: Place) -> None:
    with place.connect(use_inline_params="silent") as connection, connection.cursor() as cursor:
        values = {"i": 1, "s": "größe", "f": 1.5, "n": None, "b": True}
        cursor.execute("select %(i)s as i, %(s)s as s, %(f)s as f, %(n)s as n, %(b)s as b", values)
        row = cursor.fetchone()
        assert (row.i, row.s, float(row.f), row.n, row.b) == (1, "größe", 1.5, None, True)


def test_two_sessions_are_apart(place: Place) -> None:
    with place.connect() as one, place.connect() as other:
        assert one.get_session_id_hex() != other.get_session_id_hex()
        one.cursor().execute("create database apart")
        one.cursor().execute("use apart")
        for connection, name in ((one, "apart"), (other, "default")):
            assert connection.cursor().execute("select current_database()").fetchone()[0] == name
        one.cursor().execute("drop database apart")


def test_sessions_come_and_go(place: Place) -> None:
    for n in range(5):
        with place.connect() as connection:
            assert connection.cursor().execute(f"select {n}").fetchone()[0] == n


def test_results_in_turn(place: Place) -> None:
    """Two open results of one session, read in turn."""
    with place.connect(page_rows=10) as connection:
        cursors = [connection.cursor().execute(f"select n + {k} as n from {numbers(place.server, 50)}") for k in (0, 100)]
        pairs = [*zip(*cursors)]
        assert [(a.n, b.n) for a, b in pairs] == [(n, n + 100) for n in range(50)]


def test_threads_of_one_session(place: Place) -> None:
    with place.connect() as connection:
        def ask(n: int) -> int:
            return connection.cursor().execute(f"select {n}").fetchone()[0]

        calls = [Background(lambda n=n: ask(n)) for n in range(4)]
        assert [call.result() for call in calls] == [*range(4)]


# ---- Stopping ----------------------------------------------------------------------------------


class Running:
    """An endless statement in another thread, once the server has said that it runs: asked a second
    time. Spark answers a cancel that comes before it has begun the work, and does the work all the
    same."""

    def __init__(self, place: Place) -> None:
        asked, logger = threading.Semaphore(0), logging.getLogger("mortar.sql")
        handler = logging.Handler(logging.DEBUG)
        handler.emit = lambda record: asked.release() if "GetOperationStatus" in record.getMessage() else None
        level = logger.level
        logger.addHandler(handler)
        logger.setLevel(logging.DEBUG)
        try:
            self.connection = place.connect()
            self.cursor = self.connection.cursor()
            self.call = Background(lambda: self.cursor.execute(ENDLESS[place.server]))
            assert asked.acquire(timeout=60) and asked.acquire(timeout=60), "the statement does not run"
        finally:
            logger.setLevel(level)
            logger.removeHandler(handler)


def test_cancel_from_another_thread(place: Place) -> None:
    running = Running(place)
    with running.connection:
        running.cursor.cancel()
        with pytest.raises(sql.OperationalError) as caught:
            running.call.result()
        assert (caught.value.status, caught.value.sqlstate) == ("CANCELED", "57014")
        assert running.cursor.execute("select 1").fetchone()[0] == 1


def test_statement_timeout(place: Place) -> None:
    with place.connect() as connection, connection.cursor() as cursor:
        with pytest.raises(sql.RequestError) as caught:
            cursor.execute(ENDLESS[place.server], statement_timeout=2)
        assert caught.value.status == "TIMEOUT"
        assert cursor.execute("select 1").fetchone()[0] == 1


def test_given_up_by_this_side(place: Place) -> None:
    """The session lives on, also where it ends with the connection that it was opened on."""
    with place.connect(call_timeout=3) as connection, connection.cursor() as cursor:
        session = connection.get_session_id_hex()
        for _ in range(2):
            with pytest.raises(sql.RequestError) as caught:
                cursor.execute(ENDLESS[place.server])
            assert caught.value.status == "TIMEOUT"
        deadline = time.monotonic() + 60
        while True:  # a heavy statement that is being cancelled keeps others waiting
            try:
                assert cursor.execute("select 1").fetchone()[0] == 1
                break
            except sql.RequestError:
                assert time.monotonic() < deadline
        assert connection.get_session_id_hex() == session


def test_close_with_a_statement_running(place: Place) -> None:
    running = Running(place)
    running.connection.close()
    with pytest.raises(sql.Error):
        running.call.result()
    with place.connect() as again:
        assert again.cursor().execute("select 1").fetchone()[0] == 1


# ---- Sessions ----------------------------------------------------------------------------------


def test_schema_at_the_start(place: Place, connection: sql.Connection) -> None:
    connection.cursor().execute("create database if not exists started")
    with place.connect(schema="started") as started:
        assert started.cursor().execute("select current_database()").fetchone()[0] == "started"
    connection.cursor().execute("drop database started")


def test_schema_that_is_not_there(place: Place) -> None:
    with pytest.raises(sql.DatabaseError, match="not_there") as caught:
        place.connect(schema="not_there")
    assert caught.value.status == "SERVER"


def test_catalog_at_the_start(place: Place) -> None:
    """Spark passes over one, and Hive takes it for a schema: so it is refused here."""
    with pytest.raises(sql.NotSupportedError, match="opens no session in a catalog"):
        place.connect(catalog="default")


@pytest.mark.parametrize("key", ["mortar.a", "set:hiveconf:mortar.a"])
def test_setting_of_the_session(place: Place, key: str) -> None:
    """Spark passes over a name without `set:hiveconf:` before it, so the client puts it there."""
    with place.connect(session_configuration={key: "7"}) as connection:
        assert "7" in connection.cursor().execute("set mortar.a").fetchone()[-1]


def test_ids(place: Place, connection: sql.Connection, cursor: sql.Cursor) -> None:
    cursor.execute("select 1")
    first = cursor.query_id
    assert first and cursor.execute("select 1").query_id not in ("", first)
    with pytest.raises(sql.DatabaseError) as caught:
        cursor.execute("selec 1")
    assert caught.value.session_id == connection.get_session_id_hex()


def test_number_of_an_error_is_told_by_hive_alone(place: Place, cursor: sql.Cursor) -> None:
    for text, number in (("selec 1", 40000), ("select * from not_there", 10001)):
        with pytest.raises(sql.DatabaseError) as caught:
            cursor.execute(text)
        assert caught.value.server_code == (number if place.server == "hive" else 0)


def test_closed_session(place: Place) -> None:
    connection = place.connect()
    cursor = connection.cursor()
    connection.close()
    with pytest.raises(sql.InterfaceError):
        cursor.execute("select 1")


# ---- HTTP --------------------------------------------------------------------------------------


@pytest.mark.parametrize("who", [{"username": None}, {"password": ""}, {"username": "", "password": "x"}])
def test_credentials_that_http_refuses(place: Place, http: Place, who: dict[str, str | None]) -> None:
    """A server that checks nobody still wants a user and a password that are not empty."""
    with pytest.raises(sql.RequestError) as caught:
        place.connect(**who)
    assert (caught.value.status, caught.value.http_status) == ("AUTH", 401)


def test_token_in_place_of_a_user(place: Place, http: Place) -> None:
    """Spark reads the token as base64 and answers with a web page and the status 500."""
    with pytest.raises(sql.RequestError) as caught:
        place.connect(username=None, password=None, access_token="dapi.0-1")
    assert caught.value.http_status == (500 if place.server == "spark" else 401)
    assert "dapi" not in str(caught.value)


def test_header_that_is_too_long(place: Place, http: Place) -> None:
    with pytest.raises(sql.RequestError, match="431") as caught:
        place.connect(user_agent_entry="x" * 9000)
    assert (caught.value.http_status, caught.value.outcome) == (431, "rejected")


def test_path(place: Place, http: Place) -> None:
    with pytest.raises(sql.RequestError) as caught:
        place.connect(http_path="/")
    assert caught.value.http_status == 405
    with place.connect(http_path="/cliservice/any/thing") as connection:
        assert connection.cursor().execute("select 1").fetchone()[0] == 1


def test_one_connection_for_many_statements(place: Place, http: Place) -> None:
    with place.connect() as connection:
        for n in range(3):
            connection.cursor().execute(f"select {n}").fetchall()
        assert connection.stats()["connects"] <= 1


# ---- Binary transports -------------------------------------------------------------------------


def test_transport_that_the_server_does_not_speak(place: Place, binary: Place) -> None:
    other = "nosasl" if place.transport == "sasl" else "sasl"
    with pytest.raises(sql.RequestError, match=f"'transport' {place.transport}") as caught:
        place._replace(transport=other).connect()
    assert caught.value.outcome in ("not_sent", "unknown")
    with pytest.raises(sql.RequestError, match="TLS"):
        place.connect(tls=True)


def test_user(place: Place, connection: sql.Connection) -> None:
    name = "current_user()" if place.server == "spark" else "logged_in_user()"
    assert connection.cursor().execute(f"select {name}").fetchone()[0] == "tester"


def test_login_that_sasl_refuses(place: Place, binary: Place) -> None:
    """Such a server wants a user and a password that are not empty, though it looks at neither."""
    if place.transport != "sasl":
        with place.connect(username=None, password=None) as connection:
            assert connection.cursor().execute("select 1").fetchone()[0] == 1
        return
    with place.connect(username=None, password=None) as connection:
        assert connection.cursor().execute("select 1").fetchone()[0] == 1
    with pytest.raises(sql.RequestError, match="refused the login.*check 'username' and 'password'") as caught:
        place.connect(password="")
    assert (caught.value.status, caught.value.outcome) == ("AUTH", "not_sent")


# ---- What there is -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def catalogue(place: Place, connection: sql.Connection):
    """A schema with a table and a view."""
    cursor = connection.cursor()
    cursor.execute("create database listed")
    cursor.execute("create table listed.things (id int, price decimal(9,2), names array<string>, at timestamp)")
    cursor.execute("create view listed.cheap as select id from listed.things where price < 1")
    yield "listed"
    cursor.execute("drop database listed cascade")


def columns_of(cursor: sql.Cursor) -> list[str]:
    return [column[0] for column in cursor.description or []]


def test_catalogs_are_none(place: Place, cursor: sql.Cursor) -> None:
    assert cursor.catalogs().fetchall() == []
    assert columns_of(cursor) == ["TABLE_CAT"]


def test_schemas(place: Place, catalogue: str, cursor: sql.Cursor) -> None:
    assert {row.TABLE_SCHEM for row in cursor.schemas()} >= {"default", "listed"}
    assert [tuple(row) for row in cursor.schemas(schema_name="list%")] == [("listed", "")]
    # The catalogue's name is passed over.
    assert [row.TABLE_SCHEM for row in cursor.schemas("no_such", "listed")] == ["listed"]


def test_tables(place: Place, catalogue: str, cursor: sql.Cursor) -> None:
    found = [(row.TABLE_CAT, row.TABLE_SCHEM, row.TABLE_NAME, row.TABLE_TYPE) for row in cursor.tables(schema_name="listed")]
    assert sorted(found) == [("", "listed", "cheap", "VIEW"), ("", "listed", "things", "TABLE")]
    assert [row.TABLE_NAME for row in cursor.tables(None, "listed", "th_ngs")] == ["things"]
    assert [row.TABLE_NAME for row in cursor.tables(None, "listed", None, ["VIEW"])] == ["cheap"]


def test_managed_table_is_no_type_for_spark_and_any_type_for_hive(place: Place, catalogue: str, cursor: sql.Cursor) -> None:
    found = [row.TABLE_NAME for row in cursor.tables(None, "listed", None, ["MANAGED_TABLE"])]
    assert sorted(found) == (["cheap", "things"] if place.server == "hive" else [])


def test_empty_text_for_the_schema_is_no_filter(place: Place, catalogue: str, cursor: sql.Cursor) -> None:
    assert [row.TABLE_NAME for row in cursor.tables(None, "", "things")] == ["things"]


def test_columns(place: Place, catalogue: str, cursor: sql.Cursor) -> None:
    rows = cursor.columns(None, "listed", "things").fetchall()
    assert len(rows[0]) == 23
    assert dict((column[0], column[1]) for column in cursor.description)["BUFFER_LENGTH"] == "tinyint"
    found = [(row.COLUMN_NAME, row.DATA_TYPE, row.TYPE_NAME, row.COLUMN_SIZE, row.ORDINAL_POSITION) for row in rows]
    if place.server == "spark":  # bytes
        assert found == [("id", 4, "INT", 4, 1), ("price", 3, "DECIMAL(9,2)", 8, 2),
                         ("names", 2003, "ARRAY<STRING>", None, 3), ("at", 93, "TIMESTAMP", 8, 4)]  # fmt: skip
    else:  # digits
        assert found == [("id", 4, "INT", 10, 1), ("price", 3, "DECIMAL", 9, 2),
                         ("names", 2003, "array<string>", None, 3), ("at", 93, "TIMESTAMP", 29, 4)]  # fmt: skip
    assert [row.COLUMN_NAME for row in cursor.columns(None, "listed", "things", "n%")] == ["names"]
    assert len(cursor.columns(None, "listed", "things", None).fetchall()) == 4


def test_table_types(place: Place, cursor: sql.Cursor) -> None:
    """Hive names TABLE twice."""
    found = [row.TABLE_TYPE for row in cursor.table_types()]
    wanted = {"spark": ["TABLE", "VIEW"], "hive": ["INDEX_TABLE", "MATERIALIZED_VIEW", "TABLE", "TABLE", "VIEW"]}
    assert sorted(found) == wanted[place.server]


def test_type_info(place: Place, cursor: sql.Cursor) -> None:
    found = {row.TYPE_NAME: row.DATA_TYPE for row in cursor.type_info()}
    assert found.items() >= {"INT": 4, "STRING": 12, "DECIMAL": 3, "ARRAY": 2003, "MAP": 2000, "STRUCT": 2002}.items()
    assert "TIMESTAMP_NTZ" not in found


def test_functions(place: Place, cursor: sql.Cursor) -> None:
    found = [row.FUNCTION_NAME for row in cursor.functions(function_name="ab%")]
    assert any(name.endswith("abs") for name in found)
    assert all(name.split(".")[-1].startswith("ab") for name in found)


def test_keys(place: Place, catalogue: str, cursor: sql.Cursor) -> None:
    """Spark has none, and says so of tables that are not there, too. It spells a column KEQ_SEQ."""
    assert cursor.primary_keys(None, "listed", "things").fetchall() == []
    assert columns_of(cursor)[4] == ("KEQ_SEQ" if place.server == "spark" else "KEY_SEQ")
    if place.server == "spark":
        assert cursor.primary_keys(None, "listed", "not_there").fetchall() == []
        assert cursor.foreign_keys(None, "listed", "things", None, "listed", "cheap").fetchall() == []
        return
    cursor.execute("create table listed.owner (id int, primary key (id) disable novalidate rely)")
    cursor.execute("create table listed.owned (ref int, constraint f foreign key (ref) references listed.owner (id) disable novalidate)")
    assert [row.COLUMN_NAME for row in cursor.primary_keys(None, "listed", "owner")] == ["id"]
    found = cursor.foreign_keys(None, "listed", "owner", None, "listed", "owned").fetchall()
    assert [(row.PKCOLUMN_NAME, row.FKTABLE_NAME, row.FKCOLUMN_NAME) for row in found] == [("id", "owned", "ref")]
