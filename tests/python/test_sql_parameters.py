"""Parameters: what values become, through Mortar and through the unmodified connector on the same
Kiln; what is refused and by whom; that a value is never read as SQL."""

import datetime
import decimal
import enum
import logging
import math

import pytest

pytest.importorskip("mortar.sql", reason="the extension module is not built")
pytest.importorskip("mortar.kiln._kiln", reason="the extension module is not built")
pytest.importorskip("databricks.sql")

from databricks import sql as other  # noqa: E402
from databricks.sql import parameters as theirs  # noqa: E402
from mortar import sql  # noqa: E402
from mortar.sql import parameters as mine  # noqa: E402

from sql_support import (  # noqa: E402
    Kiln, assert_same, connect, connect_other, rows_of, server_stats, set_faults,
)

Decimal = decimal.Decimal
INDIA = datetime.timezone(datetime.timedelta(hours=5, minutes=30))


@pytest.fixture(scope="module")
def connection(kiln_uri):
    with connect(kiln_uri) as made:
        yield made


@pytest.fixture
def cursor(connection):
    with connection.cursor() as made:
        yield made


@pytest.fixture(scope="module")
def other_cursor(kiln_uri):
    with connect_other(kiln_uri, _disable_pandas=True) as made, made.cursor() as cursor:
        yield cursor


def outcome(cursor, text, parameters):
    try:
        cursor.execute(text, parameters)
        return ("rows", cursor.description, rows_of(cursor.fetchall()))
    except (sql.Error, other.Error) as e:
        return ("error", type(e).__name__, str(e))


def rows(cursor, text, parameters=None):
    return [tuple(row) for row in cursor.execute(text, parameters).fetchall()]


# ---- Values and types -------------------------------------------------------------------------

# Class, value, its type in SQL, what comes back (None: the value itself).
CLASSES = [
    ("StringParameter", "it's", "STRING", None),
    ("BooleanParameter", False, "BOOLEAN", None),
    ("TinyIntParameter", -128, "TINYINT", None),
    ("SmallIntParameter", 32767, "SMALLINT", None),
    ("IntegerParameter", -(2**31), "INT", None),
    ("BigIntegerParameter", 2**63 - 1, "BIGINT", None),
    ("FloatParameter", 0.5, "FLOAT", None),
    ("DoubleParameter", 1e300, "DOUBLE", None),
    ("DecimalParameter", Decimal("12.50"), "DECIMAL(4,2)", None),
    ("DateParameter", datetime.date(2013, 1, 31), "DATE", None),
    ("TimestampParameter", datetime.datetime(2013, 1, 31, 5, 30, tzinfo=INDIA), "TIMESTAMP",
     datetime.datetime(2013, 1, 31, tzinfo=datetime.timezone.utc)),
    ("TimestampNTZParameter", datetime.datetime(2013, 1, 31, 1, 2, 3, 4), "TIMESTAMP_NTZ", None),
    ("VoidParameter", None, "VOID", None),
    ("ArrayParameter", [1, 2, None], "ARRAY<INT>", None),
    ("MapParameter", {"a": 1, "b": 2}, "MAP<STRING,INT>", [("a", 1), ("b", 2)]),
]
STYLES = ["named", "positional"]


def bound(module, name, value, style):
    """A statement and its parameters."""
    make = getattr(module, name)
    if style == "named":
        return "SELECT :v AS x, typeof(:v) AS t", [make(value, "v")]
    return "SELECT ? AS x, typeof(?) AS t", [make(value), make(value)]


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("name, value, kind, back", CLASSES, ids=[c[0] for c in CLASSES])
def test_a_value_of_each_class(cursor, other_cursor, name, value, kind, back, style):
    got = outcome(cursor, *bound(mine, name, value, style))
    assert got[0] == "rows", got
    assert got[2] == rows_of([(value if back is None else back, cell_type(got))])
    assert cell_type(got).upper() == kind.upper()
    assert_same(got, outcome(other_cursor, *bound(theirs, name, value, style)))


def cell_type(got):
    return got[2][0][1][1]


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("name, value, kind, back", CLASSES, ids=[c[0] for c in CLASSES])
def test_a_null_of_each_class(cursor, name, value, kind, back, style):
    """It keeps its type; the connector would send the text None. Arrays and maps have no elements
    to tell theirs."""
    _, description, ((x, _),) = outcome(cursor, *bound(mine, name, None, style))
    assert x == ("NoneType", None)
    bare = "null" if kind in ("VOID", "ARRAY<INT>", "MAP<STRING,INT>") else kind.split("(")[0].lower()
    assert description[0][1] == bare.replace("timestamp_ntz", "timestamp")


def test_the_classes_are_those_of_the_connector():
    assert sorted(mine.__all__) == sorted(name for name, *_ in CLASSES)
    for name in mine.__all__:
        assert getattr(mine, name).CAST_EXPR == getattr(theirs, name).CAST_EXPR, name


class Colour(str, enum.Enum):
    RED = "red"


# Where the connector does the same.
INFERRED = [
    True, 0, 2**31 - 1, -(2**31), 2**31, -(2**31) - 1, 2**63 - 1, "", "a\nb\\n'\"`", "x\0y", "\U0001f389",
    0.1, math.inf, -math.inf, datetime.datetime(2013, 1, 31, 1, 2, 3, 4),
    datetime.datetime(2013, 1, 31, 1, 2, 3, tzinfo=INDIA), datetime.date(1, 1, 1), Decimal("0.5"),
    Decimal("-0.5"), Decimal("10.00"), Decimal("-123.45"), Decimal("7"), Decimal("." + "123" * 12 + "12"),
    Decimal("NaN"), None, [1, 2], (1,), range(3), [], {}, {"a": None}, [1, None], [[1], [2, 3]],
    {"a": [True]}, [1, 2.5], [Decimal("1.5"), Decimal("2.25")], ["a", "b"], 2**70,
]  # fmt: skip


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("value", INFERRED, ids=repr)
def test_plain_values(cursor, other_cursor, value, style):
    text, given = ("SELECT :v AS x", {"v": value}) if style == "named" else ("SELECT ? AS x", [value])
    got = outcome(cursor, text, given)
    assert_same(got, outcome(other_cursor, text, given))
    assert (got[0] == "error") == (value == 2**70 or value != value), got


@pytest.mark.parametrize(
    "value, kind",
    [
        (Decimal("1E+2"), "decimal(3,0)"),
        (Decimal("1E-7"), "decimal(7,7)"),
        (Decimal("-" + "9" * 38), "decimal(38,0)"),
        (Decimal("-0." + "1" * 38), "decimal(38,38)"),
        (Colour.RED, "string"),
    ],
    ids=str,
)
def test_what_the_connector_gets_wrong(cursor, other_cursor, value, kind):
    """It counts exponents and signs as digits, and sends the name of a text's member."""
    text = "SELECT :v AS v, typeof(:v) AS t"
    assert rows(cursor, text, {"v": value}) == [(value, kind)]
    assert outcome(other_cursor, text, {"v": value}) != outcome(cursor, text, {"v": value})


def test_the_two_numbers_of_a_decimal_are_swapped(cursor):
    for module in (mine, theirs):
        both = module.DecimalParameter(Decimal("1.5"), "v", 10, 4)
        assert both.scale == 10 and both.precision == 4
    four = mine.DecimalParameter(Decimal("1.5"), "v", 10, 4)
    assert str(rows(cursor, "SELECT :v AS v", [four])) == "[(Decimal('1.5000'),)]"
    assert cursor.description[0][4:6] == (10, 4)
    for numbers in ({"scale": 1}, {"precision": 1}, {"scale": 1, "precision": "1"}):
        with pytest.raises(ValueError, match="both or none"):
            mine.DecimalParameter(Decimal(1), **numbers)
    zero = mine.DecimalParameter(Decimal("1.5"), "v", 0, 4)  # means: from the value
    cursor.execute("SELECT :v AS v", [zero])
    assert cursor.description[0][4:6] == (2, 1)


def test_parameters_are_plain_objects():
    one = mine.IntegerParameter(1, "n")
    assert one == mine.IntegerParameter(1, "n") != mine.IntegerParameter(1)
    assert one != mine.BigIntegerParameter(1, "n")
    assert repr(one) == "IntegerParameter(name='n', value=1)"
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)
    one.value = 2
    assert one.value == 2


def test_parameters_inside_of_nested_values(cursor):
    given = [[mine.TinyIntParameter(1), 2], {"a": mine.DoubleParameter(3)}]
    assert rows(cursor, "SELECT ?, ?", given) == [([1, 2], [("a", 3.0)])]


# ---- Styles and texts -------------------------------------------------------------------------

TEXTS = [
    ("SELECT :a + :b AS x, :a AS y", {"a": 1, "b": 2, "unused": 3}),
    ("SELECT ? - ? AS x, ? AS y", [5, 2, "z"]),
    ("SELECT ? AS x", [1, "one too many"]),
    ("SELECT 'a :b ? %(b)' AS x, \":b ?\" AS y, :b AS `:b ?` -- :b ?\n/* :b ' ? */", {"b": 1}),
    ("SELECT '?' AS x, ? AS `?` -- ?\n/* ? ' */", [1]),
    ("SELECT %(a)s + :a AS x", {"a": 1}),
    ("SELECT 5 % 3 AS x, '%s' AS y", []),
    ("SELECT x FROM VALUES (1), (2), (3) AS t(x) WHERE x IN (?, ?) ORDER BY x LIMIT ?", [3, 2, 1]),
    ("SELECT array_contains(:l, 2) AS x, :m['k'] AS y", {"l": [1, 2], "m": {"k": "v"}}),
    ("SELECT 1 AS x", {}),
    ("SELECT 1 AS x", ()),
    # Names of columns: the values, as literals of Spark's.
    ("SELECT :i, :i + 1, upper(:s), :n, :b, :d, :t, :l, :m, :f",
     {"i": 7, "s": "it's", "n": None, "b": True, "d": datetime.date(2013, 1, 31), "f": 1.5,
      "t": datetime.datetime(2013, 1, 31), "l": [1, 2], "m": {"k": None}}),
    ("SELECT ?", [8]),
    ("SELECT ?", [9]),
    # Refusals.
    ("SELECT :a AS x, :missing AS y", {"a": 1}),
    ("SELECT ?, ?", [1]),
    ("SELECT ?", []),
    ("SELECT :a, ?", {"a": 1}),
]  # fmt: skip


@pytest.mark.parametrize("text, given", TEXTS, ids=[text[:50] for text, _ in TEXTS])
def test_texts(cursor, other_cursor, text, given):
    assert_same(outcome(cursor, text, given), outcome(other_cursor, text, given))


def test_names_of_columns(cursor):
    cursor.execute(TEXTS[11][0], TEXTS[11][1])
    assert [column[0] for column in cursor.description] == [
        "7", "(7 + 1)", "upper(it's)", "NULL", "true", "DATE '2013-01-31'",
        "TIMESTAMP '2013-01-31 00:00:00'", "array(1, 2)", "map(k, NULL)", "1.5",
    ]  # fmt: skip
    for value in (8, 9):  # a plan of the same text and types is not taken for another value
        cursor.execute("SELECT ?", [value])
        assert cursor.description[0][0] == str(value)


@pytest.mark.parametrize(
    "text, given, sqlstate, words",
    [
        ("SELECT :a, :missing", {"a": 1}, "42P02", "unbound parameter: missing"),
        ("SELECT ?, ?", [1], "42P02", r"unbound parameter: \?"),
        ("SELECT :n", [mine.IntegerParameter("abc", "n")], "22018", "CAST_INVALID_INPUT"),
        ("SELECT ?", [mine.DateParameter("2013-02-30")], "22018", "CAST_INVALID_INPUT|out of range"),
        ("SELECT ?", [mine.TinyIntParameter(128)], "22018", "CAST_INVALID_INPUT"),
    ],
)
def test_what_the_server_refuses(cursor, text, given, sqlstate, words):
    with pytest.raises(sql.ServerOperationError, match=words) as caught:
        cursor.execute(text, given)
    assert caught.value.sqlstate == sqlstate


@pytest.mark.parametrize("kind", ["FOO", "INT) AS x, (SELECT 1", "INT); DROP TABLE x", "''"])
def test_an_unknown_type(cursor, kind):
    strange = mine.DbsqlParameterBase(1)
    strange.CAST_EXPR = kind
    with pytest.raises(sql.ServerOperationError, match="UNSUPPORTED_DATATYPE") as caught:
        cursor.execute("SELECT ?", [strange])
    assert caught.value.sqlstate == "0A000"


ENDLESS = []
ENDLESS.append(ENDLESS)


def deep(levels):
    """As many lists around a number."""
    return [deep(levels - 1)] if levels else 1


def test_nested_as_deep_as_may_be(cursor):
    assert rows(cursor, "SELECT ? AS a", [deep(32)]) == [(deep(32),)]
    with pytest.raises(sql.Error, match="nested more than 32 deep"):
        cursor.execute("SELECT ? AS a", [deep(33)])
    assert rows(cursor, "SELECT ? AS a", [[[None, 1], None, []]]) == [([[None, 1], None, []],)]


@pytest.mark.parametrize(
    "given, error, words",
    [
        ([1] * 257, sql.ProgrammingError, "257 parameters: a statement takes at most 256"),
        ([mine.IntegerParameter(1, "a"), 2], sql.ProgrammingError, "mixed"),
        ([2, mine.IntegerParameter(1, "a")], sql.ProgrammingError, "mixed"),
        ("ab", sql.ProgrammingError, "not a str"),
        (b"ab", sql.ProgrammingError, "not a bytes"),
        ({1, 2}, sql.ProgrammingError, "not a set"),
        ((n for n in [1]), sql.ProgrammingError, "not a generator"),
        (7, sql.ProgrammingError, "not a int"),
        (["\ud800"], sql.ProgrammingError, "surrogate"),
        ({"a\0": 1}, sql.ProgrammingError, "NUL"),
        ({"": 1}, sql.ProgrammingError, "empty name"),
        ([ENDLESS], sql.ProgrammingError, "holds itself"),
        ([{"a": ENDLESS}], sql.ProgrammingError, "holds itself"),
        ([object()], sql.NotSupportedError, "Could not infer parameter type"),
        ([[object()]], sql.NotSupportedError, "Could not infer parameter type"),
        ([datetime.time(1)], sql.NotSupportedError, "Could not infer parameter type"),
        ([b"ab"], sql.NotSupportedError, "unhex"),
        ({"a": mine.IntegerParameter(1)}, sql.NotSupportedError, "Could not infer parameter type"),
    ],
)
def test_what_is_refused_before_it_is_sent(cursor, connection, given, error, words):
    before = connection.stats()["exchanges"]
    with pytest.raises(error, match=words):
        cursor.execute("SELECT ?", given)
    assert connection.stats()["exchanges"] == before


def test_a_refusal_keeps_the_result(cursor):
    cursor.execute("SELECT 7")
    for given in ([object()], "ab", [1] * 257, ["\ud800"]):
        with pytest.raises(sql.Error):
            cursor.execute("SELECT ?", given)
    assert cursor.fetchall() == [(7,)]


def test_parameters_are_looked_at_before_the_cursor(connection):
    closed = connection.cursor()
    closed.close()
    with pytest.raises(sql.NotSupportedError):
        closed.execute("SELECT ?", [object()])
    with pytest.raises(sql.InterfaceError):
        closed.execute("SELECT ?", [1])


def test_markers_of_older_programs(cursor, caplog):
    text = "SELECT %(a)s AS x, '%(a)s' AS y, \"%(a)s\" AS z, 7 %%(a)s AS w, r'\\' AS r -- %(a)s\n/* %(a)s */"
    with pytest.raises(sql.ServerOperationError):  # the %% stays what it is
        cursor.execute(text, {"a": 1})
    text = text.replace("7 %%(a)s AS w", "%(a)s AS w")
    assert rows(cursor, text, {"a": 1}) == [(1, "%(a)s", "%(a)s", 1, "\\")]
    quotes = "SELECT -- it's\n%(a)s AS w, /* \" */ %(a)s AS x, /* \" ` */ %(a)s AS y, 'it''s \\' %(a)s' AS z"
    assert rows(cursor, quotes, {"a": 2}) == [(2, 2, 2, "its ' %(a)s")]
    with pytest.raises(sql.ServerOperationError):
        cursor.execute("SELECT %(b)s", {"a": 1})
    with caplog.at_level(logging.WARNING, "mortar.sql"), pytest.raises(sql.Error):
        cursor.execute("SELECT %s", [1])
    assert "un-named query markers" in caplog.text


# ---- Values are never SQL ---------------------------------------------------------------------

SHARP = [
    "'; DROP TABLE main.default.sharp; --", "' OR '1'='1", "\\'; SELECT 1; --", "\\", "'", "''", "`", '"',
    "?", ":v", "%(v)s", "%s", "$k0", "{}", "/*", "*/", "--", ";", "\n", "\0", "NULL", "true",
    "CAST(1 AS INT)", "x' AS y, 'z", "\u02bc", "\uff07", "a" * 1000,
]  # fmt: skip


@pytest.mark.parametrize("value", SHARP, ids=repr)
def test_a_value_is_never_read_as_sql(cursor, value):
    cursor.execute("CREATE OR REPLACE TABLE main.default.sharp (v STRING)")
    cursor.execute("INSERT INTO main.default.sharp VALUES (?)", [value])
    cursor.execute("INSERT INTO main.default.sharp SELECT :v", {"v": value})
    assert rows(cursor, "SELECT v FROM main.default.sharp WHERE v = :v", {"v": value}) == [(value,)] * 2
    assert rows(cursor, "SELECT v FROM main.default.sharp WHERE v IN (?)", [value]) == [(value,)] * 2
    assert rows(cursor, "SELECT ?", [value]) == [(value,)]  # the value is the column's name, too
    assert rows(cursor, "SELECT array(?), map('k', ?)", [value, value]) == [([value], [("k", value)])]
    assert rows(cursor, "SELECT ?", [[value]]) == [([value],)]
    for kind in (mine.IntegerParameter, mine.DateParameter, mine.BooleanParameter):
        if value != "true":
            with pytest.raises(sql.ServerOperationError):
                cursor.execute("SELECT ?", [kind(value)])


# ---- Written into the text ---------------------------------------------------------------------

INLINE = [
    ("SELECT %(a)s AS a, %(b)s AS b, 5 %% 3 AS c", {"a": 1, "b": "x", "unused": None}),
    ("SELECT %s AS a, %s AS b, '%%s' AS c", ["it's \\ \"q\" `b`\n", None]),
    ("SELECT %d AS a, %.2f AS b, %s AS c", (7, 1.239, True)),
    ("SELECT %s AS a, %s AS b", [datetime.datetime(2013, 1, 31, 1, 2, 3, 4), datetime.date(2013, 1, 31)]),
    ("SELECT %s AS a", [datetime.datetime(2013, 1, 31, 1, 2, 3, tzinfo=INDIA)]),
    ("SELECT %s AS a, %s AS b, %s AS c", [Decimal("1.50"), [1, 2], {"a": "b'"}]),
    ("SELECT :a AS a", {"a": 1}),
    ("SELECT %(missing)s", {"a": 1}), ("SELECT %s, %s", [1]), ("SELECT %s", [1, 2]),
    ("SELECT %s", [{1}]), ("SELECT %s", {1}), ("SELECT %s", "x"), ("SELECT 100 % 7", []),
]  # fmt: skip


def inline_outcome(cursor, text, given):
    try:
        return outcome(cursor, text, given)
    except (KeyError, TypeError, ValueError) as e:
        return (type(e).__name__, str(e))


@pytest.mark.parametrize("text, given", INLINE, ids=lambda v: str(v)[:40])
def test_inline(kiln_uri, text, given):
    options = {"use_inline_params": "silent"}
    with connect(kiln_uri, **options) as a, connect_other(kiln_uri, _disable_pandas=True, **options) as b:
        got, wanted = (inline_outcome(c.cursor(), text, given) for c in (a, b))
    if "Unsupported" in wanted[-1]:  # the words differ, not the class
        got, wanted = got[:2], wanted[:2]
    assert_same(got, wanted)


@pytest.mark.parametrize("value", SHARP, ids=repr)
def test_an_inline_value_is_never_read_as_sql(kiln_uri, value):
    with connect(kiln_uri, use_inline_params="silent") as own:
        for text, given in (("SELECT %s AS v", [value]), ("SELECT %(v)s AS v", {"v": value})):
            assert rows(own.cursor(), text, given) == [(value,)]
        assert rows(own.cursor(), "SELECT %s AS v", [[value]]) == [([value],)]


def test_bytes_and_exponents_inline(kiln_uri, caplog):
    with caplog.at_level(logging.WARNING, "mortar.sql"):
        own = connect(kiln_uri, use_inline_params=True)
    assert "inline parameter approach" in caplog.text
    with own:
        values = [b"a'b", bytearray(b"\0"), Decimal("1E-7")]
        assert rows(own.cursor(), "SELECT %s, %s, %s", values) == [(b"a'b", b"\0", Decimal("1E-7"))]
        own.use_inline_params = False  # it counts at each statement
        assert rows(own.cursor(), "SELECT ? AS a", [1]) == [(1,)]


# ---- Changes ----------------------------------------------------------------------------------


def test_executemany(cursor):
    cursor.execute("CREATE OR REPLACE TABLE main.default.many_values (id INT, name STRING)")
    text = "INSERT INTO main.default.many_values VALUES (:id, :name)"
    assert cursor.executemany(text, [{"id": n, "name": f"n'{n}"} for n in range(5)]) is cursor
    assert cursor.rowcount == 5
    text = "INSERT INTO main.default.many_values VALUES (?, ?)"
    assert cursor.executemany(text, ((n, None) for n in range(5, 8))).rowcount == 3
    found = rows(cursor, "SELECT id, name FROM main.default.many_values ORDER BY id")
    assert found == [(n, f"n'{n}" if n < 5 else None) for n in range(8)]
    text = "UPDATE main.default.many_values SET name = :new WHERE id >= :least"
    assert cursor.execute(text, {"new": "x", "least": 6}).rowcount == 2
    assert cursor.execute("DELETE FROM main.default.many_values WHERE name = ?", ["x"]).rowcount == 2
    with pytest.raises(sql.ProgrammingError):
        cursor.executemany("SELECT ?", [[1], "ab"])


def test_the_next_statement_has_no_parameters(cursor):
    assert rows(cursor, "SELECT :a AS a", {"a": 1}) == [(1,)]
    with pytest.raises(sql.ServerOperationError, match="unbound parameter: a"):
        cursor.execute("SELECT :a AS a")


@pytest.fixture
def own_kiln(tmp_path):
    kiln = Kiln(tmp_path, "--faults", "on")
    yield kiln.uri
    kiln.end()


def test_a_write_is_sent_once_and_a_read_again(own_kiln):
    """As without parameters: the text says which it is."""
    insert, select = "INSERT INTO main.default.once VALUES (?)", "SELECT ? AS n"
    lost = {"call": "ExecuteStatement", "when": "after", "reset": True}
    with connect(own_kiln) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE main.default.once (n INT)")
        set_faults(own_kiln, {**lost, "text": "INSERT"}, {**lost, "text": "AS n"})
        with pytest.raises(sql.RequestError) as caught:
            cursor.execute(insert, [1])
        assert caught.value.outcome == "unknown"
        assert rows(cursor, select, [1]) == [(1,)]
        assert connection.stats()["retries"] == 1
    texts = server_stats(own_kiln)["texts"]
    assert (texts[insert]["executed"], texts[select]["executed"]) == (1, 2)
