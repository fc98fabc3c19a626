"""Nothing is left behind: memory, objects, references, sessions and operations on the server."""

import collections
import gc
import os
import sys
import tracemalloc
import weakref

import pytest

pytest.importorskip("mortar.sql", reason="the extension module is not built")
pytest.importorskip("mortar.kiln._kiln", reason="the extension module is not built")

from mortar import _native, sql  # noqa: E402

from conftest import canned  # noqa: E402
from sql_support import connect, resident_kb, run_python, server_stats, wait_for  # noqa: E402

MIXED = """SELECT id, id / 3.0D AS d, cast(id AS decimal(20,3)) AS dec, concat('n ', cast(id AS string)) AS s,
    date'2013-01-01' AS day, timestamp'2013-01-01 00:00:00' AS t, array(id, null) AS a,
    map('k', id) AS m, named_struct('x', id) AS st, NULL AS n FROM range(20)"""


@pytest.fixture
def connection(kiln_uri):
    with connect(kiln_uri) as made:
        yield made


# What a leak of ours would be made of. The garbage collector does not know rows of plain values:
# the memory that is counted beside this does.
OURS = {"Connection", "Cursor", "Plan", "Row", "Table", "tuple", "RequestError", "ServerOperationError"}


def census():
    gc.collect()
    return collections.Counter(type(o).__name__ for o in gc.get_objects())


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_ten_thousand_statements(connection):
    cursor = connection.cursor()

    def rounds(count):
        for i in range(count):
            cursor.execute("SELECT 1 AS a, 'x' AS b")
            cursor.fetchall()
            if i % 100 == 0:
                cursor.execute(MIXED)
                cursor.fetchmany(7)
                cursor.fetchall_arrow()
            if i % 100 == 50:
                with pytest.raises(sql.Error):
                    cursor.execute("SELECT 1 / 0")

    rounds(1000)
    objects, resident = census(), resident_kb()
    tracemalloc.start()
    before = tracemalloc.take_snapshot()
    rounds(1000)
    gc.collect()
    grown = sum(s.size_diff for s in tracemalloc.take_snapshot().compare_to(before, "filename"))
    tracemalloc.stop()
    rounds(8000)
    assert grown < 50_000, "bytes of Python memory for 1,000 statements"
    assert resident_kb() - resident < 4096
    # Threads of the other connector, left over by other tests, make objects of their own meanwhile.
    more = {name: n for name, n in (census() - objects).items() if name in OURS}
    assert sum(more.values()) < 20, more


# Says its size when it is warm, and then ten times.
STATEMENTS = """
from sql_support import connect, resident_kb

with connect(sys.argv[1]) as connection:
    for number in range(int(sys.argv[2]) + 10_001):
        if number >= 10_000 and (number - 10_000) % (int(sys.argv[2]) // 10) == 0:
            print(resident_kb())
        cursor = connection.cursor()
        cursor.execute("SELECT 1")
        cursor.fetchall()
        cursor.close()
"""


@pytest.mark.told
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.skipif("MORTAR_BUILD" not in os.environ, reason="MORTAR_BUILD is not set")
def test_statements_with_a_cursor_each():
    """In a process of its own, so that 64 bytes for each statement, 3 MB in all, are far above what
    else may move. MORTAR_STATEMENTS=1000000 says how many."""
    count = os.environ.get("MORTAR_STATEMENTS", "50000")
    with canned() as address:
        said = run_python(STATEMENTS, address, count, seconds=3600)
    sizes = [int(size) for size in said.split()]
    print(f"{count} statements, resident KB at every tenth of them: {sizes}")
    assert len(sizes) == 11 and max(sizes) - sizes[0] < 512


def count_references():
    gc.collect()
    kinds = [_native.Connection, _native.Cursor, _native.RowBase, _native.Table, sql.Connection,
             sql.Cursor, sql.Row, sql.ServerOperationError, sql.DataError, sql.ProgrammingError]
    return {str(k): sys.getrefcount(k) for k in [*kinds, None, True, False, "", b""]}


def moved_references(action, times):
    before = count_references()
    for _ in range(times):
        action()
    after = count_references()
    return {k for k in before if abs(after[k] - before[k]) >= times * 3 // 4}


def steady(action, times=300):
    """Runs action; the reference counts of types and singletons must not move with it.

    What leaks does so every time. Threads of the other connector that other tests left behind hold
    None now and then, so only a count that moves twice is ours.
    """
    for _ in range(5):
        action()
    moved = moved_references(action, times)
    assert not moved or not moved & moved_references(action, times), moved


def test_references_of_rows(connection):
    cursor = connection.cursor()

    def action():
        cursor.execute(MIXED)
        row = cursor.fetchone()
        repr(row), row.asDict(recursive=True), row["id"], row.d, hash(row[:5]), "id" in row
        with pytest.raises(AttributeError):
            row.no_such
        with pytest.raises(ValueError):
            row["no such"]
        with pytest.raises(RuntimeError):
            row.id = 1
        list(cursor)

    steady(action, 60)


def test_references_of_failures(connection):
    cursor = connection.cursor()

    def action():
        for text in ("SELECT 1 / 0", b"no str", "SELECT '\ud800'"):
            with pytest.raises(sql.Error):
                cursor.execute(text)
        with pytest.raises(sql.ProgrammingError):
            cursor.fetchone()
        for given in ([object()], "ab", ["\ud800"], [[1, "\ud800"]], {"": 1}):
            with pytest.raises(sql.Error):
                cursor.execute("SELECT 1", given)
        with pytest.raises(TypeError):
            cursor.execute()
        with pytest.raises(TypeError):
            cursor.fetchmany("x")
        cursor.execute("SELECT 1 AS a, make_date(20000, 1, 1) AS b FROM range(3)")
        for fetch in (cursor.fetchone, cursor.fetchall, cursor.fetchmany):
            with pytest.raises(sql.DataError):
                fetch()

    steady(action, 60)


def test_references_of_parameters(connection):
    cursor = connection.cursor()

    def action():
        cursor.execute("SELECT ? AS a, ? AS b, ? AS c", [None, "", {"k": [True, None]}])
        cursor.execute("SELECT :a AS a, :b AS b", {"a": True, "b": ""})
        cursor.execute("SELECT 1 AS a", {})

    steady(action, 60)


def test_references_of_cursors_and_tables(connection):
    def action():
        cursor = connection.cursor()
        cursor.execute(MIXED)
        cursor._take_arrow(3)
        cursor._take_arrow(None).__arrow_c_stream__()
        with connection.cursor() as other:
            other.execute("SELECT 1")
        with pytest.raises(sql.ProgrammingError):
            connection.cursor("x")

    steady(action, 60)


def test_references_of_connections(kiln_uri):
    def action():
        with connect(kiln_uri) as connection:
            connection.cursor().execute("SELECT 1")
        with pytest.raises(sql.ProgrammingError):
            connect(kiln_uri, page_rows="many")

    steady(action, 30)


def test_a_dropped_cursor_closes_its_operation(connection, kiln_uri):
    small = connect(kiln_uri, page_rows=100)
    open_before = server_stats(kiln_uri)["operations_open"]
    cursor = small.cursor()
    cursor.execute("SELECT id FROM range(100000)")
    cursor.fetchone()
    assert server_stats(kiln_uri)["operations_open"] == open_before + 1
    seen = weakref.ref(cursor)
    del cursor
    assert seen() is None  # no cycle: gone at once
    wait_for(lambda: server_stats(kiln_uri)["operations_open"] == open_before)
    small.close()


def test_a_dropped_connection_closes_its_session(kiln_uri):
    before = server_stats(kiln_uri)
    connection = connect(kiln_uri)
    cursor = connection.cursor().execute("SELECT 1")
    seen = weakref.ref(connection)
    del connection
    assert seen() is not None  # the cursor holds it
    del cursor
    assert seen() is None
    after = server_stats(kiln_uri)
    assert after["sessions_open"] == before["sessions_open"]
    assert after["exchanges"]["CloseSession"] == before["exchanges"]["CloseSession"] + 1


def test_cycles_are_collected(kiln_uri):
    before = server_stats(kiln_uri)["sessions_open"]
    connection = connect(kiln_uri)
    connection.cursor_of_mine = connection.cursor()
    connection.cursor_of_mine.me = connection.cursor_of_mine
    connection.cursor_of_mine.execute(MIXED).fetchone()
    seen = weakref.ref(connection)
    del connection
    gc.collect()
    assert seen() is None
    assert server_stats(kiln_uri)["sessions_open"] == before


def test_rows_with_containers_in_cycles_are_collected(connection):
    row = connection.cursor().execute("SELECT array(1) AS a").fetchone()
    kind = weakref.ref(type(row))
    row.a.append(row)
    assert gc.is_tracked(row)
    del row
    gc.collect()
    plain = connection.cursor().execute("SELECT 1 AS a, 'x' AS b").fetchone()
    assert not gc.is_tracked(plain)  # the collector has nothing to do with it
    assert kind() is not None  # the connection keeps the class for the next result of the shape


def test_a_row_outlives_all(kiln_uri):
    connection = connect(kiln_uri)
    row = connection.cursor().execute(MIXED).fetchone()
    table = connection.cursor().execute(MIXED)._take_arrow(5)
    connection.close()
    del connection
    gc.collect()
    assert row.a == [0, None] and row.asDict()["st"] == {"x": 0}
    assert table.num_rows == len(table) == 5


def test_a_finalizer_that_meddles(connection):
    """A subclass that uses the cursor while it is taken apart, and one that brings it back."""
    saved = []

    class Meddling(sql.Cursor):
        def __del__(self):
            self.connection.cursor().execute("SELECT 1").fetchall()
            saved.append(self)

    cursor = Meddling(connection)
    cursor.execute("SELECT 1 AS a")
    del cursor
    gc.collect()
    back = saved.pop()
    assert back.connection is connection
    back.close()
    with pytest.raises(sql.InterfaceError):
        back.fetchone()


def test_more_shapes_than_a_connection_keeps(connection):
    cursor = connection.cursor()
    first = cursor.execute("SELECT 0 AS c0").fetchall()
    for i in range(300):
        assert getattr(cursor.execute(f"SELECT {i} AS c{i}").fetchone(), f"c{i}") == i
    assert cursor.execute("SELECT 0 AS c0").fetchall() == first
