"""The unmodified databricks-sql-connector against kiln-canned, over HTTP and HTTPS.

Needs databricks-sql-connector 4.9, pyarrow and lz4; MORTAR_BUILD names the build folder that
holds kiln/canned/kiln-canned.
"""

import datetime
import decimal
import http.client
import json
import os
import pathlib
import signal
import socket
import ssl
import subprocess
import urllib.error
import urllib.request

import pytest

sql = pytest.importorskip("databricks.sql")
pytest.importorskip("pyarrow")
pytest.importorskip("lz4")

BUILD = os.environ.get("MORTAR_BUILD")
pytestmark = pytest.mark.skipif(BUILD is None, reason="MORTAR_BUILD is not set")

UTC = datetime.timezone.utc


class Canned:
    """A running kiln-canned. Leaving it checks that a signal ends it cleanly."""

    def __init__(self, *arguments):
        program = pathlib.Path(BUILD) / "kiln" / "canned" / "kiln-canned"
        self.process = subprocess.Popen(
            [program, *arguments], stdout=subprocess.PIPE, text=True
        )
        line = self.process.stdout.readline()
        assert line.startswith("listening on "), line
        self.url = line.split()[-1]
        self.root, _, self.path = self.url.partition("/sql/")
        self.port = int(self.root.rpartition(":")[2])

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(timeout=10) == 0
        self.process.stdout.close()


def connect(server, **more):
    return sql.connect(
        server_hostname="127.0.0.1",
        http_path="/sql/1.0/warehouses/canned",
        access_token="any",
        enable_telemetry=False,
        **more,
    )


@pytest.fixture(params=["http", "https"])
def connection(request, tmp_path):
    if request.param == "http":
        with Canned() as server, connect(server, _connection_uri=server.url) as made:
            yield made
        return
    cert = tmp_path / "cert.pem"
    with Canned("--tls", "--cert-out", str(cert)) as server:
        with connect(server, _port=server.port, _tls_trusted_ca_file=str(cert)) as made:
            yield made


def fetch(connection, text):
    with connection.cursor() as cursor:
        cursor.execute(text)
        return cursor.description, cursor.fetchall()


def test_select_1(connection):
    description, rows = fetch(connection, "SELECT 1")
    assert [(d[0], d[1]) for d in description] == [("1", "int")]
    assert [tuple(row) for row in rows] == [(1,)]


def test_rows_1000(connection):
    description, rows = fetch(connection, "SELECT * FROM rows_1000")
    assert [(d[0], d[1]) for d in description] == [
        ("id", "bigint"),
        ("name", "string"),
        ("value", "double"),
    ]
    assert [tuple(row) for row in rows] == [(i, f"name {i}", i / 8) for i in range(1000)]


def mixed_row(i):
    word = ["plain", "größe", "日本語", "smile 😀", ""][i % 5]
    start = datetime.datetime(2020, 9, 13, 12, 26, 40, tzinfo=UTC)
    values = [
        i % 2 == 0,
        i - 500,
        i * 10**10,
        i / 8,
        decimal.Decimal(i * 125 - 5000) / 100,
        f"{word} {i}" if word else "",
        datetime.date(1970, 1, 1) + datetime.timedelta(days=19000 + i),
        start + datetime.timedelta(microseconds=i * 1000001),
        bytes([i % 256]) * (i % 4),
        [i + j for j in range(i % 4)],
        [(f"k{j}", i + j) for j in range(i % 3)],
        {"x": i - 500, "label": f"name {i}"},
    ]
    return tuple(None if (i + c) % 11 == 10 else v for c, v in enumerate(values))


def plain(value):
    """The connector gives numpy arrays for lists."""
    return value.tolist() if hasattr(value, "tolist") else value


def test_mixed(connection):
    description, rows = fetch(connection, "SELECT * FROM mixed")
    assert [d[1] for d in description] == (
        "boolean int bigint double decimal string date timestamp binary array map struct".split()
    )
    assert description[4][4:6] == (10, 2)
    assert len(rows) == 1000
    for i, row in enumerate(rows):
        assert tuple(plain(value) for value in row) == mixed_row(i)


def test_any_other_statement_is_one_row(connection):
    assert [tuple(row) for row in fetch(connection, "SELECT whatever")[1]] == [(1,)]


def test_rows_batches_and_checksum():
    with Canned("--rows", "50", "--batches", "7", "--checksum") as server:
        with connect(server, _connection_uri=server.url) as connection:
            _, rows = fetch(connection, "SELECT * FROM rows_50")
    assert [row.id for row in rows] == list(range(50))


def test_client_without_lz4():
    with Canned() as server:
        with connect(
            server, _connection_uri=server.url, enable_query_result_lz4_compression=False
        ) as connection:
            _, rows = fetch(connection, "SELECT * FROM rows_1000")
    assert [row.id for row in rows] == list(range(1000))


def test_statistics_replies_and_unknown_paths(tmp_path):
    answer = tmp_path / "answer.json"
    answer.write_text('{"a": 1}')
    ready = tmp_path / "ready"
    with Canned(
        "--reply", f"/api/x=418:application/json:{answer}", "--ready-file", str(ready)
    ) as server:
        assert ready.read_text() == f"listening on {server.url}\n"
        with connect(server, _connection_uri=server.url) as connection:
            fetch(connection, "SELECT 1")
        with urllib.request.urlopen(server.root + "/kiln/stats") as reply:
            stats = json.load(reply)
        assert stats["engine"] == "canned"
        assert stats["exchanges"]["ExecuteStatement"] == 1
        assert stats["statements"] == {"SELECT 1": 1}
        assert stats["sessions_open"] == 0
        assert stats["requests"] == stats["exchanges_total"] + 1  # this question
        assert stats["tls_handshakes"] == stats["tls_resumed"] == 0
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(server.root + "/api/x")
        assert caught.value.code == 418
        assert caught.value.read() == b'{"a": 1}'
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(server.root + "/nothing")
        assert caught.value.code == 404


def ask(connection, path):
    """Sends a request whose reply is not read yet."""
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())


def read_reply(connection):
    """Status and body of the one reply that comes."""
    response = http.client.HTTPResponse(connection)
    response.begin()
    return response.status, response.read()


def test_reply_time_holds_for_the_replies_behind_it(tmp_path):
    answer = tmp_path / "answer"
    answer.write_text("x")
    arguments = ["--reply", f"/before=200:text/plain:{answer}", "--reply-time", "60000"]
    arguments += ["--reply", f"/held=200:text/plain:{answer}", "--reply-time", "0"]
    arguments += ["--reply", f"/after=200:text/plain:{answer}"]
    with Canned(*arguments) as server:
        where = ("127.0.0.1", server.port)
        with socket.create_connection(where) as held, socket.create_connection(where) as other:
            ask(held, "/held")
            for path in ("/before", "/after"):
                ask(other, path)
                assert read_reply(other) == (200, b"x")
            held.setblocking(False)
            with pytest.raises(BlockingIOError):
                held.recv(1)


def test_resumed_handshakes_are_counted(tmp_path):
    cert = tmp_path / "cert.pem"
    session, seen = None, []
    with Canned("--tls", "--cert-out", str(cert)) as server:
        context = ssl.create_default_context(cafile=cert)
        for _ in range(2):
            with socket.create_connection(("127.0.0.1", server.port)) as plain_socket:
                with context.wrap_socket(
                    plain_socket, server_hostname="127.0.0.1", session=session
                ) as connection:
                    ask(connection, "/kiln/stats")
                    stats = json.loads(read_reply(connection)[1])
                    session = connection.session
            seen.append((stats["tls_handshakes"], stats["tls_resumed"]))
    assert seen == [(1, 0), (2, 1)]


@pytest.mark.parametrize(
    "arguments",
    [["--port", "70000"], ["--rows", "x"], ["--rows", "5", "--batches", "6"], ["--what"],
     ["--server-time", "-1"], ["--reply-time", "x"], ["--reply", "nonsense"], ["--cert-out", "x"], ["extra"]],
)
def test_bad_options_are_refused(arguments):
    program = pathlib.Path(BUILD) / "kiln" / "canned" / "kiln-canned"
    done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=10)
    assert done.returncode in (1, 2)
    assert done.stderr.startswith("kiln-canned: ")
    assert done.stdout == ""
