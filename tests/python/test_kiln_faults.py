"""Faults of Kiln as its users meet them: the examples and the cookbook of docs/kiln-faults.md, TLS,
and the unmodified connector.

MORTAR_BUILD names the build folder that holds kiln/canned/kiln-canned. The tests of the connector
need databricks-sql-connector 4.9 and are skipped without it.
"""

import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from conftest import ROOT

BUILD = os.environ.get("MORTAR_BUILD")
pytestmark = pytest.mark.skipif(BUILD is None, reason="MORTAR_BUILD is not set")

PAGE = (ROOT / "docs" / "kiln-faults.md").read_text()


class Kiln:
    """A running kiln-canned that takes faults. Leaving it checks that a signal ends it cleanly."""

    def __init__(self, *arguments, faults="on"):
        command = [f"{BUILD}/kiln/canned/kiln-canned", "--faults", faults, *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        assert line.startswith("listening on "), line
        self.url = line.split()[-1]
        self.root, _, _ = self.url.partition("/sql/")
        self.port = int(self.root.rpartition(":")[2])

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(timeout=10) == 0
        self.process.stdout.close()

    def ask(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.root + path, data, method=method)
        context = ssl._create_unverified_context() if self.root.startswith("https") else None
        with urllib.request.urlopen(request, timeout=10, context=context) as reply:
            return json.load(reply)

    def set(self, *rules):
        return self.ask("POST", "/kiln/faults", {"replace": True, "rules": list(rules)})


@pytest.fixture
def kiln():
    with Kiln() as server:
        yield server


# ---- The page -----------------------------------------------------------------------------------


@pytest.mark.parametrize("language, count", [("sh", 2), ("python", 1)])
def test_examples_run(kiln, language, count):
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert len(blocks) == count
    runner = {"sh": ["bash", "-euc"], "python": [sys.executable, "-c"]}[language]
    for block in blocks:
        done = subprocess.run(
            [*runner, block], env={**os.environ, "KILN": kiln.root}, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        assert "error_code" not in done.stdout, done.stdout


def test_the_first_example_sets_its_rule(kiln):
    block = re.search(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL).group(1)
    subprocess.run(["bash", "-euc", block], env={**os.environ, "KILN": kiln.root}, check=True)
    (rule,) = kiln.ask("GET", "/kiln/faults")["rules"]
    assert rule["rule"]["status"] == 503
    assert rule["left"] == 1


def test_the_cookbook_is_taken(kiln):
    rules = re.findall(r"^\| [^|`]+ \| `(\{.*\})` \|$", PAGE, re.MULTILINE)
    assert len(rules) == 14
    assert len(kiln.set(*map(json.loads, rules))["rules"]) == 14


def test_every_field_is_on_the_page():
    source = (ROOT / "kiln" / "server" / "fault_rule.c").read_text()
    table = source[source.index("fields[] = {") : source.index("};", source.index("fields[] = {"))]
    fields = re.findall(r'^\s*\{"(\w+)"', table, re.MULTILINE)
    assert len(fields) == 21
    for field in fields:
        assert f"`{field}`" in PAGE or f'`"{field}"' in PAGE, field


# ---- The program --------------------------------------------------------------------------------


def test_a_file_of_rules(tmp_path):
    script = tmp_path / "faults.json"
    script.write_text('[{"path": "/x", "status": 418, "body": "tea"}]')
    with Kiln(faults=str(script)) as server:
        with pytest.raises(urllib.error.HTTPError) as failed:
            server.ask("GET", "/x")
    assert failed.value.code == 418
    assert failed.value.read() == b"tea"


def test_a_bad_file_ends_the_program(tmp_path):
    script = tmp_path / "faults.json"
    script.write_text('[\n{"call": "*", "cutt": 1}]')
    done = subprocess.run(
        [f"{BUILD}/kiln/canned/kiln-canned", "--faults", str(script)], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stderr == f'kiln-canned: {script}: rule 1: "cutt" is no field of a rule\n'


# ---- TLS ----------------------------------------------------------------------------------------


REQUEST = b"GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n"


def connect_tls(server):
    plain = socket.create_connection(("127.0.0.1", server.port), timeout=5)
    return ssl._create_unverified_context().wrap_socket(plain)


def read_all(connection):
    connection.sendall(REQUEST)
    got = b""
    while part := connection.recv(65536):
        got += part
    return got


def read_below_tls(connection):
    """What the ssl module makes an end of the data may be a reset."""
    connection.sendall(REQUEST)
    with socket.socket(fileno=os.dup(connection.fileno())) as plain:
        plain.settimeout(5)
        while plain.recv(65536):
            pass


def test_faults_of_tls_connections():
    whole = b'{"error_code":404,"message":"no such path"}'
    with Kiln("--tls") as server:
        server.set(
            {"path": "/x", "cut": 5},
            {"path": "/x", "nth": 2, "close_after_ms": 0},
            {"path": "/x", "nth": 3, "reset": True},
            {"path": "/x", "nth": 4, "trickle": {"bytes": 50, "every_ms": 5}, "close_after_ms": 0},
            {"call": "connect", "nth": 5, "reset": True},
        )
        with connect_tls(server) as connection:
            assert read_all(connection).endswith(b"\r\n\r\n" + whole[:5])
        with connect_tls(server) as connection:
            assert read_all(connection).endswith(b"\r\n\r\n" + whole)
        with connect_tls(server) as connection, pytest.raises(ConnectionResetError):
            read_below_tls(connection)
        with connect_tls(server) as connection:
            assert read_all(connection).endswith(b"\r\n\r\n" + whole)
        with pytest.raises(OSError):
            connect_tls(server)
        connect_tls(server).close()


# ---- The connector ------------------------------------------------------------------------------


@pytest.fixture
def cursor(kiln):
    sql = pytest.importorskip("databricks.sql")
    with sql.connect(
        server_hostname="127.0.0.1",
        http_path="/sql/1.0/warehouses/canned",
        access_token="any-secret",
        _connection_uri=kiln.url,
        _retry_delay_max=5,  # the least that this client can be told to wait
        enable_telemetry=False,
    ) as connection, connection.cursor() as made:
        yield made


def test_the_connector_waits_for_a_503(kiln, cursor):
    kiln.set({"call": "ExecuteStatement", "status": 503, "headers": {"Retry-After": 1}})
    assert cursor.execute("SELECT 1").fetchall()[0][0] == 1
    seen = kiln.ask("GET", "/kiln/stats")["texts"]["SELECT 1"]
    assert (seen["attempts"], seen["executed"]) == (2, 1)
    assert 900 < seen["gaps_ms"][0] < 30000
    assert seen["headers"]["Authorization"] == "Bearer ***"
    assert "any-secret" not in json.dumps(kiln.ask("GET", "/kiln/stats"))


def test_the_connector_tells_of_an_error_in_a_200(kiln, cursor):
    error = {"sqlstate": "22012", "message": "[DIVIDE_BY_ZERO] of a script"}
    kiln.set({"call": "ExecuteStatement", "error": error})
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        cursor.execute("SELECT 1")
    assert kiln.ask("GET", "/kiln/stats")["texts"]["SELECT 1"]["executed"] == 0


def test_an_idle_session_is_gone_for_the_connector(kiln, cursor):
    assert kiln.ask("GET", "/kiln/stats")["sessions_open"] == 1
    kiln.ask("POST", "/kiln/clock", {"session_idle_ms": 60000})
    assert kiln.ask("POST", "/kiln/clock", {"advance_ms": 61000})["ahead_ms"] == 61000
    assert kiln.ask("GET", "/kiln/stats")["sessions_open"] == 0
    with pytest.raises(Exception, match="Invalid SessionHandle"):
        cursor.execute("SELECT 1")
