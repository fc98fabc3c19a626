"""`kiln replay`: which recorded answer comes, the ids in it, what is refused, and what is said of
recordings that can't be read. What the rows are is for test_sql_recordings.py."""

import base64
import json
import re
import subprocess
import sys

import pytest

pytest.importorskip("mortar.kiln._kiln", reason="the extension module is not built")
sql = pytest.importorskip("mortar.sql")
pytest.importorskip("databricks.sql")

from databricks.sql.thrift_api.TCLIService import TCLIService  # noqa: E402
from databricks.sql.thrift_api.TCLIService import ttypes as t  # noqa: E402
from recordings_support import OURS, body, lines_of, parse  # noqa: E402
from sql_support import Kiln, connect, server_stats, set_faults  # noqa: E402
from thrift.protocol.TBinaryProtocol import TBinaryProtocol  # noqa: E402
from thrift.transport.THttpClient import THttpClient  # noqa: E402

REPLAY = [sys.executable, "-m", "mortar.kiln", "replay"]
DIRECT, PAGES, QUESTIONS = (OURS / "thrift" / f"{name}.jsonl" for name in ("direct-results", "pages", "questions"))


@pytest.fixture
def uri(tmp_path):
    server = Kiln(tmp_path, "replay", str(OURS), "--faults", "on")
    yield server.uri
    server.end()


class Raw:
    """A session through the declarations alone: one method for each call."""

    def __init__(self, uri):
        self.client = TCLIService.Client(TBinaryProtocol(THttpClient(uri)))
        self.session = self.client.OpenSession(t.TOpenSessionReq(client_protocol_i64=0xA509)).sessionHandle

    def execute(self, text, **fields):
        return self.client.ExecuteStatement(
            t.TExecuteStatementReq(sessionHandle=self.session, statement=text, **fields)
        )

    def status(self, handle):
        return self.client.GetOperationStatus(t.TGetOperationStatusReq(operationHandle=handle))

    def fetch(self, handle, **fields):
        return self.client.FetchResults(t.TFetchResultsReq(operationHandle=handle, orientation=0, maxRows=9, **fields))

    def metadata(self, handle):
        return self.client.GetResultSetMetadata(t.TGetResultSetMetadataReq(operationHandle=handle))

    def close(self, handle):
        return self.client.CloseOperation(t.TCloseOperationReq(operationHandle=handle)).status

    def info(self, kind):
        return self.client.GetInfo(t.TGetInfoReq(sessionHandle=self.session, infoType=kind))

    def close_session(self):
        return self.client.CloseSession(t.TCloseSessionReq(sessionHandle=self.session)).status


WITH_ROWS = {"getDirectResults": t.TSparkGetDirectResults(maxRows=9, maxBytes=1 << 20)}


def refused(reply, text):
    status = getattr(reply, "status", reply)
    assert status.statusCode == t.TStatusCode.ERROR_STATUS
    assert text in status.errorMessage and status.sqlState
    return True


def recorded_ids(path):
    """All ids of sessions and operations that a recording gave out."""
    replies = [parse(body(line, "response_b64"))[1] for line in lines_of(path) if "response_b64" in line]
    handles = [getattr(r, "operationHandle", None) or getattr(r, "sessionHandle", None) for r in replies]
    return {(getattr(h, "operationId", None) or h.sessionId).guid for h in handles if h}


# ---- Which answer ------------------------------------------------------------------------------


def test_repeated_statements_come_in_order_and_the_last_again(uri):
    sizes = []
    for _ in range(3):  # sessions do not matter
        with connect(uri) as connection, connection.cursor() as cursor:
            for _ in range(2):
                cursor.execute("SELECT 'again'")
                sizes.append(len(cursor.fetchall()))
    assert sizes == [1, 2, 3, 3, 3, 3]


def test_all_scenarios_of_the_folder_are_there(uri):
    with connect(uri) as connection, connection.cursor() as cursor:
        for text, rows in (("SELECT 'again'", 1), ("SELECT 'slower'", 5), ("SELECT 'columns'", 3)):
            cursor.execute(text)
            assert len(cursor.fetchall()) == rows, text


def test_a_file_alone(tmp_path):
    server = Kiln(tmp_path, "replay", str(DIRECT))
    try:
        with connect(server.uri) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT 'lz4'")
            assert len(cursor.fetchall()) == 5
            with pytest.raises(sql.Error, match="SELECT 'slow'"):
                cursor.execute("SELECT 'slow'")
    finally:
        server.end()


@pytest.mark.parametrize("text", ["SELECT 1", "SELECT 'AGAIN'", "", "SELECT 'ü'\n", "x" * 9000])
def test_an_unknown_statement_is_named(uri, text):
    raw = Raw(uri)
    assert refused(raw.execute(text), "the recordings have no answer to this statement: " + text[:2000])
    with connect(uri) as connection, connection.cursor() as cursor:
        if text:
            with pytest.raises(sql.Error, match=re.escape(text[:500])):
                cursor.execute(text)
        cursor.execute("SELECT 'again'")  # the session is as good as before
        assert cursor.fetchall()


def test_a_metadata_call_is_matched_by_its_filters(uri):
    raw = Raw(uri)
    asked = {"sessionHandle": raw.session, "schemaName": "main", "tableName": "%"}
    reply = raw.client.GetTables(t.TGetTablesReq(**asked, **WITH_ROWS))
    assert reply.directResults.resultSet.results.columns[1].stringVal.values == ["a", "", "ccc"]
    other = raw.client.GetTables(t.TGetTablesReq(**{**asked, "tableName": "flights"}))
    assert refused(other, 'no answer to GetTables {"schema_name":"main","table_name":"flights"}')
    assert refused(raw.client.GetCatalogs(t.TGetCatalogsReq(sessionHandle=raw.session)), "no answer to GetCatalogs {}")


def test_get_info_as_recorded_or_as_kiln_has_it(uri):
    raw = Raw(uri)
    assert raw.info(t.TGetInfoType.CLI_DBMS_NAME).infoValue.stringValue == "Recorded SQL"
    assert raw.info(t.TGetInfoType.CLI_SERVER_NAME).infoValue.stringValue == "Spark SQL"
    assert refused(raw.info(t.TGetInfoType.CLI_USER_NAME), "is not known here")


def test_polls_come_in_order_and_the_last_again(uri):
    raw = Raw(uri)
    for _ in range(2):  # each operation from the start
        handle = raw.execute("SELECT 'in a while'", runAsync=True).operationHandle
        states = [raw.status(handle).operationState for _ in range(3)]
        assert states == [t.TOperationState.RUNNING_STATE, *[t.TOperationState.FINISHED_STATE] * 2]


def test_pages_come_once_each_with_the_shape_when_it_is_asked_for(uri):
    raw = Raw(uri)
    handle = raw.execute("SELECT 'slow'", runAsync=True).operationHandle
    first, second, third = (raw.fetch(handle, includeResultSetMetadata=n == 1) for n in range(3))
    assert [len(page.results.arrowBatches or []) for page in (first, second, third)] == [1, 2, 0]
    assert [page.hasMoreRows for page in (first, second, third)] == [True, False, False]
    assert first.resultSetMetadata is None
    assert second.resultSetMetadata == raw.metadata(handle)
    assert raw.close(handle).statusCode == t.TStatusCode.SUCCESS_STATUS


def test_rows_that_came_with_the_statement_can_be_fetched(uri):
    """By clients that do not ask for direct results; an operation that was closed is open to them."""
    raw = Raw(uri)
    reply = raw.execute("SELECT 'lz4'")
    handle, direct = reply.operationHandle, reply.directResults
    assert raw.status(handle) == direct.operationStatus
    assert raw.metadata(handle) == direct.resultSetMetadata
    assert raw.fetch(handle) == direct.resultSet
    assert not raw.fetch(handle).hasMoreRows
    assert raw.close(handle).statusCode == t.TStatusCode.SUCCESS_STATUS
    assert refused(raw.fetch(handle), "Invalid OperationHandle")


# ---- Ids ---------------------------------------------------------------------------------------


def test_ids_are_those_of_the_live_session(uri):
    one, other = Raw(uri), Raw(uri)
    handles = [raw.execute("SELECT 'again'", **WITH_ROWS).operationHandle for raw in (one, other, one)]
    handles += [raw.execute("SELECT 'slow'").operationHandle for raw in (one, other)]
    ids = {h.operationId.guid for h in handles} | {raw.session.sessionId.guid for raw in (one, other)}
    assert len(ids) == 7
    assert not ids & (recorded_ids(QUESTIONS) | recorded_ids(PAGES) | recorded_ids(DIRECT))


def test_what_is_closed_is_refused_and_counted(uri):
    one, other = Raw(uri), Raw(uri)
    handle = one.execute("SELECT 'slow'").operationHandle
    assert server_stats(uri)["sessions_open"] == 2
    assert one.close_session().statusCode == t.TStatusCode.SUCCESS_STATUS
    assert refused(one.execute("SELECT 'again'"), "Invalid SessionHandle")
    assert refused(one.fetch(handle), "Invalid OperationHandle")
    assert refused(one.close_session(), "Invalid SessionHandle")
    assert other.execute("SELECT 'slow'").status.statusCode == t.TStatusCode.SUCCESS_STATUS
    stats = server_stats(uri)
    assert (stats["sessions_open"], stats["operations_open"]) == (1, 1)


def test_many_statements_of_one_session(uri):
    """More than there may be operations: those that are closed are not kept."""
    with connect(uri) as connection, connection.cursor() as cursor:
        for _ in range(300):
            cursor.execute("SELECT 'again'")
            cursor.fetchall()
    stats = server_stats(uri)
    assert stats["operations_open"] == 0 and stats["operations_total"] == 300


def test_faults_are_there(uri):
    with connect(uri) as connection, connection.cursor() as cursor:
        set_faults(uri, {"call": "ExecuteStatement", "status": 503, "headers": {"Retry-After": 1}})
        cursor.execute("SELECT 'again'")
        assert len(cursor.fetchall()) == 1


# ---- What can't be replayed --------------------------------------------------------------------


def run(*arguments):
    done = subprocess.run([*REPLAY, *map(str, arguments)], capture_output=True, text=True, timeout=30)
    assert "Traceback" not in done.stderr
    return done


def spoil(key, change):
    def apply(line):
        data = json.loads(line)
        data[key] = base64.b64encode(change(base64.b64decode(data[key]))).decode()
        return json.dumps(data)

    return apply


def short_id(data):
    """Of the operation: its secret has 15 bytes."""
    at = data.index(b"\x0b\0\2\0\0\0\x10")
    return data[: at + 6] + b"\x0f" + data[at + 8 :]


BAD_LINES = {
    "no JSON": (lambda line: line[:-3], "not JSON"),
    "no object": (lambda line: "[1]", "not a JSON object"),
    "no base64": (lambda line: line.replace('"response_b64": "', '"response_b64": "?'), "not base64"),
    "request cut": (spoil("request_b64", lambda data: data[:-1]), "ends too early"),
    "reply cut": (spoil("response_b64", lambda data: data[:-1]), "ends too early"),
    "no reply": (spoil("response_b64", lambda data: b""), "ends too early"),
    "reply of another call": (
        spoil("response_b64", lambda data: data.replace(b"\x10ExecuteStatement", b"\x10executeStatement")),
        "does not belong to its request",
    ),
    "id too short": (spoil("response_b64", short_id), "whose id or secret has not 16 bytes"),
}


@pytest.mark.parametrize("name", BAD_LINES)
def test_a_bad_line_is_named(tmp_path, name):
    change, said = BAD_LINES[name]
    lines = DIRECT.read_text().splitlines()
    lines[2] = change(lines[2])
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    done = run(tmp_path)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith(f"kiln: {tmp_path}/a.jsonl:3: ") and said in done.stderr


def test_folders_without_recordings(tmp_path):
    assert run(tmp_path / "none").stderr == f"kiln: {tmp_path}/none: No such file or directory\n"
    assert "no recorded Thrift call" in run(tmp_path).stderr
    assert "no recorded Thrift call" in run(OURS / "sea").stderr
    assert run(tmp_path).returncode == 1


@pytest.mark.parametrize("arguments", [[], [OURS, OURS], [OURS, "--batch-rows", "3"], [OURS, "--port", "x"]])
def test_wrong_usage(arguments):
    done = run(*arguments)
    assert done.returncode == 2 and "usage: kiln replay" in done.stderr


def test_help_names_the_mode():
    assert "kiln replay recordings --port 8080" in run("--help").stdout
    done = subprocess.run([*REPLAY[:-1], "--help"], capture_output=True, text=True, timeout=30)
    assert "kiln replay DIR" in done.stdout


def test_what_was_read_is_said(tmp_path):
    Kiln(tmp_path, "replay", str(OURS)).end()
    log = (tmp_path / "log").read_text()
    assert "recorded: 8 statements in 31 calls of 6 files" in log
    assert "passed over: 7 lines" in log


def test_other_tokens_are_refused(tmp_path):
    server = Kiln(tmp_path, "replay", str(OURS), "--token", "right")
    try:
        connect(server.uri, access_token="right").close()
        with pytest.raises(sql.Error, match="403"):
            connect(server.uri, access_token="wrong")
    finally:
        server.end()
