"""What the tests of mortar.sql share: Kilns in processes of their own, and the two clients."""

import json
import math
import pathlib
import signal
import subprocess
import sys
import urllib.request
from urllib.parse import urlsplit

from conftest import wait_for_uri

HTTP_PATH = "/sql/1.0/warehouses/kiln"


class Kiln:
    """python -m mortar.kiln in a process of its own, which a test may end as it likes."""

    def __init__(self, folder: pathlib.Path, *options: str) -> None:
        ready, log = folder / "ready", folder / "log"
        command = [sys.executable, "-m", "mortar.kiln", "--ready-file", str(ready), *options]
        with open(log, "w") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
        self.uri = wait_for_uri(self.process, ready, log)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(timeout=30)

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=30)


def connect(uri, **keywords):
    """Through Mortar."""
    from mortar import sql

    return sql.connect("127.0.0.1", HTTP_PATH, keywords.pop("access_token", "any"),
                       _connection_uri=uri, **keywords)


def connect_other(uri, **keywords):
    """Through the unmodified databricks-sql-connector."""
    from databricks import sql

    return sql.connect("127.0.0.1", HTTP_PATH, keywords.pop("access_token", "any"),
                       _connection_uri=uri, enable_telemetry=False,
                       _retry_stop_after_attempts_count=1, **keywords)


def server_stats(uri):
    """What Kiln counted: open sessions, exchanges by call, ..."""
    parts = urlsplit(uri)
    with urllib.request.urlopen(f"{parts.scheme}://{parts.netloc}/kiln/stats", timeout=10) as reply:
        return json.load(reply)


def canonical(value):
    """A form in which values are equal when they are the same: NaN is itself, a timestamp says its
    offset, numbers of different types differ."""
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *map(canonical, value)]
    if isinstance(value, dict):
        return {key: canonical(inner) for key, inner in value.items()}
    if hasattr(value, "utcoffset"):
        return ("datetime", value.isoformat())
    return (type(value).__name__, str(value) if type(value).__name__ == "Decimal" else value)


def rows_of(rows):
    """Rows of either client as lists of canonical values."""
    return [[canonical(value) for value in row] for row in rows]


def assert_same(mine, theirs):
    """Outcomes ("rows", description, rows, ...) or ("error", ...) of one statement through Mortar
    and through the connector."""
    assert mine == theirs
