"""One list of cases, tests/foreign/cases.json, through unmodified clients of other people:

    databricks-sql-connector, PyHive, impyla    in this process, foreign_clients.py
    @databricks/sql                             a program for Node, tests/foreign/node
    databricks-jdbc, Hive's JDBC driver         a program for Java, tests/foreign/java

What is expected stands in the list, in SQL's own terms, and is compared with what each client makes
of it. A case has `sql`, or a metadata call to `ask`, with statements that run `before`; parameters,
or a `batch` of them with a statement that looks `then`; a session of its own, with a `folder` whose files
the client may move; or a `mode`. It expects `columns`, `types` and all `rows`, or rows that the
answer `includes`; the count of rows `affected`; an `error`; `states` of an asynchronous statement; a file of
the folder that it `brings`, which is as the one that went up.
Metadata is compared in the columns that the case names. Values are JSON's; decimals, dates and
moments are texts, binary is hexadecimal.

The servers send pages of 1,000 rows, and tell after a tenth of a second that a statement still
runs, so that clients fetch several pages and poll. `scripts/setup.sh foreign` brings the programs'
packages; without them those clients are skipped.
"""

import datetime
import functools
import json
import math
import os
import re
import shutil
import struct
import subprocess
import urllib.parse

import pytest
from conftest import ROOT
from sql_support import SLOW, Kiln, server_stats

pytest.importorskip("mortar.kiln._kiln", reason="Kiln is not installed")
pytest.importorskip("databricks.sql")
pytest.importorskip("pyhive.hive")
pytest.importorskip("impala.dbapi")

from foreign_clients import CLIENTS

# Of the connector, which only makes schemas on the server with HTTPS.
pytestmark = pytest.mark.filterwarnings("ignore:Unverified HTTPS request")

FOREIGN = ROOT / "tests" / "foreign"
INSTALLED = ROOT / "build" / "foreign"
PROGRAM_LIMIT_S = 120
PAGE_ROWS = 1000
FILE = bytes(range(256)) * 4096

NODE, JDBC, HIVE_JDBC = "@databricks/sql", "databricks-jdbc", "hive-jdbc"
PYTHON = list(CLIENTS)
CONNECTOR, PYHIVE, IMPYLA = PYTHON
NAMES = [*PYTHON, NODE, JDBC, HIVE_JDBC]


# ---- The list ---------------------------------------------------------------------------------


def case_of_type(kind, values):
    """All values of a type in one column, and NULL behind them."""
    selects = [f"SELECT {i} AS i, {text} AS v" for i, (text, _) in enumerate([*values, ("NULL", None)])]
    return {
        "name": f"type {kind}",
        "sql": f"SELECT v FROM ({' UNION ALL '.join(selects)}) ORDER BY i",
        "columns": ["v"],
        "types": [kind],
        "rows": [[value] for _, value in values] + [[None]],
    }


def all_cases():
    listed = json.loads((FOREIGN / "cases.json").read_text())
    return [case_of_type(*item) for item in listed["types"].items()] + listed["cases"]


CASES = all_cases()


def schema_of(client):
    return re.sub(r"\W", "_", client.lower()).strip("_")


@functools.cache
def job_of(client, folder):
    """The cases for a client, whose tables are in its schema and whose files are in this folder."""
    schema, text = schema_of(client), json.dumps(CASES)
    for name, word in (("{schema}", schema), ("{folder}", str(folder)), ("{slow}", SLOW)):
        text = text.replace(name, word)
    return {"schema": schema, "cases": json.loads(text)}


# ---- Running it -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def kilns(tmp_path_factory):
    """The addresses of a Kiln with HTTP and of one with HTTPS, with a schema for each client."""
    options = ("--batch-rows", str(PAGE_ROWS), "--page-batches", "1", "--direct-wait-ms", "100")
    servers = [
        Kiln(tmp_path_factory.mktemp("kiln"), *options, *more) for more in ((), ("--tls",))
    ]
    for server in servers:
        make_schemas(server.uri)
    yield [server.uri for server in servers]
    for server in servers:
        server.end()


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """One for each client, with a file to put."""
    made = {client: tmp_path_factory.mktemp(schema_of(client)) for client in NAMES}
    for folder in made.values():
        (folder / "up").write_bytes(FILE)
    return made


def make_schemas(uri):
    from databricks import sql

    place = {"_connection_uri": uri}
    if uri.startswith("https"):
        place = {"_port": urllib.parse.urlsplit(uri).port, "_tls_no_verify": True}
    path = urllib.parse.urlsplit(uri).path
    with (
        sql.connect("127.0.0.1", path, "any", enable_telemetry=False, **place) as connection,
        connection.cursor() as cursor,
    ):
        for client in NAMES:
            cursor.execute(f"CREATE SCHEMA {schema_of(client)}")


def run_program(command, job, **environment):
    """What a program answers to a job, both in JSON."""
    done = subprocess.run(
        command, check=False, input=json.dumps(job), capture_output=True, text=True,
        timeout=PROGRAM_LIMIT_S, env={**os.environ, **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def run_node(job, https):
    if not shutil.which("node") or not (INSTALLED / "node" / "node_modules").is_dir():
        pytest.skip("no Node with @databricks/sql: scripts/setup.sh foreign brings it")
    modules = str(INSTALLED / "node" / "node_modules")
    return {NODE: run_program(["node", FOREIGN / "node" / "client.js"], {"uri": https, **job}, NODE_PATH=modules)}


def jar(name):
    found = sorted((INSTALLED / "java").glob(f"{name}-*.jar"))
    if not found or not shutil.which("java"):
        pytest.skip("no Java with JDBC drivers: scripts/setup.sh foreign brings them")
    return str(found[-1])


def run_java(jobs, http, https):
    """Both drivers in one virtual machine."""
    places = [urllib.parse.urlsplit(uri) for uri in (http, https)]
    drivers = {
        JDBC: {
            "driver": "com.databricks.client.jdbc.Driver",
            "jar": jar("databricks-jdbc"),
            "url": f"jdbc:databricks://{places[1].netloc}/default;ssl=1;AllowSelfSignedCerts=1;"
            f"transportMode=http;httpPath={places[1].path};AuthMech=3;UID=token;PWD=any;"
            "UseThriftClient=1;EnableTelemetry=0;ConnSchema={schema}",
        },
        HIVE_JDBC: {
            "driver": "org.apache.hive.jdbc.HiveDriver",
            "jar": jar("hive-jdbc"),
            "url": f"jdbc:hive2://{places[0].netloc}/{{schema}};transportMode=http;"
            f"httpPath={places[0].path.lstrip('/')}",
        },
    }
    jobs = {name: {**driver, **jobs[name]} for name, driver in drivers.items()}
    # One compiler of the two: the program is short. Arrow's library wants the package opened.
    options = ("-Duser.timezone=UTC", "-XX:TieredStopAtLevel=1",
               "--add-opens=java.base/java.nio=ALL-UNNAMED")  # fmt: skip
    return run_program(["java", *options, "-cp", jar("gson"), FOREIGN / "java" / "Client.java"], jobs)


def run_python(client, job, http):
    return {client: CLIENTS[client](http, job["schema"]).run_all(job["cases"])}


@pytest.fixture(scope="module")
def outcomes(kilns, folders):
    """A function that gives all outcomes of a client; each runs the list once."""

    jobs = {client: job_of(client, folder) for client, folder in folders.items()}

    @functools.cache
    def run(client):
        if client in CLIENTS:
            return run_python(client, jobs[client], kilns[0])
        return run_node(jobs[NODE], kilns[1]) if client == NODE else run_java_once()

    @functools.cache
    def run_java_once():
        return run_java(jobs, *kilns)

    return lambda client: run(client)[client]


# ---- What each client can't do, and makes of values --------------------------------------------

METADATA = {case["name"] for case in CASES if "ask" in case}
FUNCTION_CALLS = {"table types", "type info", "functions", "primary keys", "foreign keys"}
FILES = {case["name"] for case in CASES if "folder" in case.get("session", {})}
NATIVE_PARAMETERS = {"parameters: types", "parameters by name", "parameters: one too few"}

LACKS = {
    CONNECTOR: {"timeout", *FUNCTION_CALLS},
    PYHIVE: {"timeout", *FILES, *METADATA, *NATIVE_PARAMETERS},
    IMPYLA: {"timeout", "batch", *FILES, *NATIVE_PARAMETERS, *METADATA - {"tables", "functions"}},
    NODE: {"batch"},
    JDBC: {"parameters by name"},
    HIVE_JDBC: {"batch", "catalog and schema of the session", "asynchronous cancel", *FILES, *NATIVE_PARAMETERS},
}

# Those whose errors have no field for it.
WITHOUT_SQLSTATE = (CONNECTOR, IMPYLA)

# Its status in Thrift mode has neither message nor SQLSTATE.
WITHOUT_ASYNCHRONOUS_ERROR = JDBC


def bare_type(client, told):
    """Without parameters; only one driver tells which of the timestamps it is."""
    name = re.sub(r"[(<].*", "", told.upper().removesuffix("_TYPE"))
    if name == "TIMESTAMP_NTZ" and client != JDBC:
        return "TIMESTAMP"
    return {"NULL": "VOID"}.get(name, name)


def whole(value):
    """The connector makes whole numbers of nested values fractions where nulls are among them."""
    if isinstance(value, dict):
        return {key: whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [whole(item) for item in value]
    if isinstance(value, float) and math.isnan(value):
        return None
    return int(value) if isinstance(value, float) and value.is_integer() else value


def nearest_float(value):
    return struct.unpack("f", struct.pack("f", float(value)))[0]


def moment(text):
    """Fractions as short as they can be."""
    return re.sub(r"\.?0+$", "", text) if "." in text else text


def told(client, kind, value):
    """What the client told, in the list's form."""
    if value is None:
        return None
    if kind in ("ARRAY", "MAP", "STRUCT"):
        if client == IMPYLA and kind == "ARRAY" and isinstance(value, str):
            value = bytes.fromhex(value).decode()
        return whole(json.loads(value) if isinstance(value, str) else value)
    if kind == "FLOAT":
        return repr(nearest_float(value))
    if kind == "DOUBLE" or (client == NODE and kind in ("BIGINT", "DECIMAL")):
        return repr(float(value))
    return moment(value) if kind.startswith("TIMESTAMP") else value


def expected(client, kind, value):
    """What the list says, as far as the client can tell it: the connector reads rows with pandas,
    where NaN is null; all numbers of JavaScript are doubles, and its moments have milliseconds."""
    if value == "NaN" and client == CONNECTOR:
        return None
    if client == NODE and kind == "TIMESTAMP":
        value = value and value[: len("2013-01-01 05:00:00.000")]
    return told(client, kind, value)


# ---- Tests ------------------------------------------------------------------------------------


def check_error(client, case, outcome):
    wanted = case["error"]
    if client == WITHOUT_ASYNCHRONOUS_ERROR and case.get("mode") == "asynchronous":
        assert outcome["states"][-1] == case["states"][-1]
        return
    assert "error" in outcome, outcome
    message = outcome["error"]["message"]
    if "ended" in wanted:
        assert re.search(wanted["ended"], message, re.IGNORECASE)
        return
    assert f"[{wanted['condition']}" in message
    assert wanted.get("words", "") in message
    if client not in WITHOUT_SQLSTATE:
        assert outcome["error"]["sqlstate"] == wanted["sqlstate"]
    else:
        assert f"SQLSTATE: {wanted['sqlstate']}" in message


def check_rows(client, case, outcome):
    """In the columns that a metadata case names, otherwise in all."""
    columns = case.get("columns", outcome["columns"])
    places = [outcome["columns"].index(name) for name in columns]
    if "ask" not in case:
        assert outcome["columns"] == columns
    kinds = [bare_type(client, kind) for kind in case.get("types", outcome["types"])]
    if "types" in case:
        assert [bare_type(client, kind) for kind in outcome["types"]] == kinds
    rows = [
        [told(client, kinds[place], row[place]) for place in places] for row in outcome["rows"]
    ]
    wanted = [
        [expected(client, kinds[place], value) for place, value in zip(places, row, strict=True)]
        for row in case.get("rows", case.get("includes"))
    ]
    if "includes" in case:
        assert [row for row in wanted if row not in rows] == []
    else:
        assert rows == wanted


def generated(count):
    return [[i, None if i % 5 == 3 else i * 2, f"name {i}"] for i in range(count)]


@pytest.mark.parametrize("place", range(len(CASES)), ids=[case["name"] for case in CASES])
@pytest.mark.parametrize("client", NAMES)
def test_case(outcomes, folders, client, place):
    case = job_of(client, folders[client])["cases"][place]
    outcome = outcomes(client)[case["name"]]
    assert outcome.get("lacks", False) == (case["name"] in LACKS[client])
    if outcome.get("lacks"):
        return
    if "error" in case:
        check_error(client, case, outcome)
        return
    assert "error" not in outcome, outcome["error"]
    if case.get("generated"):
        case = {**case, "rows": generated(case["generated"])}
    if case.get("repeated"):
        text, times = case["repeated"]
        case = {**case, "rows": [[text * times]]}
    if "rows" in case or "includes" in case:
        check_rows(client, case, outcome)
    if "affected" in case:
        counted = outcome["affected"] if "affected" in outcome else outcome["rows"][0][0]
        assert counted == case["affected"]
    if "states" in case:
        assert outcome["states"] == case["states"]
    if "brings" in case:
        assert (folders[client] / case["brings"]).read_bytes() == FILE


def test_nothing_is_left_behind(kilns, outcomes):
    for client in PYTHON:
        assert outcomes(client)
    stats = [server_stats(uri) for uri in kilns]
    assert [(told["sessions_open"], told["operations_open"]) for told in stats] == [(0, 0)] * 2
    pages = next(case["generated"] for case in CASES if "generated" in case) // PAGE_ROWS
    assert stats[0]["exchanges"]["FetchResults"] >= pages * len(PYTHON)


@pytest.mark.parametrize("client", [CONNECTOR, NODE, JDBC, HIVE_JDBC])
def test_positions_of_columns(outcomes, client):
    """They begin at 0, to which Databricks' driver for Java adds 1: so it is with a warehouse."""
    outcome = outcomes(client)["columns"]
    place = outcome["columns"].index("ORDINAL_POSITION")
    first = 1 if client == JDBC else 0
    assert [row[place] for row in outcome["rows"]] == [first, first + 1]
