"""Statements that run while nobody waits: submitted, asked after, fetched later, cancelled, let go,
gone on with by another cursor. Where the unmodified connector does the same, both are asked."""

import pickle
import re
import subprocess
import sys

import pytest

pytest.importorskip("mortar.sql", reason="the extension module is not built")
pytest.importorskip("mortar.kiln._kiln", reason="the extension module is not built")
pytest.importorskip("databricks.sql")

from mortar import sql  # noqa: E402
from mortar.sql.backend.types import CommandId, CommandState  # noqa: E402

from sql_support import (  # noqa: E402
    SLOW, Background, Kiln, connect, connect_other, rows_of, run_python, server_stats, set_faults,
    wait_for,
)
from test_sql_threads import wait_until_busy  # noqa: E402


@pytest.fixture(scope="module")
def kiln(tmp_path_factory):
    server = Kiln(tmp_path_factory.mktemp("kiln"), "--faults", "on")
    yield server.uri
    server.end()


def left_open(kiln):
    stats = server_stats(kiln)
    return stats["sessions_open"], stats["operations_open"]


@pytest.fixture(autouse=True)
def nothing_is_left(kiln):
    set_faults(kiln)
    yield
    wait_for(lambda: left_open(kiln) == (0, 0))


@pytest.fixture
def connection(kiln):
    with connect(kiln, page_rows=1000) as made:
        yield made


@pytest.fixture
def cursor(connection):
    return connection.cursor()


def calls(kiln, name):
    return server_stats(kiln)["exchanges"][name]


def wait_for_end(cursor):
    wait_for(lambda: not cursor.is_query_pending())


# ---- As with the connector ----------------------------------------------------------------------

STATEMENTS = [
    ("SELECT 1 AS a, 'x' AS b", None),
    ("SELECT id, id * 2 AS n FROM range(3000) ORDER BY id", None),
    ("SELECT * FROM range(0)", None),
    ("SELECT :a AS a, :b AS b", {"a": 1, "b": ["x", None]}),
    ("CREATE OR REPLACE TABLE main.default.later (a INT)", None),
    ("INSERT INTO main.default.later VALUES (1), (2)", None),
    ("SHOW TABLES IN main.default", None),
    ("SELECT * FROM main.default.not_there", None),
    ("SELECT 1 / 0", None),
    ("SELECT 1 +", None),
]


def outcome(connection, error, text, parameters):
    with connection, connection.cursor() as cursor:
        try:
            assert cursor.execute_async(text, parameters) is cursor
            assert (cursor.description, cursor.rowcount) == (None, -1)
            assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", cursor.query_id)
            wait_for_end(cursor)
            state = cursor.get_query_state()
            assert cursor.get_async_execution_result() is cursor
            return state.name, cursor.description, rows_of(cursor.fetchall())
        except error as e:
            return type(e).__name__, str(e), sorted(e.context)


@pytest.mark.parametrize("text, parameters", STATEMENTS, ids=lambda given: str(given)[:30])
def test_the_same_as_the_connector(kiln, text, parameters):
    from databricks import sql as other

    mine = outcome(connect(kiln, page_rows=1000), sql.Error, text, parameters)
    theirs = outcome(connect_other(kiln, _disable_pandas=True), other.Error, text, parameters)
    assert mine == theirs


def test_the_states_are_called_as_in_the_connector():
    from databricks.sql.backend.types import CommandState as other

    assert [(s.name, s.value) for s in CommandState] == [(s.name, s.value) for s in other]


def test_while_it_runs(kiln):
    from databricks import sql as other

    for module, connecting in ((sql, connect), (other, connect_other)):
        with connecting(kiln) as connection, connection.cursor() as cursor:
            cursor.execute_async(SLOW)
            assert cursor.is_query_pending() and cursor.get_query_state().name == "RUNNING"
            for call in (cursor.fetchone, cursor.fetchall, cursor.fetchall_arrow):
                with pytest.raises(module.ProgrammingError, match="There is no active result set"):
                    call()
            cursor.cancel()
            assert cursor.get_query_state().name == "CANCELLED" and not cursor.is_query_pending()
            with pytest.raises(module.OperationalError):
                cursor.get_async_execution_result()
            assert cursor.execute("SELECT 1").fetchall() == [(1,)]


def test_without_a_statement_and_closed(kiln):
    from databricks import sql as other

    for module, connecting in ((sql, connect), (other, connect_other)):
        with connecting(kiln) as connection:
            cursor = connection.cursor()
            for call in (cursor.get_query_state, cursor.is_query_pending,
                         cursor.get_async_execution_result):
                with pytest.raises(module.Error, match="No active command"):
                    call()
            cursor.close()
            for call in (cursor.get_query_state, lambda: cursor.execute_async("SELECT 1")):
                with pytest.raises(module.InterfaceError):
                    call()


# ---- Beyond it ------------------------------------------------------------------------------------


def test_it_returns_before_the_end_and_asks_once(kiln, cursor):
    before = calls(kiln, "GetOperationStatus")
    cursor.execute_async("SELECT id FROM range(2500)")
    assert calls(kiln, "GetOperationStatus") == before
    assert not cursor.is_query_pending() or cursor.get_query_state()
    cursor.get_async_execution_result()
    asked = calls(kiln, "GetOperationStatus")
    assert cursor.fetchmany(1200)[-1] == (1199,)
    assert cursor.get_async_execution_result() is cursor  # the rows stay where they are
    assert cursor.get_query_state() is CommandState.SUCCEEDED
    assert cursor.fetchall() == [(i,) for i in range(1200, 2500)]
    assert cursor.get_query_state() is CommandState.SUCCEEDED
    assert calls(kiln, "GetOperationStatus") == asked  # what is known is not asked


def test_rows_changed_are_counted(cursor):
    """The connector leaves -1."""
    cursor.execute("CREATE OR REPLACE TABLE main.default.counted (a INT)")
    cursor.execute_async("INSERT INTO main.default.counted SELECT id FROM range(7)")
    assert cursor.get_async_execution_result().rowcount == 7
    cursor.execute_async("SELECT * FROM main.default.counted")
    assert cursor.rowcount == -1
    assert cursor.get_async_execution_result().rowcount == -1
    assert cursor.fetchall_arrow().num_rows == 7


def test_an_error_is_said_again(kiln, cursor):
    """And the server has nothing of the statement any more."""
    cursor.execute_async("SELECT 1 / 0")
    for call in (cursor.get_async_execution_result, cursor.get_query_state, cursor.is_query_pending,
                 cursor.get_async_execution_result):
        with pytest.raises(sql.ServerOperationError, match="DIVIDE_BY_ZERO") as caught:
            call()
        assert (caught.value.sqlstate, caught.value.outcome) == ("22012", "done")
        assert caught.value.query_id == cursor.query_id
    assert left_open(kiln) == (1, 0)


def test_keywords(kiln, cursor):
    cursor.row_limit = 3
    text = "SELECT id FROM range(10) WHERE id >= ? ORDER BY id"
    cursor.execute_async(text, [5], query_tags={"a": None, "b": "c:"})
    assert cursor.get_async_execution_result().fetchall() == [(5,), (6,), (7,)]
    assert server_stats(kiln)["texts"][text]["settings"]["query_tags"] == "a,b:c\\:"
    with pytest.raises(sql.ProgrammingError, match="statement_timeout"):
        cursor.execute_async("SELECT 1", statement_timeout=0)
    with pytest.raises(sql.ProgrammingError, match="staging_allowed_local_path"):
        cursor.execute_async("PUT '/a' INTO '/Volumes/a/b/c/d'")
    with pytest.raises(TypeError):
        cursor.execute_async()


def test_a_limit_of_time(cursor):
    cursor.execute_async(SLOW, statement_timeout=1)
    wait_for_end(cursor)
    assert cursor.get_query_state() is CommandState.FAILED
    with pytest.raises(sql.RequestError) as caught:
        cursor.get_async_execution_result()
    assert (caught.value.status, caught.value.outcome) == ("TIMEOUT", "done")


def test_a_wait_that_is_too_long_leaves_it_running(kiln):
    with connect(kiln, call_timeout=0.3) as connection, connection.cursor() as cursor:
        cursor.execute_async(SLOW)
        with pytest.raises(sql.RequestError) as caught:
            cursor.get_async_execution_result()
        assert (caught.value.status, caught.value.outcome) == ("TIMEOUT", "unknown")
        assert left_open(kiln) == (1, 1)
        cursor.cancel()
        with pytest.raises(sql.OperationalError) as caught:
            cursor.get_async_execution_result()
        assert caught.value.status == "CANCELED"


def test_another_thread_cancels_a_wait(cursor):
    cursor.execute_async(SLOW)
    waiting = Background(cursor.get_async_execution_result)
    wait_until_busy(cursor)
    with pytest.raises(sql.ProgrammingError, match="another thread"):
        cursor.get_query_state()
    cursor.cancel()
    with pytest.raises(sql.OperationalError) as caught:
        waiting.result()
    assert caught.value.sqlstate == "57014"


def test_a_statement_that_was_waited_for(cursor):
    """Its state is known."""
    cursor.execute("SELECT 1")
    assert cursor.get_query_state() is CommandState.SUCCEEDED
    assert cursor.get_async_execution_result().fetchall() == [(1,)]
    with pytest.raises(sql.ServerOperationError):
        cursor.execute("SELECT 1 / 0")
    assert cursor.get_query_state() is CommandState.FAILED
    with pytest.raises(sql.Error, match="No active command"):
        cursor.get_async_execution_result()


# ---- Letting go ---------------------------------------------------------------------------------

WAYS = {
    "cursor.close": lambda cursor: cursor.close(),
    "connection.close": lambda cursor: cursor.connection.close(),
    "execute": lambda cursor: cursor.execute("SELECT 1").fetchall(),
    "execute_async": lambda cursor: cursor.execute_async("SELECT 1").get_async_execution_result().fetchall(),
    "metadata": lambda cursor: cursor.catalogs().fetchall(),
    "active_command_id": lambda cursor: setattr(cursor, "active_command_id", None),
    "del": lambda cursor: None,
}


@pytest.mark.parametrize("way", WAYS)
def test_what_is_let_go_ends_on_the_server(kiln, way):
    """At once: nobody looks after it any more."""
    connection = connect(kiln)
    cursor = connection.cursor().execute_async(SLOW)
    assert left_open(kiln) == (1, 1)
    WAYS[way](cursor)
    if way == "del":
        del cursor
    assert left_open(kiln)[1] == 0
    connection.close()


def test_many_that_are_let_go(kiln, connection):
    for i in range(50):
        cursor = connection.cursor().execute_async(SLOW if i % 2 else "SELECT 1")
        if i % 3 == 0:
            cursor.is_query_pending()
        cursor.close()
    assert left_open(kiln) == (1, 0)


def test_the_end_of_a_program(kiln):
    """Nothing is waited for, nothing is left."""
    done = run_python("""
from sql_support import SLOW, connect

connection = connect(sys.argv[1])
cursors = [connection.cursor().execute_async(SLOW) for _ in range(3)]
print(cursors[0].is_query_pending())
""", kiln)
    assert done == "True\n"


def test_a_fork_leaves_it_alone(kiln):
    """It is the parent's."""
    said = run_python("""
import os
from mortar import sql
from sql_support import SLOW, connect

with connect(sys.argv[1]) as connection, connection.cursor() as cursor:
    cursor.execute_async(SLOW)
    child = os.fork()
    if child == 0:
        try:
            cursor.get_query_state()
        except sql.InterfaceError:
            cursor.close()
            os._exit(7)
        os._exit(1)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), cursor.is_query_pending())
""", kiln)
    assert said == "7 True\n"


def test_ctrl_c_leaves_it_running(kiln):
    """The wait ends at once; the statement is the program's to cancel, or to wait for again."""
    said = run_python("""
import os, signal
from sql_support import SLOW, Background, connect, server_stats, wait_for

def polls():
    return server_stats(sys.argv[1])["exchanges"]["GetOperationStatus"]

def strike():
    wait_for(lambda: polls() > before)
    os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
with connect(sys.argv[1]) as connection, connection.cursor() as cursor:
    cursor.execute_async(SLOW)
    before = polls()
    Background(strike)
    try:
        cursor.get_async_execution_result()
    except KeyboardInterrupt:
        print(cursor.get_query_state().name)
    cursor.cancel()
    print(cursor.get_query_state().name, cursor.execute("SELECT 1").fetchall())
""", kiln)
    assert said.splitlines() == ["RUNNING", "CANCELLED [Row(1=1)]"]


# ---- Going on elsewhere ----------------------------------------------------------------------------


def test_another_cursor_goes_on(kiln, connection):
    first, second = connection.cursor(), connection.cursor()
    first.execute_async("SELECT id FROM range(2500)")
    second.execute("SELECT 1")
    second.active_command_id = first.active_command_id
    assert second.query_id == first.query_id == str(first.active_command_id)
    assert second.active_command_id == first.active_command_id
    with pytest.raises(sql.ProgrammingError, match="There is no active result set"):
        second.fetchone()
    assert second.get_async_execution_result().fetchall() == [(i,) for i in range(2500)]
    assert left_open(kiln) == (1, 0)
    first.close()


def test_another_connection_goes_on(kiln, connection):
    first = connection.cursor().execute_async(SLOW)
    with connect(kiln) as other, other.cursor() as second:
        second.active_command_id = first.active_command_id
        assert second.is_query_pending()
        second.close()  # it is not its own
        assert first.is_query_pending()
        with other.cursor() as third:
            third.active_command_id = first.active_command_id
            third.cancel()
    assert first.get_query_state() is CommandState.CANCELLED


def test_another_process_goes_on(kiln, connection):
    first = connection.cursor().execute_async("SELECT id FROM range(3)")
    code = "import pickle, sys; from mortar import sql\n" \
        "with sql.connect(_connection_uri=sys.argv[1]) as c, c.cursor() as cursor:\n" \
        "    cursor.active_command_id = pickle.load(sys.stdin.buffer)\n" \
        "    print(cursor.get_async_execution_result().fetchall())"
    done = subprocess.run([sys.executable, "-c", code, kiln], capture_output=True, timeout=120,
                          input=pickle.dumps(first.active_command_id))
    assert done.stdout == b"[Row(id=0), Row(id=1), Row(id=2)]\n", done.stderr
    with pytest.raises(sql.Error, match="Invalid OperationHandle"):
        first.get_query_state()  # the other one has ended it


def test_what_can_not_be_gone_on_with(cursor, connection):
    done = connection.cursor().execute("SELECT 1")
    for bad in (done.active_command_id, CommandId("x"), CommandId(""), CommandId("ä")):
        with pytest.raises(sql.ProgrammingError, match="a query id alone is not enough"):
            cursor.active_command_id = bad
    for bad in (done.query_id, b"x", 7):
        with pytest.raises(sql.ProgrammingError, match="active_command_id is another cursor's"):
            cursor.active_command_id = bad
    assert cursor.active_command_id is None
    cursor.active_command_id = CommandId("00112233445566778899aabbccddeeff.00112233.0")
    assert cursor.query_id == "00112233-4455-6677-8899-aabbccddeeff"
    for call in (cursor.get_query_state, cursor.get_async_execution_result):
        with pytest.raises(sql.DatabaseError, match="Invalid OperationHandle"):
            call()
    cursor.close()
    with pytest.raises(sql.InterfaceError):
        cursor.active_command_id = None


def test_a_name_shows_no_secret(cursor):
    name = cursor.execute_async("SELECT 1").active_command_id
    secret = name.handle.split(".")[1]
    assert len(secret) == 32
    assert secret not in str(name) + repr(name) and str(name) == name.to_hex_guid() == cursor.query_id
    assert len({name, cursor.active_command_id}) == 1 and name != CommandId(name.to_hex_guid())
    cursor.get_async_execution_result().fetchall()
    assert cursor.active_command_id == name


# ---- Faults ----------------------------------------------------------------------------------------


def test_a_submit_whose_reply_is_lost(kiln, connection):
    """A write is not sent again, a read is; what may be running is known to nobody then."""
    cursor = connection.cursor()
    cursor.execute("CREATE OR REPLACE TABLE main.default.lost (a INT)")
    insert = "INSERT INTO main.default.lost VALUES (1)"
    lost = {"call": "ExecuteStatement", "when": "after", "reset": True}
    set_faults(kiln, lost)
    with pytest.raises(sql.RequestError) as caught:
        cursor.execute_async(insert)
    assert caught.value.outcome == "unknown"
    with pytest.raises(sql.Error, match="No active command"):
        cursor.get_query_state()
    set_faults(kiln, lost)
    assert cursor.execute_async("SELECT 1").get_async_execution_result().fetchall() == [(1,)]
    assert connection.stats()["retries"] == 1


def test_a_question_whose_reply_is_lost(kiln, connection):
    cursor = connection.cursor().execute_async("SELECT 1")
    set_faults(kiln, {"call": "GetOperationStatus", "when": "after", "reset": True})
    wait_for_end(cursor)
    set_faults(kiln, {"call": "GetResultSetMetadata", "when": "after", "reset": True})
    assert cursor.get_async_execution_result().fetchall() == [(1,)]
    assert connection.stats()["retries"] == 2
