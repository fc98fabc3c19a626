"""Threads, signals, forks: who waits, who may go on, and who is told what."""

import os
import sys
import threading

import pytest

pytest.importorskip("mortar.sql", reason="the extension module is not built")
pytest.importorskip("mortar.kiln._kiln", reason="the extension module is not built")

from mortar import sql  # noqa: E402

from sql_support import SLOW, Background, Kiln, connect, run_python, server_stats, wait_for  # noqa: E402


@pytest.fixture
def connection(kiln_uri):
    with connect(kiln_uri) as made:
        yield made


def is_busy(cursor):
    """Whether another thread is in a call on this cursor."""
    try:
        cursor.fetchone()
    except sql.ProgrammingError as error:
        return "another thread" in str(error)
    return False


def wait_until_busy(cursor):
    wait_for(lambda: is_busy(cursor))


def test_one_cursor_two_threads_and_cancel(connection):
    cursor = connection.cursor()
    running = Background(lambda: cursor.execute(SLOW))
    wait_until_busy(cursor)
    for call in (lambda: cursor.execute("SELECT 1"), cursor.fetchall, cursor.fetchall_arrow):
        with pytest.raises(sql.ProgrammingError, match="another thread is using this cursor"):
            call()
    cursor.cancel()
    with pytest.raises(sql.OperationalError) as caught:
        running.result()
    assert caught.value.status == "CANCELED" and caught.value.sqlstate == "57014"
    assert cursor.execute("SELECT 1").fetchall() == [(1,)]


@pytest.mark.parametrize("what", ["cursor", "connection"])
def test_close_during_a_call(kiln_uri, what):
    connection = connect(kiln_uri)
    cursor = connection.cursor()
    running = Background(lambda: cursor.execute(SLOW))
    wait_until_busy(cursor)
    (cursor if what == "cursor" else connection).close()
    assert not cursor.open
    with pytest.raises(sql.Error) as caught:
        running.result()
    # An InterfaceError when the close came before the statement was sent.
    if isinstance(caught.value, sql.OperationalError):
        assert caught.value.status == "INTERRUPTED"
        assert "closed by another thread" in str(caught.value)
    assert (cursor.query_id, cursor.description, cursor.rowcount) == (None, None, -1)
    with pytest.raises(sql.InterfaceError):
        cursor.fetchone()
    connection.close()


def test_two_statements_on_one_session(connection):
    """While one waits others run: on a connection of their own, with the interpreter's lock."""
    slow = connection.cursor()
    running = Background(lambda: slow.execute(SLOW))
    wait_until_busy(slow)
    quick = connection.cursor()
    for i in range(20):
        assert quick.execute(f"SELECT {i}").fetchone() == (i,)
    assert running.is_alive()
    slow.cancel()
    with pytest.raises(sql.OperationalError):
        running.result()


def test_many_threads_on_one_connection(connection):
    def work(k):
        cursor = connection.cursor()
        for i in range(50):
            cursor.execute(f"SELECT {k} AS k, id FROM range({i % 7})")
            assert cursor.fetchall() == [(k, j) for j in range(i % 7)]
        return True

    assert all([t.result() for t in [Background(lambda k=k: work(k)) for k in range(8)]])


def test_python_runs_while_a_call_waits(connection):
    cursor = connection.cursor()
    running = Background(lambda: cursor.execute(SLOW))
    wait_until_busy(cursor)
    assert sum(range(1000000)) and running.is_alive()
    cursor.cancel()
    with pytest.raises(sql.OperationalError):
        running.result()


def test_python_runs_while_rows_are_made(connection):
    """fetchall of many rows that are all here lets others have the lock every few milliseconds."""
    cursor = connection.cursor()
    assert cursor.execute("SELECT id FROM range(400000)").fetchone() == (0,)
    seen, done = set(), threading.Event()

    def watch():
        while not done.is_set():
            seen.add(cursor.rownumber)

    before, interval = connection.stats(), sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # who waits asks for the lock so soon: more often than it is offered
    try:
        watcher = Background(watch)
        rows = cursor.fetchall()
    finally:
        done.set()
        sys.setswitchinterval(interval)
    watcher.result()
    after = connection.stats()
    assert len(rows) == 399999 and after["exchanges"] == before["exchanges"]
    assert after["lock_releases"] - before["lock_releases"] == 399999 // 4096
    assert len(seen - {1, 400000}) >= 3, "nobody else ran meanwhile"


INTERRUPTED = """
import os, signal
from sql_support import SLOW, Background, connect, server_stats, wait_for

uri, until = sys.argv[1:]

def count(call):
    return server_stats(uri)["exchanges"][call]

def strike():
    wait_for(lambda: count(until) > before[until])
    os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job begins without it
before = server_stats(uri)["exchanges"]
with connect(uri) as connection, connection.cursor() as cursor:
    Background(strike)
    try:
        cursor.execute(SLOW)
    except KeyboardInterrupt:
        print("polls", count("GetOperationStatus") - before["GetOperationStatus"])
    print("next", cursor.execute("SELECT 1").fetchall())
    wait_for(lambda: count("CancelOperation") > before["CancelOperation"])
print("cancels", count("CancelOperation") - before["CancelOperation"])
"""


def test_ctrl_c_ends_the_wait_at_once(kiln_uri):
    """Before the server has named the statement, and so can be asked about it: the caller is free,
    and it is cancelled later."""
    said = run_python(INTERRUPTED, kiln_uri, "ExecuteStatement")
    assert said.splitlines() == ["polls 0", "next [Row(1=1)]", "cancels 1"]


def test_ctrl_c_cancels_on_the_server(kiln_uri):
    said = run_python(INTERRUPTED, kiln_uri, "GetOperationStatus").splitlines()
    assert said[0].startswith("polls ") and said[0] != "polls 0"
    assert said[1:] == ["next [Row(1=1)]", "cancels 1"]


INTERRUPTED_FETCH = """
import os, signal
from mortar import sql
from sql_support import Background, connect, server_stats, set_faults, wait_for

uri = sys.argv[1]

def strike():
    wait_for(lambda: server_stats(uri)["calls"]["FetchResults"]["faults"] == 1)
    os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
with connect(uri, page_rows=1000) as connection, connection.cursor() as cursor:
    cursor.execute("SELECT id FROM range(5000)")
    print(cursor.fetchmany(900)[-1])
    set_faults(uri, {"call": "FetchResults", "when": "before", "hang": True})
    Background(strike)
    try:
        FETCH
    except KeyboardInterrupt:
        print("interrupted", cursor.rownumber)
    try:
        print(cursor.fetchmany(1000 - cursor.rownumber)[-1:])  # what had arrived
        cursor.fetchone()
    except sql.Error as error:
        print(error.status)
    wait_for(lambda: server_stats(uri)["operations_open"] == 0)
    print("next", cursor.execute("SELECT 1").fetchall())
"""


@pytest.mark.parametrize("fetch", ["cursor.fetchall()", "cursor.fetchall_arrow()",
                                   "cursor.fetchmany(200)", "list(cursor)"])
def test_ctrl_c_ends_a_fetch(tmp_path, fetch):
    """The statement is closed on the server, in the background; the session lives on. No row is lost
    unheard, but those that iteration had given out."""
    server = Kiln(tmp_path, "--faults", "on")
    said = run_python(INTERRUPTED_FETCH.replace("FETCH", fetch), server.uri).splitlines()
    server.end()
    given = 1000 if "list" in fetch else 900
    assert said[:2] == ["Row(id=899)", f"interrupted {given}"]
    left = "[]" if given == 1000 else "[Row(id=999)]"
    assert said[2:] == [left, "INTERRUPTED", "next [Row(1=1)]"]


def test_a_handler_that_does_not_raise_lets_the_wait_go_on(kiln_uri):
    """It runs while the statement does, which ends when it is told to, and not before."""
    said = run_python("""
import os, signal
from mortar import sql
from sql_support import SLOW, Background, connect, server_stats, wait_for

def run_handler_then_cancel():
    wait_for(lambda: server_stats(uri)["exchanges"]["ExecuteStatement"] > before)
    os.kill(os.getpid(), signal.SIGUSR1)
    wait_for(lambda: seen)
    cursor.cancel()

uri, seen = sys.argv[1], []
signal.signal(signal.SIGUSR1, lambda *_: seen.append(1))
before = server_stats(uri)["exchanges"]["ExecuteStatement"]
with connect(uri) as connection, connection.cursor() as cursor:
    other = Background(run_handler_then_cancel)
    try:
        cursor.execute(SLOW)
    except sql.Error as error:
        print(error.status, seen)
    other.result()
""", kiln_uri)
    assert said == "CANCELED [1]\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_after_a_fork(kiln_uri):
    """The child is told that the connection is not its own, and can make one; the parent's goes on
    and its session is still open, also after the child has dropped the copy."""
    code = """
import gc, logging, os
from mortar import sql
from sql_support import connect

def is_refused(call):
    try:
        call()
    except sql.Error as error:
        return isinstance(error, sql.InterfaceError) and "parent process" in str(error)

class Said(logging.Handler):
    def emit(self, record):
        said.append(record.session_id)

said = []
logging.getLogger("mortar.sql").addHandler(Said())
logging.getLogger("mortar.sql").setLevel(logging.DEBUG)
connection = connect(sys.argv[1], page_rows=3)
session = connection.get_session_id_hex()
cursor, fresh = connection.cursor(), connection.cursor()
cursor.execute("SELECT id FROM range(6)")
table = cursor.fetchmany_arrow(1)
assert cursor.fetchone() == (1,)  # the third has been received
connection.cursor().execute("SELECT id FROM range(6)")  # dropped: its end waits for being logged
said.clear()
calls = [
    lambda: cursor.execute("SELECT 1"), lambda: cursor.executemany("SELECT 1", [()]),
    cursor.fetchone, cursor.fetchmany, cursor.fetchall, lambda: next(cursor),
    cursor.fetchall_arrow, lambda: cursor.fetchmany_arrow(1), cursor.cancel,
    lambda: fresh.execute("SELECT 1"), fresh.fetchone,
    lambda: next(fresh), fresh.cancel,
    connection.cursor, connection.stats, lambda: connection.autocommit,
    connection.get_transaction_isolation,
    lambda: connection.set_transaction_isolation("REPEATABLE_READ"),
]
child = os.fork()
if child == 0:
    print("taken:", [i for i, call in enumerate(calls) if not is_refused(call)], flush=True)
    assert len(table) == 1  # what was handed out is the program's own
    with connect(sys.argv[1]) as own:
        assert own.cursor().execute("SELECT 2").fetchall() == [(2,)]
    fresh.close()
    connection.close()
    del connection, cursor, fresh, calls
    gc.collect()
    assert said and session not in said, said
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
assert len(cursor.fetchall()) == 4 and session in said
assert cursor.execute("SELECT 3").fetchall() == [(3,)]
connection.close()
print("fine")
"""
    before = server_stats(kiln_uri)["exchanges"]
    assert run_python(code, kiln_uri) == "taken: []\nfine\n"
    after = server_stats(kiln_uri)["exchanges"]
    assert after["OpenSession"] - before["OpenSession"] == 2
    assert after["CloseSession"] - before["CloseSession"] == 2
