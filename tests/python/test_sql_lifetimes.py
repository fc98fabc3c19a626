"""How things end: a process that exits or is killed with everything open, a server that dies,
sessions that expire, forks, threads, results left half read. Nothing is written to standard error,
and Kiln is left with nothing."""

import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

pytest.importorskip("mortar.sql", reason="the extension module is not built")
pytest.importorskip("mortar.kiln._kiln", reason="the extension module is not built")

from mortar import sql  # noqa: E402

from conftest import ROOT  # noqa: E402
from sql_support import (  # noqa: E402
    SLOW, Background, Kiln, connect, control, resident_kb, server_stats, set_faults, wait_for,
)

ROWS = "SELECT id FROM range(5000)"  # five pages of those that are asked for here


@pytest.fixture(scope="module")
def kiln(tmp_path_factory):
    server = Kiln(tmp_path_factory.mktemp("kiln"), "--faults", "on")
    yield server.uri
    server.end()


@pytest.fixture(scope="module")
def tls_kiln(tmp_path_factory):
    server = Kiln(tmp_path_factory.mktemp("kiln"), "--faults", "on", "--tls")
    yield server.uri
    server.end()


def left_open(uri):
    stats = server_stats(uri)
    return stats["sessions_open"], stats["operations_open"]


@pytest.fixture(autouse=True)
def nothing_is_left(request):
    """On the servers that the test used."""
    yield
    for name in ("kiln", "tls_kiln"):
        if name in request.fixturenames:
            wait_for(lambda: left_open(request.getfixturevalue(name)) == (0, 0))


def expire(uri):
    """Moves the clock until all that is idle has ended, then stops it."""
    limits = {"session_idle_ms": 60000, "operation_idle_ms": 60000}

    def is_empty():
        control(uri, "/kiln/clock", {**limits, "advance_ms": 61000})
        return left_open(uri) == (0, 0)

    wait_for(is_empty)
    control(uri, "/kiln/clock", dict.fromkeys(limits, 0))


def command(code, *arguments):
    """Python code with this folder's modules."""
    head = f"import os, sys, threading, time\nsys.path[:0] = [{str(ROOT / 'tests' / 'python')!r}]\n"
    return [sys.executable, "-W", "ignore", "-c", head + code, *arguments]


def run(code, *arguments, **more):
    """Runs it; what it gave."""
    return subprocess.run(command(code, *arguments), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=120, **more)


def process(code, *arguments):
    """Starts it; its input and output are pipes."""
    return subprocess.Popen(command(code, *arguments), stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True)


# ---- The end of the process ---------------------------------------------------------------------

EVERYTHING_OPEN = """
from mortar import sql
from sql_support import Background, connect
from test_sql_threads import wait_until_busy

uri = sys.argv[1]
connection = connect(uri, page_rows=1000)
half = connection.cursor().execute("SELECT id FROM range(5000)")
half.fetchone()
slow = connection.cursor()
running = Background(lambda: slow.execute(sys.argv[2]))
wait_until_busy(slow)
given_up = connect(uri, _socket_timeout=0.1).cursor()
try:
    given_up.execute(sys.argv[2])
except sql.RequestError as error:
    assert "once the server names it" in str(error), error
"""


@pytest.mark.parametrize(
    "end, status", [("", 0), ("sys.exit(3)", 3), ("del connection, half, slow", 0)])
def test_an_exit_with_everything_open(kiln, end, status):
    """A result half read, a statement in another thread, one that was given up."""
    done = run(EVERYTHING_OPEN + end, kiln, SLOW)
    assert (done.returncode, done.stdout, done.stderr) == (status, "", "")
    wait_for(lambda: left_open(kiln) == (0, 0))


@pytest.mark.parametrize("end", ["os._exit(4)", "os.kill(os.getpid(), 9)"])
def test_a_process_that_is_gone_at_once(kiln, end):
    """Nobody is there to close anything: statements end by themselves, sessions for being idle."""
    short = SLOW.replace("1000000", "15000")
    done = run(EVERYTHING_OPEN + end, kiln, short)
    assert (done.returncode, done.stdout, done.stderr) == (4 if "_exit" in end else -9, "", "")
    assert left_open(kiln)[0] == 2
    expire(kiln)


def test_an_exit_with_a_server_that_hangs(kiln):
    """Two seconds are what closing a session waits for."""
    done = run("""
from sql_support import connect, set_faults

connection = connect(sys.argv[1])
set_faults(sys.argv[1], {"call": "CloseSession", "nth": "every", "when": "before", "hang": True})
print(time.monotonic())
""", kiln)
    took = time.monotonic() - float(done.stdout)
    set_faults(kiln)
    assert (done.returncode, done.stderr) == (0, "")
    assert took < 10
    expire(kiln)


@contextlib.contextmanager
def stopped(server):
    """A server that answers nobody meanwhile, as if its machine had hung."""
    server.process.send_signal(signal.SIGSTOP)
    os.waitpid(server.process.pid, os.WUNTRACED)  # until it has stopped
    try:
        yield
    finally:
        server.process.send_signal(signal.SIGCONT)


HALF_READ = """
from sql_support import connect
def half_read(uri, results):
    connection = connect(uri, page_rows=1000)
    cursors = [connection.cursor().execute("SELECT id FROM range(5000)") for _ in range(results)]
    return connection, cursors
"""


@pytest.mark.parametrize("end", ["connection.close()", "del connection, cursors"])
def test_a_server_that_hangs_is_waited_for_once(tmp_path, end):
    """Not two seconds for each of five results, and two more for the session."""
    server = Kiln(tmp_path)
    code = HALF_READ + f"""
connection, cursors = half_read(sys.argv[1], 5)
print(flush=True)
sys.stdin.readline()
begun = time.monotonic()
{end}
print(time.monotonic() - begun)
"""
    with process(code, server.uri) as running:
        running.stdout.readline()
        with stopped(server):
            said, _ = running.communicate("go\n", timeout=120)
    assert running.returncode == 0 and 2 <= float(said) < 8
    wait_for(lambda: left_open(server.uri) == (0, 0))
    server.end()


BUSY = """
from mortar import sql
from sql_support import SLOW, Background, connect, server_stats, wait_for

def polls():
    return server_stats(sys.argv[1])["exchanges"]["GetOperationStatus"]

cursor, before = connect(sys.argv[1]).cursor(), polls()
thread = Background(lambda: cursor.execute(SLOW))
wait_for(lambda: polls() > before)  # it has a name, and is asked after
print(flush=True)
sys.stdin.readline()
begun = time.monotonic()
"""


@pytest.mark.parametrize("what", ["cursor", "cursor.connection"])
def test_a_call_to_a_server_that_hangs_is_closed(tmp_path, what):
    """Not after the ten seconds that cancel() would wait for the server's word. The call ends, too,
    and the server ends the statement when it is back."""
    server = Kiln(tmp_path)
    code = BUSY + f"""
{what}.close()
try:
    thread.result()
except sql.OperationalError as error:
    print(time.monotonic() - begun, error.status, "closed by another thread" in str(error), flush=True)
sys.stdin.readline()
"""
    with process(code, server.uri) as running:
        running.stdout.readline()
        with stopped(server):
            print("go", file=running.stdin, flush=True)
            took, *said = running.stdout.readline().split()
        assert said == ["INTERRUPTED", "True"] and float(took) < 8
        wait_for(lambda: server_stats(server.uri)["operations_open"] == 0)
        running.communicate("end\n", timeout=120)
    assert running.returncode == 0
    wait_for(lambda: left_open(server.uri) == (0, 0))
    server.end()


def test_a_fetch_that_hangs_is_closed(kiln):
    """A cancel would stop nothing: the statement has ended."""
    connection = connect(kiln, page_rows=1000)
    cursor = connection.cursor().execute(ROWS)
    set_faults(kiln, {"call": "FetchResults", "when": "before", "hang": True})
    running = Background(cursor.fetchall)
    wait_for(lambda: server_stats(kiln)["calls"]["FetchResults"]["faults"] == 1)
    cursor.close()
    with pytest.raises(sql.OperationalError, match="closed by another thread"):
        running.result(20)
    set_faults(kiln)
    wait_for(lambda: left_open(kiln) == (1, 0))
    assert connection.cursor().execute("SELECT 1").fetchall() == [(1,)]
    connection.close()


def test_an_exit_with_many_connections_to_a_server_that_hangs(tmp_path):
    """Two seconds for all of them together, with a result each that is half read."""
    server = Kiln(tmp_path)
    code = HALF_READ + """
kept = [half_read(sys.argv[1], 1) for _ in range(10)]
print(flush=True)
sys.stdin.readline()
print(time.monotonic())
"""
    with process(code, server.uri) as running:
        running.stdout.readline()
        with stopped(server):
            said, _ = running.communicate("go\n", timeout=120)
            took = time.monotonic() - float(said)
    assert running.returncode == 0 and took < 8
    wait_for(lambda: left_open(server.uri) == (0, 0))
    server.end()


# ---- The end of the server ----------------------------------------------------------------------


def test_the_server_is_killed(tmp_path):
    """Under a running statement, a result half read and an idle connection: each is told, close says
    nothing, and the process ends quickly and in silence."""
    server = Kiln(tmp_path)
    done = run("""
from mortar import sql
from sql_support import SLOW, Background, connect
from test_sql_threads import wait_until_busy

connections = [connect(sys.argv[1], page_rows=1000, _retry_delay_min=0.01) for _ in range(3)]
half, slow, idle = [c.cursor() for c in connections]
half.execute("SELECT id FROM range(5000)").fetchone()
running = Background(lambda: slow.execute(SLOW))
wait_until_busy(slow)
os.kill(int(sys.argv[2]), 9)

def outcome(call):
    try:
        call()
    except sql.RequestError as error:
        return error.outcome

print(outcome(running.result), outcome(half.fetchall), outcome(lambda: idle.execute("INSERT")))
connections[0].close()
print(time.monotonic())
""", server.uri, str(server.process.pid))
    took = time.monotonic() - float(done.stdout.split()[-1])
    assert (done.returncode, done.stderr) == (0, "")
    running, half, idle = done.stdout.split()[:3]
    assert running == "unknown"  # it may have run
    assert half in ("done", "unknown")  # the statement has; the page may have left
    assert idle in ("not_sent", "unknown")
    assert took < 2
    server.end()


# ---- What expires -------------------------------------------------------------------------------


def test_a_session_that_expires(kiln):
    connection = connect(kiln, page_rows=1000)
    half = connection.cursor().execute(ROWS)
    assert half.fetchone() == (0,)
    expire(kiln)
    with pytest.raises(sql.Error, match="Invalid SessionHandle") as caught:
        connection.cursor().execute("SELECT 1")
    assert caught.value.session_lost and caught.value.outcome == "done"
    with pytest.raises(sql.Error, match="Invalid OperationHandle"):
        half.fetchall()
    assert half.fetchmany(10) == [(i,) for i in range(1, 11)]  # what had arrived
    connection.close()


def test_a_result_that_expires(kiln):
    """The session lives on."""
    with connect(kiln, page_rows=1000) as connection:
        half = connection.cursor().execute(ROWS)
        assert half.fetchone() == (0,)
        control(kiln, "/kiln/clock", {"operation_idle_ms": 1000, "advance_ms": 2000})
        control(kiln, "/kiln/clock", {"operation_idle_ms": 0})
        with pytest.raises(sql.Error, match="Invalid OperationHandle") as caught:
            half.fetchall()
        assert not caught.value.session_lost
        assert connection.cursor().execute("SELECT 1").fetchall() == [(1,)]


# ---- Threads ------------------------------------------------------------------------------------


def what_is_open():
    """The descriptors of this process with what they are, and its threads."""
    found = set()
    for folder in ("fd", "task"):
        for name in os.listdir(f"/proc/self/{folder}"):
            with contextlib.suppress(OSError):  # gone meanwhile
                what = os.readlink(f"/proc/self/fd/{name}") if folder == "fd" else "thread"
                found.add((name, what))
    return found


@pytest.fixture
def base(kiln):
    """After the test there are no more descriptors and threads than before it."""
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("reads /proc")
    with connect(kiln) as connection:  # what is made once
        connection.cursor().execute("SELECT 1")
    before = what_is_open()
    yield
    with contextlib.suppress(AssertionError):
        wait_for(lambda: len(what_is_open()) <= len(before), 10)
    after = what_is_open()
    assert len(after) <= len(before), after - before


@pytest.mark.usefixtures("base")
def test_a_hundred_threads(kiln):
    begin = threading.Barrier(100)

    def work(k):
        begin.wait(60)
        with connect(kiln) as connection, connection.cursor() as cursor:
            return [cursor.execute(f"SELECT {k}, id FROM range({i})").fetchall() for i in range(3)]

    for k, thread in enumerate([Background(lambda k=k: work(k)) for k in range(100)]):
        assert thread.result() == [[(k, j) for j in range(i)] for i in range(3)]


def test_a_cursor_that_moves_between_threads(kiln):
    """Made and run on one, read on another, closed on a third, with its connection."""
    cursor = Background(lambda: connect(kiln, page_rows=1000).cursor().execute(ROWS)).result()
    assert Background(cursor.fetchall).result() == [(i,) for i in range(5000)]
    again = Background(lambda: cursor.execute(ROWS)).result()
    assert Background(lambda: again.fetchmany(1500)).result()[-1] == (1499,)
    Background(again.close).result()
    Background(again.connection.close).result()


@pytest.mark.usefixtures("base")
def test_results_left_at_any_point(kiln):
    """A thousand rounds: run, read a little or nothing, leave in one of the ways there are."""
    chance = random.Random(int(os.environ["MORTAR_SEED"]))

    def rounds(count):
        connection = connect(kiln, page_rows=100)
        for _ in range(count):
            cursor = connection.cursor().execute("SELECT id FROM range(500)")
            read = chance.randrange(6)
            rows = cursor.fetchmany(read * 90) if read else []
            assert rows == [(i,) for i in range(len(rows))]
            if chance.random() < 0.4:
                cursor.close()
            if chance.random() < 0.05:
                if chance.random() < 0.5:
                    connection.close()
                connection = connect(kiln, page_rows=100)
        connection.close()

    rounds(200)
    memory = resident_kb()
    rounds(1000)
    assert resident_kb() - memory < 4096


@pytest.mark.usefixtures("base")
def test_a_closed_cursor_holds_no_connection(kiln):
    connection = connect(kiln)
    cursors = [connection.cursor().execute(f"SELECT {i}") for i in range(3)]
    with pytest.raises(sql.Error):
        cursors[0].execute("SELECT 1 / 0")
    open_now = len(what_is_open())
    connection.close()
    assert len(what_is_open()) < open_now
    assert not any(cursor.open for cursor in cursors)


# ---- Forks --------------------------------------------------------------------------------------

FORKED = """
from mortar import sql
from sql_support import SLOW, Background, connect
from test_sql_threads import wait_until_busy

uri, state = sys.argv[1:3]
trust = {"_tls_no_verify": True}
connection = cursor = running = None
if state != "nothing":
    connection = connect(uri, page_rows=1000, **trust)
    cursor = connection.cursor().execute("SELECT 1")
    cursor.fetchall()
if state == "running":
    running = Background(lambda: cursor.execute(SLOW.replace("1000000", "12000")).fetchall())
    wait_until_busy(cursor)
if state == "half read":
    cursor.execute("SELECT id FROM range(5000)").fetchone()

child = os.fork()
if child == 0:
    if connection:
        try:
            connection.cursor().execute("SELECT 1")
            sys.exit(2)
        except sql.InterfaceError as error:
            assert "parent process" in str(error), error
    with connect(uri, **trust) as own:
        assert own.cursor().execute("SELECT 2").fetchall() == [(2,)]
    sys.exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
if state == "nothing":
    connection = connect(uri, **trust)
if running:
    assert len(running.result()) == 1
if state == "half read":
    assert len(cursor.fetchall()) == 4999
before = connection.stats()["connects"]
assert connection.cursor().execute("SELECT 3").fetchall() == [(3,)]
assert connection.stats()["connects"] == before  # the child's end did not cost the parent its own
connection.close()
print("fine")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize("server", ["kiln", "tls_kiln"])
@pytest.mark.parametrize("state", ["nothing", "idle", "running", "half read"])
def test_a_fork(request, server, state):
    """The child leaves by the ordinary way out, and is as silent as the parent."""
    uri = request.getfixturevalue(server)
    before = server_stats(uri)["exchanges"]
    done = run(FORKED, uri, state)
    assert (done.returncode, done.stdout, done.stderr) == (0, "fine\n", "")
    after = server_stats(uri)["exchanges"]
    assert after["OpenSession"] - before["OpenSession"] == 2
    assert after["CloseSession"] - before["CloseSession"] == 2
    wait_for(lambda: left_open(uri) == (0, 0))


# ---- IPv6 ---------------------------------------------------------------------------------------


def has_ipv6_loopback():
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.skipif(not has_ipv6_loopback(), reason="this machine has no IPv6 loopback")
def test_over_ipv6(tmp_path):
    server = Kiln(tmp_path, "--address", "::1")
    assert server.uri.startswith("http://[::1]:")
    with connect(server.uri) as connection:
        assert connection.cursor().execute(ROWS).fetchall() == [(i,) for i in range(5000)]
    with pytest.raises(sql.RequestError, match=r"\[::1\]:1: "):
        connect("http://[::1]:1/x")
    server.end()
