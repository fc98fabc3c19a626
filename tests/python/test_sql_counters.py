"""What makes small statements fast, by connection.stats() and by what the types say of themselves:
no second system call, no second turn of the interpreter's lock, nothing derived twice.

Against kiln-canned, whose replies are whole; nothing here measures a time.
"""

import ctypes
import gc
import os

import pytest

pytest.importorskip("mortar.sql", reason="the extension module is not built")
if "MORTAR_BUILD" not in os.environ:
    pytest.skip("MORTAR_BUILD is not set", allow_module_level=True)

from conftest import canned  # noqa: E402
from sql_support import connect  # noqa: E402

ONE, MANY, MIXED = "SELECT 1", "SELECT * FROM rows_1000", "SELECT * FROM mixed"
BATCHES = [1, 2, 72]


@pytest.fixture(scope="module", params=BATCHES)
def batches(request):
    """How many batches the reply to MANY has, and a connection to a server that sends it."""
    with canned("--batches", str(request.param)) as address, connect(address) as connection:
        yield request.param, connection


@pytest.fixture
def connection():
    with canned() as address, connect(address) as made:
        yield made


def counted(connection, action, times=1):
    """What the counters of the connection went up by, those of the first time left out."""
    action()
    before = connection.stats()
    for _ in range(times):
        action()
    return {name: value - before[name] for name, value in connection.stats().items()}


def nonzero(counters):
    return {name: value for name, value in counters.items() if value}


# ---- System calls -----------------------------------------------------------------------------


def test_a_statement_of_one_row(connection):
    cursor = connection.cursor()
    per_statement = ("statements", "exchanges", "probes", "writes", "waits", "reads",
                     "batches_decoded", "lock_releases")
    moved = counted(connection, lambda: cursor.execute(ONE).fetchall(), 100)
    assert nonzero(moved) == dict.fromkeys(per_statement, 100)


# ---- The interpreter's lock -------------------------------------------------------------------


def one_by_one(cursor):
    rows = []
    while row := cursor.fetchone():
        rows.append(row)
    return rows


def by_hundreds(cursor):
    rows = []
    while some := cursor.fetchmany(100):
        rows += some
    return rows


FETCHES = {
    "fetchall": lambda cursor: cursor.fetchall(),
    "fetchone": one_by_one,
    "fetchmany": by_hundreds,
    "iteration": list,
    "arrow": lambda cursor: cursor._take_arrow(None),
    "nothing": lambda cursor: range(1000),
}


@pytest.mark.parametrize("fetch", FETCHES)
def test_the_lock_is_let_go_once_for_a_statement(batches, fetch):
    count, connection = batches
    cursor = connection.cursor()

    def action():
        assert len(FETCHES[fetch](cursor.execute(MANY))) == 1000

    moved = counted(connection, action, 3)
    assert moved["lock_releases"] == moved["exchanges"] == moved["writes"] == 3
    assert moved["batches_decoded"] == 3 * count
    assert moved["batches_joined"] == (3 * count if fetch == "arrow" and count > 1 else 0)


# ---- Calls ------------------------------------------------------------------------------------

METH_VARARGS = 0x0001


@pytest.mark.parametrize("name", ["cursor", "close", "execute", "fetchone", "fetchmany", "fetchall",
                                  "_take_arrow", "_submit", "__enter__", "__exit__"])
def test_a_call_makes_no_tuple_of_its_arguments(connection, name):
    """The interpreter hands them over as they lie. That C code calls out in the same way,
    scripts/check_banned.py sees to."""
    methods = [getattr(o, name) for o in (connection, connection.cursor()) if hasattr(o, name)]
    for method in methods:
        flags = ctypes.pythonapi.PyCFunction_GetFlags(ctypes.py_object(method))
        assert flags != -1 and not flags & METH_VARARGS
    assert methods


# ---- Plans ------------------------------------------------------------------------------------


def test_a_plan_is_derived_once(connection):
    cursor, start = connection.cursor(), connection.stats()
    assert start["plans_derived"] == start["schemas_derived"] == 0
    for _ in range(3):
        cursor.execute(ONE)
        connection.cursor().execute(ONE).fetchall()
    assert connection.stats()["plans_derived"] == connection.stats()["schemas_derived"] == 1
    cursor.execute(MIXED)
    assert connection.stats()["plans_derived"] == connection.stats()["schemas_derived"] == 2


def test_shapes_in_turn_are_derived_once_each(connection):
    cursor, kinds = connection.cursor(), set()
    for _ in range(5):
        for text in (ONE, MIXED, MANY):
            kinds.add(type(cursor.execute(text).fetchone()))
    assert connection.stats()["plans_derived"] == connection.stats()["schemas_derived"] == 3
    assert len(kinds) == 3


def plans():
    return sum(type(o).__name__ == "Plan" for o in gc.get_objects())


def test_plans_are_kept_within_a_bound(kiln_uri):
    gc.collect()
    before, most = plans(), 0
    with connect(kiln_uri) as connection:
        cursor = connection.cursor()
        for i in range(600):
            cursor.execute(f"SELECT {i} AS c{i}")
            most = max(most, plans() - before) if i % 50 == 0 else most
        assert connection.stats()["plans_derived"] == 600
        assert 32 < most <= 65  # the cursor may have one more than the connection
    del connection, cursor
    gc.collect()
    assert plans() <= before
