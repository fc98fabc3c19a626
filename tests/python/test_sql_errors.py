"""What goes wrong: the class, the server's words and the attributes of every kind of failure."""

import pickle
import re
import socket
import warnings

import pytest

pytest.importorskip("mortar.sql", reason="the extension module is not built")
pytest.importorskip("mortar.kiln._kiln", reason="the extension module is not built")

from mortar import sql  # noqa: E402
from mortar.sql._keywords import OPTIONS, SECONDS  # noqa: E402

from sql_support import Kiln, connect, server_stats  # noqa: E402

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")


@pytest.fixture
def connection(kiln_uri):
    with connect(kiln_uri) as made:
        yield made


@pytest.fixture
def cursor(connection):
    return connection.cursor()


@pytest.mark.parametrize(
    "text, sqlstate, words",
    [
        ("SELECT * FROM main.default.not_there", "42P01", "TABLE_OR_VIEW_NOT_FOUND"),
        ("SELECT 1 +", "42601", "PARSE_SYNTAX_ERROR"),
        ("", "42617", "PARSE_EMPTY_STATEMENT"),
        ("SELECT nope FROM range(1)", "42703", "UNRESOLVED_COLUMN"),
        ("SELECT 1 / 0", "22012", "DIVIDE_BY_ZERO"),
        ("SELECT cast('x' AS INT)", "22018", "CAST_INVALID_INPUT"),
    ],
)
def test_a_failed_statement(cursor, text, sqlstate, words):
    with pytest.raises(sql.ServerOperationError, match=re.escape(words)) as caught:
        cursor.execute(text)
    e = caught.value
    assert (e.sqlstate, e.status, e.outcome) == (sqlstate, "SERVER", "done")
    assert UUID.match(e.query_id) and UUID.match(e.session_id)
    assert e.context == {"operation-id": e.query_id, "diagnostic-info": None}
    assert cursor.query_id == e.query_id
    assert str(e) == e.message == e.args[0]
    assert e.message_with_context().startswith(e.message + ": {")
    assert e.session_lost is False
    with pytest.raises(sql.ProgrammingError, match="There is no active result set"):
        cursor.fetchone()
    assert (cursor.description, cursor.rowcount) == (None, -1)
    assert cursor.execute("SELECT 1").fetchall() == [(1,)]  # the cursor lives on


def test_errors_can_be_pickled(cursor):
    with pytest.raises(sql.Error) as caught:
        cursor.execute("SELECT 1 / 0")
    copy = pickle.loads(pickle.dumps(caught.value))
    assert type(copy) is sql.ServerOperationError
    assert (str(copy), copy.context, copy.sqlstate) == (
        str(caught.value), caught.value.context, "22012")


def test_closed_cursor(connection):
    cursor = connection.cursor()
    cursor.execute("SELECT 1")
    cursor.close()
    cursor.close()
    assert (cursor.open, cursor.query_id, cursor.description) == (False, None, None)
    assert (cursor.rowcount, cursor.rownumber) == (-1, 0)
    for call in (lambda: cursor.execute("SELECT 1"), cursor.fetchone, cursor.fetchmany,
                 cursor.fetchall, cursor.fetchall_arrow, lambda: cursor.fetchmany_arrow(1)):
        with pytest.raises(sql.InterfaceError, match="closed cursor"):
            call()
    with pytest.raises(sql.ProgrammingError, match="There is no active result set"):
        next(iter(cursor))
    cursor.cancel()


def test_closed_connection(kiln_uri):
    connection = connect(kiln_uri)
    session = connection.get_session_id_hex()
    cursor = connection.cursor()
    cursor.execute("SELECT 1")
    connection.close()
    connection.close()
    assert not connection.open and not cursor.open
    assert connection.get_session_id_hex() == session and len(connection.get_session_id()) == 16
    for call in (connection.cursor, connection.stats, lambda: connection.autocommit,
                 connection.get_transaction_isolation, cursor.fetchall):
        with pytest.raises(sql.InterfaceError, match="closed"):
            call()
    connection.commit()
    with pytest.raises(sql.NotSupportedError, match="Transactions are not supported"):
        connection.rollback()


def test_context_managers_close(kiln_uri):
    before = server_stats(kiln_uri)["sessions_open"]
    with pytest.raises(KeyError), connect(kiln_uri) as connection:
        with connection.cursor() as cursor:
            raise KeyError
    assert not connection.open and not cursor.open
    assert server_stats(kiln_uri)["sessions_open"] == before


def test_nothing_to_fetch(cursor):
    for call in (cursor.fetchone, cursor.fetchmany, cursor.fetchall, cursor.fetchall_arrow,
                 lambda: next(cursor)):
        with pytest.raises(sql.ProgrammingError, match="There is no active result set"):
            call()


def test_wrong_arguments(cursor, connection):
    for bad in (b"SELECT 1", None, 1, "SELECT '\ud800'"):
        with pytest.raises(sql.ProgrammingError):
            cursor.execute(bad)
    for call in (cursor.execute, lambda: cursor.execute("SELECT 1", no_such=1),
                 lambda: cursor.execute("SELECT 1", operation="SELECT 1"),
                 lambda: connection.cursor(1, 2, 3, 4),
                 lambda: cursor.execute("SELECT 1", None, False, None, None, True)):
        with pytest.raises(TypeError):
            call()
    for bad in (0, -1, 1.5, True, "1", 2**64):
        with pytest.raises(sql.ProgrammingError, match="statement_timeout must be a positive int"):
            cursor.execute("SELECT 1", statement_timeout=bad)
    cursor.execute("SELECT 1")
    with pytest.raises(ValueError, match="negative"):
        cursor.fetchmany(-1)
    with pytest.raises(TypeError):
        cursor.fetchmany("x")
    for call in (lambda: cursor.fetchmany(1, 2), lambda: cursor.fetchmany(1, size=2),
                 lambda: cursor.fetchmany(count=1)):
        with pytest.raises(TypeError, match=r"fetchmany\(\) "):
            call()
    assert cursor.fetchmany(0) == [] and cursor.fetchmany(size=5) == [(1,)]
    assert cursor.execute("SELECT 1").fetchmany(None) == cursor.execute("SELECT 1").fetchmany() == [(1,)]


@pytest.mark.parametrize("bad", [0, -1, -(10**30), True, 1.5, "10", None])
def test_arraysize_is_a_positive_int(connection, bad):
    cursor = connection.cursor(arraysize=2)
    with pytest.raises(sql.ProgrammingError, match="arraysize must be a positive int"):
        cursor.arraysize = bad
    with pytest.raises(sql.ProgrammingError, match="arraysize must be a positive int"):
        connection.cursor(bad)
    with pytest.raises(sql.ProgrammingError, match="arraysize must be a positive int"):
        del cursor.arraysize
    assert cursor.arraysize == 2
    assert len(cursor.execute("SELECT * FROM range(5)").fetchmany()) == 2
    cursor.arraysize = 10**30
    assert len(cursor.fetchmany()) == 3 and connection.cursor().arraysize == 100000


def test_a_refused_argument_keeps_the_result(cursor):
    cursor.execute("SELECT 7")
    for given in ({"parameters": [object()]}, {"enforce_embedded_schema_correctness": True}):
        with pytest.raises(sql.NotSupportedError):
            cursor.execute("SELECT 8", **given)
    assert cursor.execute("SELECT 7", {}).fetchone() == (7,)


@pytest.fixture
def own_kiln(tmp_path):
    """Starts Kilns that only this test uses; ends those that are left."""
    started = []

    def start(*options):
        started.append(Kiln(tmp_path, *options))
        return started[-1]

    yield start
    for kiln in started:
        kiln.end()


def test_wrong_token(own_kiln):
    kiln = own_kiln("--token", "right")
    with connect(kiln.uri, access_token="right") as connection:
        assert connection.cursor().execute("SELECT 1").fetchall() == [(1,)]
    with pytest.raises(sql.RequestError) as caught:
        connect(kiln.uri, access_token="wrong")
    e = caught.value
    assert e.status == "AUTH" and e.http_status in (401, 403)
    assert e.context["http-code"] == e.http_status
    assert "wrong" not in str(e)


def test_nobody_listens():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    with pytest.raises(sql.RequestError) as caught:
        sql.connect(f"http://127.0.0.1:{port}", "/x", "any")
    assert (caught.value.status, caught.value.outcome) == ("CONNECT", "not_sent")


def test_the_server_dies(own_kiln):
    """Before a statement, and between two pages of a result. What has arrived can be fetched."""
    kiln = own_kiln()
    connection = connect(kiln.uri, page_rows=1000, _retry_delay_min=0.01)
    cursor, other = connection.cursor(), connection.cursor()
    cursor.execute("SELECT id FROM range(100000) ORDER BY id")
    assert cursor.fetchone() == (0,)
    kiln.kill()
    with pytest.raises(sql.RequestError) as caught:
        other.execute("SELECT 1")
    assert caught.value.outcome in ("not_sent", "unknown")
    with pytest.raises(sql.RequestError):
        cursor.fetchall()
    assert cursor.rownumber == 1  # nothing was used up
    assert cursor.fetchone() == (1,)
    connection.close()
    assert not connection.open


@pytest.mark.parametrize(
    "arguments, problem",
    [
        ({"server_hostname": ""}, ValueError),
        ({"server_hostname": None}, ValueError),
        ({"server_hostname": "ftp://host"}, ValueError),
        ({"server_hostname": "https://me:secret@host"}, ValueError),
        ({"server_hostname": "host", "use_inline_params": "loud"}, ValueError),
        ({"server_hostname": "host", "credentials_provider": object()}, sql.NotSupportedError),
        ({"server_hostname": "host", "use_kernel": True}, sql.NotSupportedError),
        ({"server_hostname": "host", "ignore_transactions": False}, sql.NotSupportedError),
        ({"server_hostname": "host", "page_rows": "many"}, sql.ProgrammingError),
        ({"server_hostname": "host", "catalog": "a\0b"}, sql.ProgrammingError),
        ({"server_hostname": "host", "user_agent_entry": "a\0b"}, sql.ProgrammingError),
        ({"server_hostname": "host", "user_agent_entry": "a\nb"}, sql.ProgrammingError),
        ({"server_hostname": "host", "session_configuration": {"a": "b\0"}}, sql.ProgrammingError),
        ({"server_hostname": "host", "session_configuration": "a=secret"}, sql.ProgrammingError),
        ({"server_hostname": "host", "session_configuration": [("a", "b")]}, sql.ProgrammingError),
    ],
)
def test_connect_refuses(arguments, problem):
    with pytest.raises(problem) as caught:
        sql.connect(http_path="/x", access_token="any", **arguments)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("bad", [7, b"secret", ["secret"]], ids=str)
def test_a_token_that_is_no_text(bad):
    with pytest.raises(sql.ProgrammingError, match="access_token must be a str, not a") as caught:
        sql.connect("http://127.0.0.1", "/x", bad)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("bad", ["secret\0", "secret\n"])
def test_a_token_with_a_control_character(bad):
    with pytest.raises(sql.ProgrammingError, match="'access_token' holds a control") as caught:
        sql.connect("http://127.0.0.1", "/x", bad)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "keyword, bad",
    [
        ("_port", "http"),
        ("_tls_verify_hostname", "perhaps"),
        ("connect_timeout_ms", 0),
        ("read_timeout_ms", -1),
        ("page_rows", 1.5),
        ("proxy_from_env", "perhaps"),
        ("idle_ms", -1),
        ("max_reply_bytes", 1),
        ("call_timeout", 0),
        ("call_timeout", "a minute"),
        ("page_bytes", "8 MiB"),
        ("_retry_stop_after_attempts_count", 10**6),
        ("_retry_delay_min", 10**9),
        ("_retry_delay_max", -1),
        ("_retry_stop_after_attempts_duration", 1e30),
        ("_socket_timeout", "a minute"),
        ("_socket_timeout", float("nan")),
    ],
)
def test_a_bad_value_is_told_by_its_keyword(keyword, bad):
    with pytest.raises(sql.ProgrammingError) as caught:
        sql.connect("http://127.0.0.1", "/x", "any", **{keyword: bad})
    words = str(caught.value)
    assert keyword in words and "not " in words
    hidden = set(OPTIONS.values()) | set(SECONDS.values()) | {"port"}
    assert not [option for option in hidden - {keyword} if f"'{option}'" in words], words


def test_tls_errors_name_keywords(own_kiln, tmp_path):
    """When connecting, and when a statement needs a connection of its own."""
    kiln = own_kiln("--tls")
    empty = tmp_path / "empty.pem"
    empty.write_text("")
    for given, named in (
        ({}, ["'_tls_trusted_ca_file'", "'_tls_no_verify'"]),
        ({"_tls_trusted_ca_file": empty}, ["'_tls_trusted_ca_file'", str(empty)]),
        ({"_tls_no_verify": True, "_tls_client_cert_file": empty},
         ["'_tls_client_cert_file'", "'_tls_client_cert_key_file'",
          "'_tls_client_cert_key_password'"]),
    ):
        with pytest.raises(sql.RequestError) as caught:
            connect(kiln.uri, **given)
        assert caught.value.status == "TLS"
        assert [name for name in named if name not in str(caught.value)] == [], caught.value
        assert not re.search(r"'tls_\w+'", str(caught.value))


def test_words_of_a_server_stay_as_they_are(cursor):
    with pytest.raises(sql.ServerOperationError, match="'tls_ca_file'"):
        cursor.execute("SELECT cast('tls_ca_file' AS INT)")


def test_ways_to_say_where(kiln_uri):
    host, path = kiln_uri.rsplit("/sql/", 1)
    port = int(host.rsplit(":", 1)[1])
    for hostname, more in (
        (host, {}),
        (host + "/", {}),
        ("http://127.0.0.1", {"_port": port}),
        ("http://127.0.0.1", {"_port": str(port)}),
        ("ignored.invalid", {"_connection_uri": kiln_uri, "_port": 1}),
    ):
        with sql.connect(hostname, "/sql/" + path, "any", **more) as connection:
            assert connection.cursor().execute("SELECT 1").fetchone() == (1,)


def test_unknown_keywords_get_one_warning(kiln_uri):
    with pytest.warns(UserWarning, match="does not know another, no_such$") as seen:
        connect(kiln_uri, no_such=1, another=2, enable_telemetry=False).close()
    assert len(seen) == 1 and seen[0].filename == connect.__code__.co_filename
    with pytest.warns(DeprecationWarning, match="is deprecated; use 'user_agent_entry'"):
        connect(kiln_uri, _user_agent_entry="me").close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        connect(kiln_uri, use_cloud_fetch=True, user_agent_entry="me", catalog="main").close()


def test_session_configuration_is_left_alone(kiln_uri):
    given = {"ansi_mode": True, "timezone": "UTC"}
    connect(kiln_uri, session_configuration=given, schema="default").close()
    assert given == {"ansi_mode": True, "timezone": "UTC"}


def test_autocommit(connection, caplog):
    assert connection.autocommit is True
    connection.autocommit = True
    assert not caplog.records
    connection.autocommit = False
    assert connection.autocommit is True and len(caplog.records) == 1
    connection.set_transaction_isolation("repeatable read")
    assert connection.get_transaction_isolation() == "REPEATABLE_READ"
    with pytest.raises(sql.NotSupportedError):
        connection.set_transaction_isolation("SERIALIZABLE")
