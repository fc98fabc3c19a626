"""Old servers: Kilns that answer old protocol versions, Hive's and Databricks'.

What comes from them must be what the newest Kiln sends as Thrift columns, if the protocol has no Arrow
with native types (before SPARK_V5), else what it sends as Arrow. The unmodified connector, which reads
SPARK_V2 and later, must read the same."""

import pytest

pytest.importorskip("mortar.sql", reason="the extension module is not built")
pytest.importorskip("mortar.kiln._kiln", reason="the extension module is not built")
pa = pytest.importorskip("pyarrow")

from mortar import sql  # noqa: E402

from sql_support import Kiln, connect, connect_other, rows_of  # noqa: E402

ROWS = 1000
# Every type, a null in every third row, and names that are taken twice or are no names in Python.
COLUMNS = {
    "id": "id", "b": "id % 2 = 0", "i8": "cast(id % 100 AS tinyint)", "i16": "cast(id AS smallint)",
    "i32": "cast(id AS int)", "f": "cast(id AS float) / 8", "d": "cast(id AS double) / 7",
    "dec": "cast(id AS decimal(20,3))", "s": "concat('n ', id)", "bin": "unhex('00ff')",
    "day": "date'2013-01-01'", "t": "timestamp'2013-01-01 05:06:07.5'", "a": "array(id, null)",
    "m": "map('k', id)", "st": "named_struct('x', id)", "v": "NULL", "s ": "'blank'", "S": "'upper'",
    "count": "1", "index": "2", "class": "3", "\u00fc": "4",
}
QUERY = "SELECT {}, 5 AS s, 6 AS `count` FROM range({}) ORDER BY 1".format(
    ", ".join(f"CASE WHEN id % 3 = 1 AND '{name}' <> 'id' THEN NULL ELSE {value} END AS `{name}`"
              for name, value in COLUMNS.items()), ROWS)
VERSIONS = ["HIVE_V5", "HIVE_V6", "SPARK_V1", "SPARK_V4", "SPARK_V7"]


def answer(connection):
    """Description, rows and table of the query, and what is left of a statement without rows."""
    with connection.cursor() as cursor:
        rows = rows_of(cursor.execute(QUERY).fetchall())
        description = cursor.description
        table = cursor.execute(QUERY).fetchall_arrow()
        cursor.execute("SELECT * FROM range(3) WHERE id < 0")
        assert cursor.description[0][:2] == ("id", "bigint") and cursor.fetchall() == []
        cursor.execute("CREATE OR REPLACE TEMPORARY VIEW w AS SELECT 1 AS one")
        assert cursor.fetchall() == []
        assert [tuple(row) for row in cursor.execute("SELECT * FROM w").fetchall()] == [(1,)]
    table.validate(full=True)
    return description, rows, table.schema, table.combine_chunks().to_batches()


@pytest.fixture(scope="module")
def wanted(kiln_uri):
    """What the newest server answers: as columns, as Arrow."""
    answers = []
    for arrow in (False, True):
        with connect(kiln_uri, use_arrow=arrow) as connection:
            answers.append(answer(connection))
    assert len(answers[0][1]) == ROWS
    return answers


@pytest.mark.parametrize("version", VERSIONS)
def test_old_server(version, wanted, tmp_path):
    family, number = version.split("_V")
    has = (lambda n: family == "SPARK" and int(number) >= n)
    kiln = Kiln(tmp_path, "--protocol", version, "--batch-rows", "100", "--page-batches", "3")
    try:
        with connect(kiln.uri) as connection:
            description, rows, schema, batches = answer(connection)
            cursor = connection.cursor()
            if has(8):
                assert cursor.execute("SELECT ?", [1]).fetchone()[0] == 1
            else:
                with pytest.raises(sql.NotSupportedError, match="has no parameters"):
                    cursor.execute("SELECT ?", [1])
            assert [row.TABLE_CAT for row in cursor.catalogs().fetchall()]
        if version == "SPARK_V4":
            pytest.importorskip("databricks.sql")
            first = QUERY.replace(f"range({ROWS})", "range(200)")  # it takes no page without metadata
            with connect(kiln.uri) as a, connect_other(kiln.uri, _disable_pandas=True) as b:
                mine, other = (c.cursor() for c in (a, b))
                assert mine.execute(first).description == other.execute(first).description
                assert rows_of(mine.fetchall()) == rows_of(other.fetchall())
        if has(4):
            connect(kiln.uri, catalog="main", schema="default").close()
        elif family == "SPARK":
            with pytest.raises(sql.NotSupportedError, match="opens no session in a schema"):
                connect(kiln.uri, schema="default")
        else:
            connect(kiln.uri, schema="default").close()
            with pytest.raises(sql.DatabaseError, match="nowhere"):
                connect(kiln.uri, schema="nowhere")
    finally:
        kiln.end()
    expect = wanted[1 if has(5) else 0]
    assert description == expect[0]
    assert rows == expect[1]
    assert schema.equals(expect[2])
    assert pa.Table.from_batches(batches).equals(pa.Table.from_batches(expect[3]))
