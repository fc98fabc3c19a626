"""Values: every type with and without nulls, as Arrow and as Thrift columns, in results of several
sizes, through Mortar and through the unmodified connector, against the same Kiln. What differs on
purpose is in DIFFERENCES."""

import collections
import contextlib
import datetime
import decimal
import itertools
import json
import struct

import pytest

pytest.importorskip("mortar.sql", reason="the extension module is not built")
pytest.importorskip("mortar.kiln._kiln", reason="the extension module is not built")
pytest.importorskip("databricks.sql")

from sql_support import Kiln, canonical, connect, connect_other, rows_of  # noqa: E402

# type -> (an expression of `id`, the type code; None: it depends on the version of DuckDB)
TYPES = {
    "boolean": ("id % 2 = 0", "boolean"),
    "tinyint": ("cast(id % 256 - 128 as tinyint)", "tinyint"),
    "smallint": ("cast(id % 65536 - 32768 as smallint)", "smallint"),
    "int": ("cast(id * 2003 - 2147483648 as int)", "int"),
    "bigint": ("id % 1024 * 9007199254740993 - 4611686018427387904", "bigint"),
    "float": ("cast(id / 7 as float)", "float"),
    "double": ("id / 7.0D", "double"),
    "double NaN": ("cast('NaN' as double)", "double"),
    "double infinity": ("cast(concat(case when id % 2 = 0 then '-' else '' end, 'Infinity') as double)",
                        "double"),
    "decimal(4,4)": ("cast(id % 1000 / 1000 as decimal(4,4))", "decimal"),
    "decimal(10,2)": ("cast(id * 1.25 - 200 as decimal(10,2))", "decimal"),
    "decimal(18,0)": ("cast(id * 1000003 as decimal(18,0))", "decimal"),
    "decimal(38,10)": ("cast(id * -1000003 as decimal(38,10))", "decimal"),
    "decimal(38,0)": ("cast('-1234567890123456789012345678901234567' as decimal(38,0)) + id",
                      "decimal"),
    "string ascii": ("cast(id as string)", "string"),
    "string unicode": ("concat('größe ', cast(id as string), ' 日本語 😀')", "string"),
    "string long": ("repeat('abc', 3000 + cast(id % 7 as int))", "string"),
    "string empty": ("''", "string"),
    "binary": ("unhex(substr('00FF10ABCD', 1, cast(id % 6 * 2 as int)))", "binary"),
    "date": ("cast(date_add(date'2013-01-01', cast(id % 800 as int)) as date)", "date"),
    "date far": ("case when id % 2 = 0 then date'0001-01-01' else date'9999-12-31' end", "date"),
    "timestamp": ("cast(concat('2013-06-01 00:00:', cast(10 + id % 50 as string), '.123456') "
                  "as timestamp)", "timestamp"),
    "timestamp early": ("timestamp'1492-10-12 01:02:03.000001'", "timestamp"),
    "timestamp_ntz": ("cast(concat('1969-06-01 00:00:', cast(10 + id % 50 as string), '.5') "
                      "as timestamp_ntz)", "timestamp"),
    "void": ("NULL", None),
    "array<int>": ("array(cast(id as int), null, 3)", "array"),
    "array<string>": ("array(cast(id as string), 'ß', null)", "array"),
    "array empty": ("array()", "array"),
    "array<array>": ("array(array(id, 2), array(), null)", "array"),
    "map": ("map('a', id, 'b', null)", "map"),
    "struct": ("named_struct('a', id, 'b', array(1.5D), 'c', named_struct('d', date'2013-01-01'))",
               "struct"),
    "array<struct<map>>": ("array(named_struct('a', id, 'm', map(id, cast(1.5 as decimal(5,2)))))",
                           "array"),
}
NULLS = {"none": "false", "some": "id % 3 = 1", "all": "true"}
ROWS_OF_A_BATCH = 14
LAYOUTS = {"arrow": (), "columns": ("--columns",)}
SIZES = {"0 rows": 0, "1 row": 1, "72 batches": 72 * ROWS_OF_A_BATCH}

# What Mortar gives where the connector gives something else. Each is held by a test below.
DIFFERENCES = {
    "arrays": "lists; the connector's default route gives numpy arrays, whose integers become "
              "floats where a null is among them",
    "NaN": "NaN; the connector's default route gives None",
    "UTC": "the zone is datetime.timezone.utc; the connector's is zoneinfo's Etc/UTC",
    "far dates": "a year above 9999 is a DataError that loses no row",
    "floats in columns": "the same value as over Arrow; the connector gives the decimal text's",
}

covered = collections.Counter()


@contextlib.contextmanager
def kilns(folders, *options):
    """By layout, the URIs of Kilns."""
    made = {layout: Kiln(folders.mktemp("kiln"), *options, *more) for layout, more in LAYOUTS.items()}
    yield {layout: kiln.uri for layout, kiln in made.items()}
    for kiln in made.values():
        kiln.end()


@contextlib.contextmanager
def cursors(uris):
    """By layout, cursors of Mortar and of the connector's route that converts cell by cell: no
    numpy, no pandas."""
    with contextlib.ExitStack() as stack:
        yield {layout: (stack.enter_context(connect(uri)).cursor(),
                        stack.enter_context(connect_other(uri, _disable_pandas=True)).cursor())
               for layout, uri in uris.items()}


@pytest.fixture(scope="module")
def uris(tmp_path_factory):
    """Kilns that cut results into small batches."""
    with kilns(tmp_path_factory, "--batch-rows", str(ROWS_OF_A_BATCH)) as made:
        yield made


@pytest.fixture(scope="module")
def pairs(uris):
    with cursors(uris) as made:
        yield made


@pytest.fixture(scope="module")
def large_pairs(tmp_path_factory):
    with kilns(tmp_path_factory) as made, cursors(made) as pairs:
        yield pairs


@pytest.fixture(scope="module")
def mine(pairs):
    return pairs["arrow"][0]


@pytest.fixture(scope="module")
def exact(pairs):
    return pairs["arrow"][1]


@pytest.fixture(scope="module")
def default(uris):
    with connect_other(uris["arrow"]) as connection, connection.cursor() as cursor:
        yield cursor


def statement(expression, nulls="false", size=1):
    return (f"SELECT id, CASE WHEN {nulls} THEN NULL ELSE {expression} END AS v "
            f"FROM range({size}) ORDER BY id")


def single(value):
    """What a float holds, whatever decimal text it came through."""
    return value if value is None else struct.unpack("f", struct.pack("f", value))[0]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("nulls", NULLS)
@pytest.mark.parametrize("kind", TYPES)
def test_same_as_the_connector(kind, nulls, layout, size, pairs):
    expression, code = TYPES[kind]
    text = statement(expression, NULLS[nulls], SIZES[size])
    mine, exact = pairs[layout]
    mine.execute(text)
    exact.execute(text)
    assert mine.description == exact.description
    assert code in (None, mine.description[1][1])
    got, wanted = mine.fetchall(), exact.fetchall()
    if (kind, layout) == ("float", "columns"):
        wanted = [(number, single(value)) for number, value in wanted]
    assert rows_of(got) == rows_of(wanted)
    assert len(got) == SIZES[size] == mine.rownumber
    covered[kind, nulls, layout, size] += len(got)


# ---- Nulls anywhere, all types in one statement ----

# pattern -> the row's value is null, given its number and how many there are
PATTERNS = {
    "all": lambda k, n: True,
    "none": lambda k, n: False,
    "alternating": lambda k, n: k % 2 == 1,
    "first": lambda k, n: k == 0,
    "last": lambda k, n: k == n - 1,
}
LENGTHS = [1, 8, 9, 65]


@pytest.fixture(scope="module")
def in_rows(tmp_path_factory):
    """A cursor on a server that knows no columns yet."""
    kiln = Kiln(tmp_path_factory.mktemp("kiln"), "--protocol", "HIVE_V1", "--batch-rows", "14")
    with connect(kiln.uri) as connection:
        yield connection.cursor()
    kiln.end()


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_nulls_are_where_they_are(pattern, length, pairs, in_rows):
    """In all three layouts; as the connector has them, which knows no rows."""
    where = [PATTERNS[pattern](k, length) for k in range(length)]
    nulls = ", ".join(str(k) for k in range(length) if where[k]) or "-1"
    columns = ", ".join(f"CASE WHEN id IN ({nulls}) THEN NULL ELSE {expression} END AS v{number}"
                        for number, (expression, _) in enumerate(TYPES.values()))
    text = f"SELECT id, {columns} FROM range({length}) ORDER BY id"
    got = {}
    for layout, (mine, exact) in pairs.items():
        got[layout] = mine.execute(text).fetchall()
        exact.execute(text)
        assert mine.description == exact.description
        wanted = exact.fetchall()
        for number, kind in enumerate(TYPES):
            values = [row[number + 1] for row in got[layout]]
            assert [v is None for v in values] == [kind == "void" or null for null in where], kind
            others = [row[number + 1] for row in wanted]
            if (kind, layout) == ("float", "columns"):
                others = map(single, others)
            assert rows_of([values]) == rows_of([others]), kind
    in_rows.execute(text)
    assert in_rows.description == pairs["columns"][0].description
    assert rows_of(in_rows.fetchall()) == rows_of(got["columns"])


# kind of container -> (an expression of the one that holds an expression, the same in Python)
CONTAINERS = {
    "array": (lambda e: f"array({e}, NULL, {e})", lambda v: [v, None, v]),
    "map": (lambda e: f"map('k', {e}, 'n', NULL)", lambda v: [("k", v), ("n", None)]),
    "struct": (lambda e: f"named_struct('x', {e})", lambda v: {"x": v}),
}


def nested(kinds, level=0):
    """(expression of id, function of id) of containers in each other, down to the id itself. At each
    level every fifth value is null."""
    expression, value = "id", lambda k: k
    if kinds:
        inner, inside = nested(kinds[1:], level + 1)
        write, make = CONTAINERS[kinds[0]]
        expression, value = write(inner), lambda k: make(inside(k))
    return (f"CASE WHEN id % 5 = {level} THEN NULL ELSE {expression} END",
            lambda k: None if k % 5 == level else value(k))


def as_read(value, text):
    """What JSON makes of a value of Python's, if it comes as text."""
    if text and isinstance(value, list) and value and isinstance(value[0], tuple):
        return {key: as_read(inner, text) for key, inner in value}
    if isinstance(value, (list, tuple)):
        return type(value)(as_read(inner, text) for inner in value)
    if isinstance(value, dict):
        return {key: as_read(inner, text) for key, inner in value.items()}
    return value


@pytest.mark.parametrize("length", LENGTHS)
def test_nulls_at_every_level(length, pairs, in_rows):
    columns = [nested(kinds) for depth in (1, 2, 3)
               for kinds in itertools.product(CONTAINERS, repeat=depth)]
    text = "SELECT id, {} FROM range({}) ORDER BY id".format(
        ", ".join(f"{expression} AS v{number}" for number, (expression, _) in enumerate(columns)),
        length)
    for layout, cursor in [("rows", in_rows), *((name, pair[0]) for name, pair in pairs.items())]:
        as_text = layout != "arrow"
        wanted = [[as_read(value(k), as_text) for _, value in columns] for k in range(length)]
        got = [list(row)[1:] for row in cursor.execute(text).fetchall()]
        if as_text:
            got = [[value if value is None else json.loads(value) for value in row] for row in got]
        assert got == wanted, layout


# ---- A million rows of each type, several types to a statement ----

MILLION_ROWS = 1_000_000
# Nine kilobytes a row are too much for a million.
LARGE_TYPES = [kind for kind in TYPES if kind != "string long"]
GROUPS = {f"{group[0]}...": group for k in range(0, len(LARGE_TYPES), 8)
          if (group := LARGE_TYPES[k:k + 8])}
SAMPLE = sorted({0, 1, 13, 14, 4095, 4096, 499_999, 777_777, 999_998, 999_999})


def large_statement(group, nulls):
    columns = ", ".join(f"CASE WHEN {nulls} THEN NULL ELSE {TYPES[kind][0]} END AS v{number}"
                        for number, kind in enumerate(group))
    return f"SELECT id, {columns} FROM range({MILLION_ROWS})"


def sample_of(text):
    return f"SELECT * FROM ({text}) WHERE id IN ({', '.join(map(str, SAMPLE))}) ORDER BY id"


def assert_same_table(mine, other):
    """Floats by their bits, so that NaN is itself."""
    import pyarrow

    bits = {pyarrow.float32(): pyarrow.int32(), pyarrow.float64(): pyarrow.int64()}
    assert mine.schema.types == other.schema.types and mine.column_names == other.column_names
    for a, b in zip(mine.columns, other.columns):
        if a.type in bits:
            a, b = (column.combine_chunks().view(bits[column.type]) for column in (a, b))
        assert a.equals(b)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("nulls", NULLS)
@pytest.mark.parametrize("group", GROUPS)
def test_a_million_rows_of_every_type(group, nulls, layout, large_pairs):
    """As Arrow the whole table is the connector's. In columns, where the connector takes minutes, rows
    from all over the million are; and they are the same as its own over Arrow."""
    mine, exact = large_pairs[layout]
    text = large_statement(GROUPS[group], NULLS[nulls])
    mine.execute(text)
    exact.execute(text if layout == "arrow" else sample_of(text))
    assert mine.description == exact.description
    if layout == "arrow":
        table = mine.fetchall_arrow()
        assert_same_table(table, exact.fetchall_arrow())
        count = table.num_rows
        mine.execute(sample_of(text))
        got = mine.fetchall()
        exact.execute(sample_of(text))
    else:
        count, got = 0, []
        while rows := mine.fetchmany(100_000):
            assert rows[0].id == count and rows[-1].id == count + len(rows) - 1
            got += [rows[k - count] for k in SAMPLE if count <= k < count + len(rows)]
            count += len(rows)
    wanted = exact.fetchall()
    if layout == "columns" and "float" in GROUPS[group]:
        at = 1 + GROUPS[group].index("float")
        wanted = [(*row[:at], single(row[at]), *row[at + 1:]) for row in wanted]
    assert rows_of(got) == rows_of(wanted)
    assert count == MILLION_ROWS
    for kind in GROUPS[group]:
        covered[kind, nulls, layout, "1,000,000 rows"] += count


# One of each type of SQL's.
ONE_EACH = ["boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal(10,2)",
            "string ascii", "binary", "date", "timestamp", "timestamp_ntz", "void", "array<int>", "map",
            "struct"]


def looks(cursor, size):
    """Description, Arrow schemas and the Python types of each column of so many rows, some of which
    are taken as rows, the others as tables."""
    columns = ", ".join(f"CASE WHEN id % 3 = 1 THEN NULL ELSE {TYPES[kind][0]} END AS v{number}"
                        for number, kind in enumerate(ONE_EACH))
    cursor.execute(f"SELECT id, {columns} FROM range({size})")
    types, schemas, count = collections.defaultdict(set), [], 0
    while rows := cursor.fetchmany(100):
        for row in rows:
            for number, value in enumerate(row):
                types[number].add(type(value))
        table = cursor.fetchmany_arrow(99_900)
        schemas.append(table.schema)
        count += len(rows) + table.num_rows
    assert count == size
    return cursor.description, dict(types), schemas


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_small_result_looks_like_a_large_one(layout, large_pairs):
    mine, _ = large_pairs[layout]
    description, types, (schema,) = looks(mine, 3)
    large_description, large_types, schemas = looks(mine, MILLION_ROWS)
    assert description == large_description
    assert types == large_types and len(types) == len(ONE_EACH) + 1
    assert len(schemas) == 10 and all(schema.equals(s, check_metadata=True) for s in schemas)


@pytest.mark.told
def test_coverage_is_whole():
    """Prints the table (pytest -s); runs after the tests above, and only says what they did."""
    sizes = [*SIZES, "1,000,000 rows"]
    asked = set(itertools.product(TYPES, NULLS, LAYOUTS, sizes))
    asked -= {key for key in asked if key[0] == "string long" and key[3] == "1,000,000 rows"}
    missing = asked - set(covered)
    if len(missing) == len(asked):
        pytest.skip("the comparisons were not run")
    print(f"\nsizes: {', '.join(sizes)}")
    heads = [(layout, nulls) for layout in LAYOUTS for nulls in NULLS]
    print(f"{'rows compared, nulls:':28}", *(f"{layout + ' ' + n:>13}" for layout, n in heads))
    for kind in TYPES:
        counts = [sum(covered[kind, n, layout, s] for s in sizes) for layout, n in heads]
        print(f"{kind:28}", *(f"{count:13,}" for count in counts))
    assert not missing


MILLION = """
SELECT id, cast(id as int) AS i, id / 8.0D AS d, cast(id as decimal(18,2)) AS dec,
       concat('name ', cast(id as string)) AS s, substr('AAUADL', cast(1 + id % 5 as int), 2) AS c,
       cast(date_add(date'2013-01-01', cast(id % 365 as int)) as date) AS day,
       timestamp'2013-01-01 00:00:00' AS t, id % 2 = 0 AS b,
       CASE WHEN id % 7 = 0 THEN NULL ELSE cast(id % 100 as smallint) END AS n
FROM range(1000000)"""


def compare_in_pieces(mine, other, text):
    mine.execute(text)
    other.execute(text)
    assert mine.description == other.description
    total = 0
    while rows := mine.fetchmany(100000):
        assert list(map(tuple, rows)) == list(map(tuple, other.fetchmany(len(rows))))
        total += len(rows)
    assert total == mine.rownumber == 1000000
    assert other.fetchone() is None


def test_a_million_rows(kiln_uri):
    with connect(kiln_uri) as a, connect_other(kiln_uri) as b:
        compare_in_pieces(a.cursor(), b.cursor(), MILLION)


def test_a_million_rows_in_columns(kiln_uri, tmp_path):
    """Every row as over Arrow."""
    kiln = Kiln(tmp_path, "--columns")
    with connect(kiln.uri) as a, connect(kiln_uri) as b:
        compare_in_pieces(a.cursor(), b.cursor(), MILLION.replace("timestamp'", "timestamp_ntz'"))
    kiln.end()


def test_columns_on_request(kiln_uri):
    """Over Arrow the timestamp has the session's zone."""
    text = "SELECT timestamp'2013-01-01 00:00:00' AS t, 1.50 AS n, cast(NULL AS int) AS i"
    with connect(kiln_uri, use_arrow=False) as a, connect(kiln_uri) as b:
        columns, arrow = (c.cursor().execute(text).fetchone() for c in (a, b))
    assert columns.t.tzinfo is None and arrow.t.tzinfo is datetime.timezone.utc
    assert columns.t == arrow.t.replace(tzinfo=None) and columns[1:] == arrow[1:]


# ---- The differences ----


def one(cursor, expression):
    cursor.execute(f"SELECT {expression} AS v")
    return cursor.fetchone()[0]


def test_arrays_are_lists(mine, default):
    mine.execute("SELECT array(1, null) AS v")
    default.execute("SELECT array(1, null) AS v")
    got, other = mine.fetchone().v, default.fetchone().v
    assert got == [1, None] and type(got[0]) is int
    assert type(other).__name__ == "ndarray" and other.dtype == "float64"


def test_nan_stays(mine, default):
    got = one(mine, "cast('NaN' as double)")
    assert got != got
    assert one(default, "cast('NaN' as double)") is None


def test_utc_is_the_standard_librarys(mine, exact):
    text = "timestamp'2013-01-01 00:00:00'"
    got, other = one(mine, text), one(exact, text)
    assert got.tzinfo is datetime.timezone.utc
    assert got == other and str(other.tzinfo) == "Etc/UTC"


def test_a_far_date_loses_no_row(mine, exact):
    import pyarrow
    from mortar import sql

    text = ("SELECT id, CASE WHEN id = 500 THEN make_date(20000, 1, 1) ELSE date'2013-01-01' END AS v "
            "FROM range(1000) ORDER BY id")
    mine.execute(text)
    assert len(mine.fetchmany(100)) == 100
    for fetch in (mine.fetchall, lambda: mine.fetchmany(900), mine.fetchall):
        with pytest.raises(sql.DataError, match="range 1 to 9999"):
            fetch()
        assert mine.rownumber == 100
    assert len(mine.fetchmany(400)) == 400
    with pytest.raises(sql.DataError):
        mine.fetchone()
    rest = mine.fetchall_arrow()
    assert rest.num_rows == 500 and rest["id"][0].as_py() == 500
    assert rest["v"].cast(pyarrow.int32())[0].as_py() == 6585322
    exact.execute(text)
    with pytest.raises(OverflowError):
        exact.fetchall()


def test_floats_are_the_same_in_both_layouts(pairs):
    text = "cast(1 / 7 as float)"
    got = [one(cursor, text) for cursor in (pairs["arrow"][0], *pairs["columns"])]
    assert got[0] == got[1] == single(1 / 7) != got[2]
    assert single(got[2]) == got[0]


def test_each_difference_is_held():
    held = {"floats in columns": test_floats_are_the_same_in_both_layouts,
            "arrays": test_arrays_are_lists, "NaN": test_nan_stays,
            "UTC": test_utc_is_the_standard_librarys, "far dates": test_a_far_date_loses_no_row}
    assert set(held) == set(DIFFERENCES)


# ---- Values that are known without another client ----


@pytest.mark.parametrize(
    "expression, wanted",
    [
        ("cast(-9223372036854775808 as bigint)", -(2**63)),
        ("cast('0.00' as decimal(10,2))", decimal.Decimal("0.00")),
        ("cast('-0.05' as decimal(10,2))", decimal.Decimal("-0.05")),
        ("cast('99999999999999999999999999999999999999' as decimal(38,0))", decimal.Decimal(10**38 - 1)),
        ("cast('-0.0000000001' as decimal(38,10))", decimal.Decimal("-0.0000000001")),
        ("cast('9223372036854775808' as decimal(19,0))", decimal.Decimal(2**63)),
        ("cast('-9223372036854775808' as decimal(19,0))", decimal.Decimal(-(2**63))),
        ("cast('-9223372036854775809' as decimal(19,0))", decimal.Decimal(-(2**63) - 1)),
        ("date'2000-02-29'", datetime.date(2000, 2, 29)),
        ("date'1900-03-01'", datetime.date(1900, 3, 1)),
        ("''", ""),
        ("'a'", "a"),
        ("'1234567'", "1234567"),
        ("'12345678'", "12345678"),
        ("unhex('')", b""),
        ("unhex('0001ff')", b"\x00\x01\xff"),
    ],
)
def test_known_value(mine, expression, wanted):
    assert canonical(one(mine, expression)) == canonical(wanted)


def test_equal_values_in_one_column_stay_apart_from_others(mine):
    """Short texts, dates and decimals are remembered within a column: none may be mistaken."""
    mine.execute("""SELECT * FROM (VALUES ('a', 1.10, date'2013-01-01'), ('b', 1.01, date'2013-01-02'),
        ('a', 1.10, date'2013-01-01'), ('', -1.10, date'1969-12-31'), (concat('a', chr(0)), 0.00, date'1970-01-01'))
        AS t(s, n, d)""")
    values = [(r.s, str(r.n), r.d.isoformat()) for r in mine.fetchall()]
    assert values[:3] == [("a", "1.10", "2013-01-01"), ("b", "1.01", "2013-01-02"),
                          ("a", "1.10", "2013-01-01")]
    assert values[3:] == [("", "-1.10", "1969-12-31"), ("a\0", "0.00", "1970-01-01")]
