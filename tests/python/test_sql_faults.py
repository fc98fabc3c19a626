"""Faults of Kiln's script and what Mortar makes of them: a write that runs once, a result that is
whole or an error, a warehouse that starts slowly, credentials that are refused."""

import concurrent.futures
import contextlib
import datetime
import email.utils
import pathlib
import re
import threading
import time
from urllib.parse import urlsplit

import pytest

pytest.importorskip("mortar.kiln._kiln", reason="the extension module is not built")
sql = pytest.importorskip("mortar.sql")

from conftest import canned  # noqa: E402
from sql_support import (  # noqa: E402
    SLOW, Kiln, connect, control, server_stats, set_faults, wait_for,
)


@pytest.fixture(scope="module")
def kiln(tmp_path_factory):
    """With checksums, so that no damage to a batch goes by unseen."""
    server = Kiln(tmp_path_factory.mktemp("kiln"), "--faults", "on", "--checksum")
    yield server.uri
    stats = server_stats(server.uri)
    server.end()
    assert (stats["sessions_open"], stats["operations_open"]) == (0, 0)


@pytest.fixture(autouse=True)
def no_faults_are_left(kiln):
    yield
    set_faults(kiln)


class Watch:
    """How long a block took, and how late this machine woke a thread that did nothing but sleep
    meanwhile: so late may each of the threads be that a call needs."""

    def __enter__(self):
        self.late, self._done = 0.0, threading.Event()
        self._sleeper = threading.Thread(target=self._sleep, daemon=True)
        self._sleeper.start()
        self._begun = time.monotonic()
        return self

    def _sleep(self):
        while not self._done.is_set():
            begun = time.monotonic()
            time.sleep(0.005)
            self.late = max(self.late, time.monotonic() - begun - 0.005)

    def __exit__(self, *exception):
        self.took = time.monotonic() - self._begun
        self._done.set()
        self._sleeper.join()

    def kept(self, seconds):
        return self.took <= seconds + 4 * self.late


@contextlib.contextmanager
def ready_for(kiln, call, text, **options):
    """A function that makes the call, be it the one that opens a session or one that runs a text."""
    if call == "OpenSession":
        yield lambda: connect(kiln, **options)
        return
    with connect(kiln, **options) as connection:
        yield lambda: connection.cursor().execute(text)


# ---- A write ------------------------------------------------------------------------------------

AFTER = {"call": "ExecuteStatement", "text": "INSERT", "when": "after"}
BEFORE = {"call": "ExecuteStatement", "text": "INSERT", "when": "before"}

# name -> (the rule, does the INSERT succeed?)
CASES = {
    "a bare 503 after it ran": ({**AFTER, "status": 503}, False),
    "503 with Retry-After before it ran": (
        {**BEFORE, "status": 503, "headers": {"Retry-After": "1"}}, True),
    "a reset after the request was read": ({**AFTER, "reset": True}, False),
    "an idle connection that the server closed": (
        {"call": "ExecuteStatement", "text": "SELECT 'before'", "close_after_ms": 0}, True),
    "a time-out while the server commits": ({**AFTER, "delay_after_ms": 3000}, False),
    "a reply that is cut": ({**AFTER, "cut": 60}, False),
    "an empty 200": ({**AFTER, "status": 200, "body": ""}, False),
    "a web page with 200": (
        {**AFTER, "status": 200, "headers": {"Content-Type": "text/html"},
         "body": "<html><p>Sign in</p></html>"}, False),
}


def is_closed_by_server(uri):
    """Whether there is a connection to it that only the client's side has not closed yet."""
    table = pathlib.Path("/proc/net/tcp")
    if not table.exists():
        pytest.skip("reads /proc/net/tcp")
    port, close_wait = f":{urlsplit(uri).port:04X}", "08"
    lines = [line.split() for line in table.read_text().splitlines()]
    return any(fields[2].endswith(port) and fields[3] == close_wait for fields in lines)


@pytest.mark.parametrize("name", CASES)
def test_an_insert_runs_once(kiln, name):
    rule, succeeds = CASES[name]
    table = "t" + str(list(CASES).index(name))
    insert = f"INSERT INTO {table} VALUES (1)"
    patience = 1 if "delay_after_ms" in rule else None
    with sql.connect(_connection_uri=kiln, _socket_timeout=patience) as connection:
        with connection.cursor() as cursor:
            cursor.execute(f"CREATE TABLE {table} (a INT)")
            set_faults(kiln, rule)
            cursor.execute("SELECT 'before'")
            if "close_after_ms" in rule:
                wait_for(lambda: is_closed_by_server(kiln))
            if succeeds:
                cursor.execute(insert)
            else:
                with pytest.raises(sql.Error) as error:
                    cursor.execute(insert)
                assert error.value.outcome == "unknown"
    assert server_stats(kiln)["texts"][insert]["executed"] == 1
    with sql.connect(_connection_uri=kiln) as connection, connection.cursor() as cursor:
        assert cursor.execute(f"SELECT count(*) FROM {table}").fetchall() == [(1,)]


def test_an_idempotent_write_is_sent_again(kiln):
    """It ran, the reply did not come, it runs once more; the next one has to say so itself."""
    insert = "INSERT INTO twice VALUES (1)"
    with connect(kiln, _retry_delay_min=0.01) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE twice (a INT)")
        set_faults(kiln, {**AFTER, "reset": True})
        cursor.execute(insert, idempotent=True)
        assert connection.stats()["retries"] == 1
        assert server_stats(kiln)["texts"][insert]["executed"] == 2
        for given in ({}, {"idempotent": False}):
            set_faults(kiln, {**AFTER, "reset": True})
            with pytest.raises(sql.RequestError) as caught:
                cursor.execute(insert, **given)
            assert caught.value.outcome == "unknown"
        assert connection.stats()["retries"] == 1
        assert cursor.execute("SELECT count(*) FROM twice").fetchall() == [(4,)]


# ---- Limits ----


def test_a_statement_ends_at_its_limit(kiln):
    """The limit is that statement's: the next one has none."""
    with connect(kiln) as connection, connection.cursor() as cursor:
        with pytest.raises(sql.RequestError) as caught:
            cursor.execute(SLOW, statement_timeout=1)
        assert caught.value.status == "TIMEOUT"
        set_faults(kiln, {"call": "ExecuteStatement", "delay_before_ms": 1500})
        assert cursor.execute("SELECT 1").fetchall() == [(1,)]


@pytest.mark.parametrize("call", ["OpenSession", "ExecuteStatement", "FetchResults"])
def test_no_wait_of_a_call_is_longer_than_its_limit(kiln, call):
    """The other limits are minutes."""
    rule = {"call": call, "when": "before", "hang": True}

    def use():
        with connect(kiln, call_timeout=0.3, page_rows=10) as connection:
            connection.cursor().execute("SELECT id FROM range(100)").fetchall()

    set_faults(kiln, rule)
    with pytest.raises(sql.RequestError) as caught:
        use()
    assert caught.value.status == "TIMEOUT"
    wait_for(lambda: server_stats(kiln)["sessions_open"] == 0)


def test_a_reply_longer_than_allowed_is_refused(kiln):
    with connect(kiln, max_reply_bytes=4096) as connection, connection.cursor() as cursor:
        assert cursor.execute("SELECT 1").fetchall() == [(1,)]
        with pytest.raises(sql.OperationalError) as caught:
            cursor.execute("SELECT uuid() FROM range(500)").fetchall()
        assert caught.value.status == "LIMIT"


def test_a_connection_idle_for_too_long_is_replaced(kiln):
    for idle_ms, connects in ((0, 3), (3600000, 1)):
        with connect(kiln, idle_ms=idle_ms) as connection:
            for _ in range(2):
                time.sleep(0.002)  # idle for more than 0 ms
                connection.cursor().execute("SELECT 1").fetchall()
            assert connection.stats()["connects"] == connects


def test_a_proxy_and_what_goes_past_it(kiln, monkeypatch):
    """Nobody listens where the proxy should be."""
    nobody = "http://127.0.0.1:9"
    with pytest.raises(sql.RequestError):
        connect(kiln, proxy=nobody)
    connect(kiln, proxy=nobody, no_proxy="127.0.0.1").close()
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, nobody)
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    connect(kiln).close()
    with pytest.raises(sql.RequestError):
        connect(kiln, proxy_from_env=True)


# ---- A page -------------------------------------------------------------------------------------

ROWS, PAGE_ROWS = 5000, 1000

LATE_FAULTS = {
    "late, not executed": {"delay_before_ms": 2500},
    "late, executed": {"delay_after_ms": 2500},
    "no reply": {"when": "after", "hang": True},
    "half a reply": {"hang": True, "cut": 300},
    "drop by drop": {"trickle": {"bytes": 20, "every_ms": 20}},
    "shorter than its length": {"content_length_add": 9},
}
PAGE_FAULTS = {
    **LATE_FAULTS,
    "cut in its first byte": {"cut": 0},
    "cut in a batch": {"cut": 1000},
    "cut by a reset": {"cut": 1000, "reset": True},
    "reset": {"reset": True},
    "reset, executed": {"when": "after", "reset": True},
    "longer than its length": {"content_length_add": -9},
    "one batch more than there is": {"lengths": [{"place": "results.arrowBatches", "add": 1}]},
    "one batch less than there is": {"lengths": [{"place": "results.arrowBatches", "add": -1}]},
    "a batch that is longer": {
        "lengths": [{"place": "results.arrowBatches[0].batch", "add": 100}]},
    "a batch that is shorter": {
        "lengths": [{"place": "results.arrowBatches[0].batch", "add": -10}]},
    "a damaged batch": {"flip": [{"place": "results.arrowBatches[0].batch", "offset": -20}]},
    "a batch that is no frame": {"flip": [{"place": "results.arrowBatches[0].batch", "offset": 0}]},
    "no Thrift": {"flip": [{"offset": 0}]},
    "a status that nobody knows": {"lengths": [{"place": "status.statusCode", "add": 77}]},
    "HTTP 500": {"status": 500},
    "HTTP 503": {"status": 503},
    "HTTP 503, later": {"status": 503, "headers": {"Retry-After": 60}},
    "HTTP 404": {"status": 404},
    "HTTP 200 without a body": {"status": 200},
    "a web page": {"status": 200, "body": "<html>"},
    "an error": {"error": {"sqlstate": "XX000", "message": "the page is gone"}},
    "an exception": {"exception": {"message": "the page is gone"}},
    "a stale operation": {"lose": "operation"},
    "an expired session": {"lose": "session"},
}


def by_one(cursor):
    while (row := cursor.fetchone()) is not None:
        yield row


def by_many(cursor):
    while rows := cursor.fetchmany(700):
        yield from rows


def by_arrow(cursor):
    yield from ((v,) for v in cursor.fetchall_arrow().column(0).to_pylist())


WAYS = {
    "fetchone": by_one,
    "fetchmany": by_many,
    "fetchall": lambda cursor: iter(cursor.fetchall()),
    "iteration": iter,
    "fetchall_arrow": by_arrow,
}


# Also where rows come as Thrift columns, but for what is done to Arrow batches.
PAGE_CASES = [(name, use_arrow) for name, fault in PAGE_FAULTS.items() for use_arrow in (True, False)
              if use_arrow or "arrowBatches" not in str(fault)]


@pytest.mark.parametrize("name, use_arrow", PAGE_CASES)
def test_a_failed_page_is_never_an_early_end(kiln, name, use_arrow):
    """Page 3 of 5: an error from whatever asks for it, and again from whatever asks then. What came
    before it are the first rows, in order. All ways to fetch at once, each with a rule of its own."""
    pytest.importorskip("pyarrow")
    options = {"use_arrow": use_arrow, "page_rows": PAGE_ROWS, "_retry_stop_after_attempts_duration": 1,
               "_socket_timeout": 1 if name in LATE_FAULTS else None}

    def check(way):
        with connect(kiln, **options) as connection:
            cursor, rows = connection.cursor(), []
            cursor.execute(f"SELECT id AS {way}_ FROM range({ROWS})")
            with pytest.raises(sql.Error):
                for row in WAYS[way](cursor):
                    rows.append(row)
            assert rows == [(i,) for i in range(len(rows))] and len(rows) <= 2 * PAGE_ROWS, way
            assert cursor.rownumber == len(rows)
            with pytest.raises(sql.Error):
                for _ in range(ROWS // 700):
                    assert cursor.fetchmany(700)
            with pytest.raises(sql.Error):
                cursor.fetchall()

    # The first page came with the statement.
    set_faults(kiln, *({"call": "FetchResults", "text": f"AS {way}_ ", "nth": 2, **PAGE_FAULTS[name]}
                       for way in WAYS))
    with concurrent.futures.ThreadPoolExecutor(len(WAYS)) as pool:
        list(pool.map(check, WAYS))
    assert [rule["hits"] for rule in control(kiln, "/kiln/faults")["rules"]] == [1] * len(WAYS)


# ---- Batches that come with the statement ------------------------------------------------------

# Where a byte of the batch is turned over, and who finds it: the frame is read with the reply, the
# message in it, whose first bytes LZ4 leaves as they are, when it is fetched.
FRAME_HEAD, MESSAGE_HEAD = 0, 14


@pytest.fixture(scope="module", params=[1, 2, 72])
def few(request):
    """How many batches the reply of a kiln-canned has, and its address."""
    with canned("--batches", str(request.param), "--faults", "on") as address:
        yield request.param, address


def damage_batch(uri, number, offset):
    place = f"directResults.resultSet.results.arrowBatches[{number}].batch"
    set_faults(uri, {"call": "ExecuteStatement", "flip": [{"place": place, "offset": offset}]})


def assert_corrupt(call, number):
    with pytest.raises(sql.InvalidServerResponseError, match=f": batch {number}: ") as caught:
        call()
    error = caught.value
    assert type(error) is sql.InvalidServerResponseError
    assert (error.status, error.sqlstate, error.session_lost) == ("CORRUPT", "22000", False)
    assert error.query_id and error.outcome == "done"  # only rows of it are missing


@pytest.mark.parametrize("last", [False, True])
def test_a_damaged_frame_is_an_invalid_response(few, last):
    count, uri = few
    number = count - 1 if last else 0
    with connect(uri) as connection, connection.cursor() as cursor:
        damage_batch(uri, number, FRAME_HEAD)
        assert_corrupt(lambda: cursor.execute("SELECT * FROM rows_1000"), number)
        assert len(cursor.execute("SELECT * FROM rows_1000").fetchall()) == 1000


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("fetch", [
    lambda cursor: cursor.fetchall(), lambda cursor: list(by_one(cursor)),
    lambda cursor: cursor.fetchmany(1000), list, lambda cursor: cursor._take_arrow(None),
], ids=["fetchall", "fetchone", "fetchmany", "iteration", "arrow"])
def test_a_damaged_batch_is_an_invalid_response(few, fetch, last):
    """Again and again, and the connection goes on."""
    count, uri = few
    number = count - 1 if last else 0
    with connect(uri) as connection, connection.cursor() as cursor:
        damage_batch(uri, number, MESSAGE_HEAD)
        cursor.execute("SELECT * FROM rows_1000")
        assert_corrupt(lambda: fetch(cursor), number)
        assert_corrupt(lambda: fetch(cursor), number)
        assert len(cursor.execute("SELECT * FROM rows_1000").fetchall()) == 1000


# ---- A warehouse that starts slowly -------------------------------------------------------------

UNAVAILABLE = {"error": {"sqlstate": "08S01", "message": "TEMPORARILY_UNAVAILABLE: it starts"}}


def in_seconds():
    return {"status": 503, "headers": {"Retry-After": 1}}, 1.0


def by_date():
    """Of whole seconds, as dates are: one second of the two may be over when the reply leaves."""
    date = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=2)
    header = email.utils.format_datetime(date, usegmt=True)
    return {"status": 503, "headers": {"Retry-After": header}}, 1.0


def in_thrift():
    return UNAVAILABLE, 0.2


@pytest.mark.parametrize("rule", [in_seconds, by_date, in_thrift])
def test_a_warehouse_that_starts_is_waited_for(kiln, rule):
    """A write, too: it was not started. Another thread sees what the call does meanwhile."""
    text = f"CREATE TABLE {rule.__name__} (a INT)"
    with connect(kiln, _retry_delay_min=0.2) as connection:
        fault, wait = rule()
        before = connection.stats()
        set_faults(kiln, {"call": "ExecuteStatement", **fault})
        call = threading.Thread(target=lambda: connection.cursor().execute(text))
        call.start()
        wait_for(lambda: connection.stats()["retries"] > before["retries"])
        assert call.is_alive()
        call.join(60)
        after = connection.stats()
    seen = server_stats(kiln)["texts"][text]
    assert (seen["attempts"], seen["executed"]) == (2, 1)
    assert after["retries"] - before["retries"] == 1
    assert after["retry_wait_ms"] - before["retry_wait_ms"] >= wait * 1000
    assert seen["gaps_ms"][0] >= wait * 1000


def test_a_session_is_waited_for(kiln):
    set_faults(kiln, {"call": "OpenSession", "nth": [1, 2], **UNAVAILABLE})
    before = server_stats(kiln)["calls"]["OpenSession"]["attempts"]
    with connect(kiln, _retry_delay_min=0.1) as connection:
        assert connection.stats()["retries"] == 2
        assert connection.cursor().execute("SELECT 1").fetchall() == [(1,)]
    seen = server_stats(kiln)["calls"]["OpenSession"]
    assert seen["attempts"] - before == 3
    assert seen["gaps_ms"][-2] >= 100 and seen["gaps_ms"][-1] >= 200


@pytest.mark.parametrize("call", ["OpenSession", "ExecuteStatement"])
@pytest.mark.parametrize("rule", [in_seconds, in_thrift])
def test_a_budget_of_seconds_is_kept(kiln, call, rule):
    """The warehouse never comes up: within the budget the caller has its words and the count."""
    options = {"_retry_stop_after_attempts_duration": 2, "_retry_delay_min": 0.2}
    with ready_for(kiln, call, "SELECT 1", **options) as make:
        set_faults(kiln, {"call": call, "nth": "every", **rule()[0]})
        with pytest.raises(sql.Error) as caught, Watch() as watch:
            make()
    assert watch.kept(2.2)
    assert re.search("after [23456] attempts: ", str(caught.value))
    assert caught.value.outcome == "rejected"
    if rule is in_seconds:
        assert caught.value.http_status == 503 and "HTTP status 503" in str(caught.value)
    else:
        assert "TEMPORARILY_UNAVAILABLE: it starts" in str(caught.value)


# ---- Credentials --------------------------------------------------------------------------------


@pytest.mark.parametrize("call", ["OpenSession", "ExecuteStatement"])
@pytest.mark.parametrize("status", [401, 403])
def test_refused_credentials_fail_at_once(kiln, call, status):
    words = f"Token of {status} expired on Monday."
    rule = {"call": call, "nth": "every", "status": status,
            "headers": {"x-databricks-reason-phrase": words}}
    with ready_for(kiln, call, "INSERT INTO t VALUES (1)") as make:
        set_faults(kiln, rule)
        with pytest.raises(sql.RequestError) as caught, Watch() as watch:
            make()
    e = caught.value
    assert watch.kept(2)
    assert (e.status, e.http_status, e.outcome) == ("AUTH", status, "rejected")
    assert words in str(e) and "attempts" not in str(e)
    assert control(kiln, "/kiln/faults")["rules"][0]["hits"] == 1


def test_missing_and_wrong_credentials(tmp_path):
    server = Kiln(tmp_path, "--token", "right")
    for token, status in ((None, 401), ("", 401), ("wrong", 403)):
        with pytest.raises(sql.RequestError) as caught, Watch() as watch:
            connect(server.uri, access_token=token)
        assert watch.kept(2)
        assert (caught.value.status, caught.value.http_status) == ("AUTH", status)
    stats = server_stats(server.uri)
    assert (stats["sessions_total"], stats["sessions_open"]) == (0, 0)
    server.end()
