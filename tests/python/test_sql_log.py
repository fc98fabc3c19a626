"""The log: what is said, at which level, by which logger, when; and what is never said."""

import logging
import subprocess
import sys

import pytest

pytest.importorskip("mortar.sql", reason="the extension module is not built")
pytest.importorskip("mortar.kiln._kiln", reason="the extension module is not built")

from mortar import sql  # noqa: E402

from conftest import ROOT  # noqa: E402
from sql_support import SLOW, Background, Kiln, connect, control, server_stats, wait_for  # noqa: E402

TEXTS = "mortar.sql.unsafe"
REFUSED = {"call": "ExecuteStatement", "text": "SELECT 'again'", "status": 429}


@pytest.fixture(scope="module")
def uri(tmp_path_factory):
    kiln = Kiln(tmp_path_factory.mktemp("kiln"), "--faults", "on")
    yield kiln.uri
    kiln.end()


@pytest.fixture
def log(caplog):
    """Records of everything that is logged; the levels are back to what they were afterwards."""
    caplog.set_level(logging.NOTSET)
    levels = {name: logging.getLogger(name).level for name in ("mortar.sql", TEXTS)}
    yield caplog
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)


def lines(log, start=""):
    return [r.getMessage() for r in log.records if r.getMessage().startswith(start)]


def use(uri, **keywords):
    """A session that does a bit of everything; its id."""
    with connect(uri, access_token="my-secret-token", page_rows=100, **keywords) as connection:
        with connection.cursor() as cursor:
            assert cursor.execute("SELECT 'my text'").fetchall() == [("my text",)]
            assert len(cursor.execute("SELECT id FROM range(1000)").fetchmany(300)) == 300
        return connection.get_session_id_hex()


# ---- What is said ----


def test_success_says_nothing_above_info(uri, log):
    session = use(uri)
    assert {record.name for record in log.records} == {"mortar.sql"}
    assert {record.levelno for record in log.records} == {logging.INFO, logging.DEBUG}
    info = [r.getMessage() for r in log.records if r.levelno == logging.INFO]
    assert info == [f"session {session} opened on {uri.split('/')[2]}", f"session {session} closed"]
    assert len(lines(log, "ExecuteStatement")) == 2 and lines(log, "FetchResults")


def test_no_secret_is_said(uri, log):
    logging.getLogger(TEXTS).setLevel(logging.DEBUG)
    use(uri, _tls_client_cert_key_password="my-secret-password")
    assert lines(log, "execute: SELECT 'my text'") and "secret" not in log.text


def test_a_root_logger_of_any_level_does_not_open_the_texts(uri, log):
    use(uri)
    assert log.records and "my text" not in log.text and "range(1000)" not in log.text


def test_texts_alone(uri, log):
    logging.getLogger("mortar.sql").setLevel(logging.WARNING)
    logging.getLogger(TEXTS).setLevel(logging.DEBUG)
    session = use(uri)
    said = [(r.name, r.levelname, r.getMessage(), r.session_id) for r in log.records]
    assert said == [(TEXTS, "DEBUG", f"execute: {text}", session)
                    for text in ("SELECT 'my text'", "SELECT id FROM range(1000)")]


@pytest.mark.parametrize("level", [logging.WARNING, logging.CRITICAL])
def test_levels_count_when_connecting_and_when_logging(uri, log, level):
    """Raised later, a level holds at once; lowered later, it holds for new connections."""
    logger = logging.getLogger("mortar.sql")
    logger.setLevel(level)
    with connect(uri) as connection:
        logger.setLevel(logging.DEBUG)
        connection.cursor().execute("SELECT 1")
    assert log.records == []
    logging.getLogger(TEXTS).setLevel(logging.DEBUG)
    with connect(uri) as connection:
        logger.setLevel(level)
        logging.getLogger(TEXTS).setLevel(logging.NOTSET)
        log.clear()
        connection.cursor().execute("SELECT 1")
    assert log.records == []


def test_a_record_says_where_the_program_was(uri, log):
    with connect(uri) as connection:
        log.clear()
        connection.cursor().execute("SELECT 1")
        (record,) = log.records
    assert (record.pathname, record.funcName) == (__file__, "test_a_record_says_where_the_program_was")
    assert record.session_id == connection.get_session_id_hex()


# ---- Requests sent again ----


def test_retries(uri, log):
    control(uri, "/kiln/faults", {"replace": True, "rules": [{**REFUSED, "nth": [1, 2]}]})
    with connect(uri, _retry_delay_min=0.01) as connection:
        connection.cursor().execute("SELECT 'again'").fetchall()
        assert connection.stats()["exchanges"] == 4
    again = [r for r in log.records if "follows in" in r.getMessage()]
    assert [r.levelname for r in again] == ["INFO", "INFO"]
    for number, record in enumerate(again, 2):
        assert record.session_id == connection.get_session_id_hex()
        assert record.getMessage().startswith(f"attempt {number} follows in ")
        assert " ms: " in record.getMessage() and "HTTP status 429" in record.getMessage()


def test_retries_while_connecting(uri, log):
    rule = {"call": "OpenSession", "status": 503, "headers": {"Retry-After": 0}, "nth": [1, 2]}
    control(uri, "/kiln/faults", {"replace": True, "rules": [rule]})
    with pytest.raises(sql.RequestError):
        connect(uri, _retry_delay_min=0.01, _retry_stop_after_attempts_count=1)
    (said,) = lines(log)[1:]  # behind the name of the call
    assert said.startswith("attempt 2 follows in ") and "HTTP status 503" in said


def test_a_wait_is_announced_while_it_lasts(uri, log):
    """The line comes before the call ends, which is not before the connection is closed."""
    rule = {**REFUSED, "nth": "every", "headers": {"Retry-After": 600}}
    control(uri, "/kiln/faults", {"replace": True, "rules": [rule]})
    connection = connect(uri)
    running = Background(lambda: connection.cursor().execute("SELECT 'again'"))
    wait_for(lambda: lines(log, "attempt 2 follows in "))
    assert running.is_alive()
    connection.close()
    with pytest.raises(sql.Error):
        running.result()


# ---- When ----


def test_what_the_background_says_arrives_by_the_close(uri, log):
    """A statement that is given up is cancelled on another thread, which may not call Python."""
    connection = connect(uri, read_timeout_ms=300, _retry_stop_after_attempts_count=0)
    before = server_stats(uri)["exchanges"]["CancelOperation"]
    with pytest.raises(sql.RequestError) as caught:
        connection.cursor().execute(SLOW)
    assert caught.value.status == "TIMEOUT"
    wait_for(lambda: server_stats(uri)["exchanges"]["CancelOperation"] > before)
    assert not lines(log, "CancelOperation")
    connection.close()
    assert lines(log, "CancelOperation")


def test_the_oldest_lines_drop(uri, log):
    """What nobody takes is bounded: here 100 results are dropped without a call."""
    connection = connect(uri, page_rows=10)
    cursors = [connection.cursor().execute("SELECT id FROM range(100)") for _ in range(100)]
    log.clear()
    cursors.clear()
    assert log.records == []
    connection.close()
    assert log.records[0].levelno == logging.DEBUG
    assert lines(log)[0] == "38 lines of the log were dropped"  # of 100 and those of the close
    assert len(lines(log, "CloseOperation")) == 62
    assert lines(log)[-2:] == [
        "CloseSession", f"session {connection.get_session_id_hex()} closed"]


def test_connections_and_threads(uri, log):
    """Each line once, and with its own session."""
    connections = [connect(uri) for _ in range(2)]

    def work(connection):
        for _ in range(25):
            connection.cursor().execute("SELECT 1").fetchall()

    for thread in [Background(lambda c=c: work(c)) for c in connections * 4]:
        thread.result()
    for connection in connections:
        connection.close()
        mine = [r.getMessage() for r in log.records
                if r.session_id == connection.get_session_id_hex()]
        assert mine.count("ExecuteStatement") == 100 and mine.count("CloseSession") == 1


# ---- Handlers ----


class Handler(logging.Handler):
    """Does something of the test's for each record."""

    def __init__(self, react):
        super().__init__()
        self.react = react

    def handle(self, record):
        self.react(record)


@pytest.fixture
def handler():
    """Installs a handler with the function given."""
    logger, made = logging.getLogger("mortar.sql"), []

    def install(react):
        made.append(Handler(react))
        logger.addHandler(made[-1])

    yield install
    for each in made:
        logger.removeHandler(each)


def test_a_handler_that_fails_breaks_no_call(uri, log, handler, monkeypatch):
    seen = []
    monkeypatch.setattr(sys, "unraisablehook", lambda problem: seen.append(problem.exc_type))

    def fail(record):
        raise ZeroDivisionError

    handler(fail)
    use(uri)
    assert set(seen) == {ZeroDivisionError} and len(seen) >= 5
    with connect(uri) as connection, pytest.raises(sql.ServerOperationError, match="DIVIDE_BY_ZERO"):
        connection.cursor().execute("SELECT 1 / 0")  # its own error is the one that comes out


def test_a_failed_call_logs_and_raises(uri, log):
    """A cancel that the server refuses: its lines come, and its error is not lost by that."""
    rule = {"call": "CancelOperation", "error": {"sqlstate": "HY000", "message": "not now"}}
    control(uri, "/kiln/faults", {"replace": True, "rules": [rule]})
    with connect(uri) as connection:
        cursor = connection.cursor()
        polls = server_stats(uri)["exchanges"]["GetOperationStatus"]
        running = Background(lambda: cursor.execute(SLOW))
        wait_for(lambda: server_stats(uri)["exchanges"]["GetOperationStatus"] > polls)
        log.clear()
        with pytest.raises(sql.DatabaseError, match="not now"):
            cursor.cancel()
        assert "CancelOperation" in lines(log)
        cursor.cancel()
        with pytest.raises(sql.OperationalError):
            running.result()


def test_ctrl_c_in_a_handler_is_not_lost(uri, log, handler):
    armed = []

    def interrupt(record):
        if armed.pop() if armed else False:
            raise KeyboardInterrupt

    handler(interrupt)
    connection = connect(uri)
    cursor = connection.cursor()
    for call in (lambda: cursor.execute("SELECT 1"), connection.close):
        armed.append(True)
        with pytest.raises(KeyboardInterrupt):
            call()
        if connection.open:
            assert cursor.execute("SELECT 2").fetchall() == [(2,)]
    assert not connection.open and lines(log, "session ")[-1].endswith(" closed")


def test_a_handler_may_use_the_connection(uri, log, handler):
    with connect(uri) as connection:
        kept = []

        def keep(record):
            if connection.open:
                kept.append(connection.cursor().execute("SELECT 'kept'").fetchone()[0])

        handler(keep)
        connection.cursor().execute("SELECT 1")
    assert kept == ["kept"]


def test_silent_where_logging_is_not_set_up(uri):
    """Nothing reaches a program that never heard of logging, nor at its end with all left open."""
    code = """
import logging, sys
sys.path[:0] = [{tests!r}]
from sql_support import connect

if len(sys.argv) > 2:
    logging.basicConfig(stream=sys.stdout, level=sys.argv[2])
connection = connect(sys.argv[1])
cursor = connection.cursor().execute("SELECT id FROM range(10)")
print(cursor.fetchone())
""".format(tests=str(ROOT / "tests" / "python"))
    for level in ([], ["WARNING"], ["DEBUG"]):
        done = subprocess.run([sys.executable, "-W", "error", "-c", code, uri, *level],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, "")
        assert (done.stdout == "Row(id=0)\n") == (level != ["DEBUG"])
