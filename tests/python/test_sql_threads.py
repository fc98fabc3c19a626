"""Threads, signals, forks: who waits, who may go on, and who is told what."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

pytest.importorskip("mortar.sql", reason="the extension module is not built")
pytest.importorskip("mortar.kiln._kiln", reason="the extension module is not built")

from mortar import sql  # noqa: E402

from conftest import ROOT  # noqa: E402
from sql_support import SLOW, Background, connect, server_stats, wait_for  # noqa: E402

NAMED_AFTER = 6.5  # seconds; until then the server has not said how the statement is called


@pytest.fixture
def connection(kiln_uri):
    with connect(kiln_uri) as made:
        yield made


def wait_until_busy(cursor):
    """Until another thread is in a call on this cursor."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            cursor.fetchone()
        except sql.ProgrammingError as error:
            if "another thread" in str(error):
                return
        time.sleep(0.01)
    pytest.fail("the cursor never was busy")


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
    with pytest.raises(sql.Error):
        running.result()
    assert (cursor.query_id, cursor.description, cursor.rowcount) == (None, None, -1)
    with pytest.raises(sql.InterfaceError):
        cursor.fetchone()
    connection.close()


def test_two_statements_on_one_session(connection):
    """While one waits another runs: on a connection of its own, with the interpreter's lock."""
    slow = connection.cursor()
    running = Background(lambda: slow.execute(SLOW))
    wait_until_busy(slow)
    quick = connection.cursor()
    begun = time.monotonic()
    for i in range(20):
        assert quick.execute(f"SELECT {i}").fetchone() == (i,)
    assert time.monotonic() - begun < 3 and running.is_alive()
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
    count, until = 0, time.monotonic() + 0.3
    while time.monotonic() < until:
        count += 1
    assert count > 10000 and running.is_alive()
    cursor.cancel()
    with pytest.raises(sql.OperationalError):
        running.result()


def test_python_runs_while_rows_are_made(connection):
    """fetchall of many rows lets others have the lock every few milliseconds."""
    cursor = connection.cursor()
    cursor.execute("SELECT id, concat('name ', cast(id as string)) AS s FROM range(400000)")
    assert cursor.fetchone()[0] is not None
    pauses, done = [], threading.Event()

    def watch():
        last = time.monotonic()
        while not done.is_set():
            now = time.monotonic()
            pauses.append(now - last)
            last = now

    watcher = Background(watch)
    rows = cursor.fetchall()
    done.set()
    watcher.result()
    assert len(rows) == 399999
    assert len(pauses) > 100 and max(pauses) < 0.2


def test_a_one_row_statement_lets_the_lock_go_once(connection):
    cursor = connection.cursor()
    cursor.execute("SELECT 1").fetchall()
    before = connection.stats()
    for _ in range(10):
        cursor.execute("SELECT 1")
        cursor.fetchall()
    after = connection.stats()
    assert after["lock_releases"] - before["lock_releases"] == 10
    assert after["exchanges"] - before["exchanges"] == 10
    assert after["schemas_derived"] == before["schemas_derived"]


INTERRUPTED = """
import os, signal, sys, threading, time
sys.path[:0] = [{tests!r}]
from sql_support import SLOW, Background, connect, server_stats, wait_for

signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job begins without it
uri, delay, text = sys.argv[1], float(sys.argv[2]), sys.argv[3]
with connect(uri) as connection, connection.cursor() as cursor:
    cancelled = server_stats(uri)["exchanges"]["CancelOperation"]
    at = []
    def strike():
        at.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)
    threading.Timer(delay, strike).start()
    try:
        cursor.execute(text)
    except KeyboardInterrupt:
        print("after", time.monotonic() - at[0])
    print("next", cursor.execute("SELECT 1").fetchall())
    until = time.monotonic() + float(sys.argv[4])
    while server_stats(uri)["exchanges"]["CancelOperation"] == cancelled and time.monotonic() < until:
        time.sleep(0.05)
    print("cancelled", server_stats(uri)["exchanges"]["CancelOperation"] - cancelled)
"""


def interrupted(uri, delay, text, patience=0):
    code = INTERRUPTED.format(tests=str(ROOT / "tests" / "python"))
    done = subprocess.run([sys.executable, "-c", code, uri, str(delay), text, str(patience)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return dict(line.split(" ", 1) for line in done.stdout.splitlines())


def test_ctrl_c_ends_the_wait_at_once(kiln_uri):
    """Before the server has named the statement: the caller is free, and it is cancelled later."""
    said = interrupted(kiln_uri, 0.5, SLOW, patience=15)
    assert float(said["after"]) < 0.5, said
    assert said["cancelled"] == "1", said
    assert said["next"] == "[Row(1=1)]"


def test_ctrl_c_cancels_on_the_server(kiln_uri):
    said = interrupted(kiln_uri, NAMED_AFTER, SLOW, patience=10)
    assert float(said["after"]) < 0.5, said
    assert said["cancelled"] == "1", said
    assert said["next"] == "[Row(1=1)]"


def test_a_handler_that_does_not_raise_lets_the_wait_go_on(kiln_uri):
    code = """
import os, signal, sys, threading
sys.path[:0] = [{tests!r}]
from sql_support import connect

seen = []
signal.signal(signal.SIGUSR1, lambda *_: seen.append(1))
with connect(sys.argv[1]) as connection:
    threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGUSR1)).start()
    rows = connection.cursor().execute(sys.argv[2]).fetchall()
print(seen, len(rows))
""".format(tests=str(ROOT / "tests" / "python"))
    done = subprocess.run(
        [sys.executable, "-c", code, kiln_uri, SLOW.replace("range(100000) b", "range(5000) b")],
        stdout=subprocess.PIPE, text=True, timeout=120)
    assert done.stdout == "[1] 1\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_after_a_fork(kiln_uri):
    """The child is told that the connection is not its own, and can make one; the parent's goes on
    and its session is still open, also after the child has dropped the copy."""
    code = """
import gc, logging, os, sys
sys.path[:0] = [{tests!r}]
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
""".format(tests=str(ROOT / "tests" / "python"))
    before = server_stats(kiln_uri)["exchanges"]
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code, kiln_uri],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "taken: []\nfine\n"), done.stderr
    after = server_stats(kiln_uri)["exchanges"]
    assert after["OpenSession"] - before["OpenSession"] == 2
    assert after["CloseSession"] - before["CloseSession"] == 2
