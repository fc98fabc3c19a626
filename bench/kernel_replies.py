"""The replies that the connector's kernel wants from kiln-canned: the Statement Execution API, in
JSON files that kiln-canned answers its paths with. The rows are those that kiln-canned gives to
the Thrift clients, in the same record batches, as one Arrow attachment in an LZ4 frame.
"""

import base64
import json
from importlib import metadata

import server
from measures import Skipped

API = "/api/2.0/sql"
SESSION = "01f00000-0000-1000-8000-000000000001"
STATEMENT = "01f00000-0000-1000-8000-000000000002"


def fetch_table(build, sql):
    """The rows of sql with the batches kept apart, and the columns' names and types."""
    try:
        import pyarrow  # noqa: F401  without it fetchall_arrow() has another type
        from mortar import sql as mortar
    except ImportError as missing:
        raise Skipped(f"its replies need {missing.name}") from None
    with (
        server.canned(build) as at,
        mortar.connect(_connection_uri=at.uri, access_token="bench") as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute(sql)
        return cursor.fetchall_arrow(), cursor.description


def statement_reply(table, description):
    """A reply that holds the whole result, with the statement closed already."""
    import pyarrow

    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    stream = sink.getvalue()
    frame = pyarrow.compress(stream, codec="lz4", asbytes=True)
    chunk = {"chunk_index": 0, "row_offset": 0, "row_count": table.num_rows}
    columns = [
        {"name": name, "type_name": kind.upper(), "type_text": kind.upper(), "position": i}
        for i, (name, kind, *_) in enumerate(description)
    ]
    manifest = {
        "format": "ARROW_STREAM",
        "schema": {"column_count": len(columns), "columns": columns},
        "total_chunk_count": 1,
        "chunks": [{**chunk, "byte_count": stream.size}],
        "total_row_count": table.num_rows,
        "total_byte_count": stream.size,
        "truncated": False,
        "result_compression": "LZ4_FRAME",
    }
    attachment = base64.b64encode(frame).decode()
    return {
        "statement_id": STATEMENT,
        "status": {"state": "CLOSED"},
        "manifest": manifest,
        "result": {**chunk, "byte_count": len(frame), "attachment": attachment},
    }


def options(settings, sql, server_ms):
    """Writes the files; the options by which kiln-canned answers with them. Only the statement
    takes the server time."""
    version = metadata.version("databricks-sql-connector")
    replies = {
        f"/api/2.0/connector-service/feature-flags/PYTHON/{version}": {"flags": []},
        f"{API}/sessions": {"session_id": SESSION},
        f"{API}/sessions/{SESSION}": {},
        f"{API}/statements": statement_reply(*fetch_table(settings.build, sql)),
    }
    words = []
    for number, (path, reply) in enumerate(replies.items()):
        file = settings.scratch / f"kernel.{number}.json"
        file.write_text(json.dumps(reply))
        words += ["--reply-time", str(server_ms if path == f"{API}/statements" else 0)]
        words += ["--reply", f"{path}=200:application/json:{file}"]
    return words


def options_or_why(settings, load, missing):
    """The options for what a row does; none where they can't be made, and missing says why."""
    try:
        return options(settings, load.sql, load.server_ms)
    except Skipped as why:
        missing["kernel"] = str(why)
        return []
