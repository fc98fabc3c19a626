"""Arrow out of a cursor: as pyarrow tables, as tables of our own for any library, mixed with rows."""

import subprocess
import sys

import pytest

pytest.importorskip("mortar.sql", reason="the extension module is not built")
pytest.importorskip("mortar.kiln._kiln", reason="the extension module is not built")
pa = pytest.importorskip("pyarrow")

from mortar import sql  # noqa: E402

from conftest import ROOT  # noqa: E402
from sql_support import Kiln, connect, connect_other, rows_of  # noqa: E402

ROWS = 20000  # five batches of Kiln's
MIXED = f"""SELECT id, cast(id AS decimal(20,3)) AS dec, concat('n ', cast(id AS string)) AS s,
    CASE WHEN id % 3 = 0 THEN NULL ELSE id / 7.0D END AS d, date'2013-01-01' AS day,
    timestamp'2013-01-01 00:00:00' AS t, array(id, null) AS a, map('k', id) AS m,
    named_struct('x', id, 'y', 'z') AS st, id % 2 = 0 AS b FROM range({ROWS}) ORDER BY id"""


@pytest.fixture
def cursor(kiln_uri):
    with connect(kiln_uri) as connection, connection.cursor() as made:
        yield made


def test_same_table_as_the_connector(cursor, kiln_uri):
    pytest.importorskip("databricks.sql")
    mine = cursor.execute(MIXED).fetchall_arrow()
    mine.validate(full=True)
    with connect_other(kiln_uri) as connection, connection.cursor() as other:
        other.execute(MIXED)
        theirs = other.fetchall_arrow()
    assert mine.schema.types == theirs.schema.types and mine.column_names == theirs.column_names
    assert mine.equals(theirs)


def test_small_batches_come_joined(cursor, tmp_path):
    """Every type at once; what is already handed out as rows is not in the table."""
    whole = cursor.execute(MIXED).fetchall_arrow()
    kiln = Kiln(tmp_path, "--batch-rows", "13")
    with connect(kiln.uri) as connection:
        small = connection.cursor()
        table = small.execute(MIXED).fetchall_arrow()
        table.validate(full=True)
        assert table.equals(whole) and table["id"].num_chunks < 10  # of 1539
        head = small.execute(MIXED).fetchmany(20)
        rest = small.fetchall_arrow()
        rest.validate(full=True)
        assert len(head) == 20 and rest.equals(whole.slice(20))
        assert rest["id"].num_chunks < ROWS // 13
        third = small.execute(MIXED).fetchmany_arrow(ROWS // 3)
        assert third.equals(whole.slice(0, ROWS // 3))
    kiln.end()


def test_rows_and_tables_share_one_position(cursor):
    cursor.execute(MIXED)
    whole = cursor.fetchall_arrow()
    cursor.execute(MIXED)
    parts = [cursor.fetchmany_arrow(1), cursor.fetchmany_arrow(0), cursor.fetchmany_arrow(5000)]
    assert cursor.rownumber == 5001
    rows = [cursor.fetchone(), *cursor.fetchmany(4999)]
    parts += [cursor.fetchmany_arrow(ROWS)]
    assert [p.num_rows for p in parts] == [1, 0, 5000, ROWS - 10001]
    for part in parts:
        part.validate(full=True)
    assert pa.concat_tables([*parts[:3], whole.slice(5001, 5000), parts[3]]).equals(whole)
    assert [r.id for r in rows] == list(range(5001, 10001))
    assert rows_of(rows[:3]) == rows_of([tuple(r.values()) for r in whole.slice(5001, 3).to_pylist()])
    assert cursor.fetchmany_arrow(3).num_rows == 0 == cursor.fetchall_arrow().num_rows
    assert cursor.fetchone() is None and cursor.fetchall() == []
    assert cursor.rownumber == ROWS


def test_parts_live_on_in_any_order(cursor):
    """Windows of one batch share it; each may go first."""
    cursor.execute("SELECT id FROM range(100) ORDER BY id")
    parts = [cursor.fetchmany_arrow(30) for _ in range(3)]
    last = cursor.fetchall_arrow()
    cursor.execute("SELECT 1")
    first = parts.pop(0)
    column = first["id"]
    del first, parts[0]
    assert column.to_pylist() == list(range(30))
    assert parts[0]["id"].to_pylist() == list(range(60, 90))
    del parts
    assert last["id"].to_pylist() == list(range(90, 100))


def test_no_rows_have_a_schema(cursor):
    table = cursor.execute(MIXED.replace("ORDER BY", "WHERE id < 0 ORDER BY")).fetchall_arrow()
    assert table.num_rows == 0 and table.schema.field("dec").type == pa.decimal128(20, 3)


def test_equal_names(cursor):
    table = cursor.execute("SELECT 1 AS a, 2 AS a").fetchall_arrow()
    assert table.column_names == ["a", "a"] and table.column(1).to_pylist() == [2]


def test_a_table_hands_its_rows_over_once(cursor):
    table = cursor.execute("SELECT id FROM range(5)")._take_arrow(None)
    assert isinstance(table, sql.Table)
    assert (len(table), table.num_rows) == (5, 5)
    capsule = table.__arrow_c_stream__()
    with pytest.raises(sql.InterfaceError, match="handed over already"):
        table.__arrow_c_stream__()
    del table
    reader = pa.RecordBatchReader._import_from_c_capsule(capsule)
    assert reader.read_all().num_rows == 5


def test_without_pyarrow(kiln_uri):
    """fetchall_arrow gives a Table then; rows need neither pyarrow nor numpy."""
    code = """
import sys
sys.modules["pyarrow"] = None  # as if it were not installed
sys.path[:0] = [{tests!r}]
from mortar import sql
from sql_support import connect

with connect(sys.argv[1]) as connection, connection.cursor() as cursor:
    cursor.execute("SELECT id, array(id) AS a FROM range(10) ORDER BY id")
    assert cursor.fetchmany(2)[1].a == [1]
    table = cursor.fetchmany_arrow(5)
    assert type(table) is sql.Table and len(table) == 5 and hasattr(table, "__arrow_c_stream__")
    assert len(cursor.fetchall_arrow()) == 3
print(*sorted(m for m in sys.modules if m in ("numpy", "pandas")))
""".format(tests=str(ROOT / "tests" / "python"))
    done = subprocess.run([sys.executable, "-c", code, kiln_uri], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stdout) == (0, "\n"), done.stderr


def test_batches_outlive_the_connection(kiln_uri):
    connection = connect(kiln_uri)
    table = connection.cursor().execute(MIXED).fetchall_arrow()
    connection.close()
    del connection
    table.validate(full=True)
    assert table["id"][ROWS - 1].as_py() == ROWS - 1
