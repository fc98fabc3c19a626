"""A write runs once, whatever happens to its reply: eight faults of one INSERT, through Mortar
against Kiln's fault script. Kiln counts how often the engine really ran the statement."""

import re
import subprocess
import sys

import pytest

pytest.importorskip("mortar.kiln._kiln", reason="the extension module is not built")
sql = pytest.importorskip("mortar.sql")

from sql_support import control  # noqa: E402

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
    "a time-out while the server commits": ({**AFTER, "delay_after_ms": 6000}, False),
    "a reply that is cut": ({**AFTER, "cut": 60}, False),
    "an empty 200": ({**AFTER, "status": 200, "body": ""}, False),
    "a web page with 200": (
        {**AFTER, "status": 200, "headers": {"Content-Type": "text/html"},
         "body": "<html><p>Sign in</p></html>"}, False),
}


@pytest.fixture(scope="module")
def kiln():
    process = subprocess.Popen(
        [sys.executable, "-m", "mortar.kiln", "--faults", "on"], stdout=subprocess.PIPE, text=True
    )
    yield re.search(r"http\S+", process.stdout.readline()).group()
    process.terminate()
    assert process.wait(30) == 0
    process.stdout.close()


@pytest.mark.parametrize("name", CASES)
def test_an_insert_runs_once(kiln, name):
    rule, succeeds = CASES[name]
    table = "t" + str(list(CASES).index(name))
    insert = f"INSERT INTO {table} VALUES (1)"
    with sql.connect(_connection_uri=kiln, _socket_timeout=4) as connection:
        with connection.cursor() as cursor:
            cursor.execute(f"CREATE TABLE {table} (a INT)")
            control(kiln, "/kiln/faults", {"rules": [rule], "replace": True})
            cursor.execute("SELECT 'before'")
            if succeeds:
                cursor.execute(insert)
            else:
                with pytest.raises(sql.Error) as error:
                    cursor.execute(insert)
                assert error.value.outcome == "unknown"
    assert control(kiln, "/kiln/stats")["texts"][insert]["executed"] == 1
    with sql.connect(_connection_uri=kiln) as connection, connection.cursor() as cursor:
        assert cursor.execute(f"SELECT count(*) FROM {table}").fetchall() == [(1,)]


def test_nothing_is_left_open(kiln):
    stats = control(kiln, "/kiln/stats")
    assert stats["sessions_open"] == 0
