"""What the tests of mortar.sql share: Kilns in processes of their own, the two clients, threads."""

import json
import math
import pathlib
import signal
import ssl
import subprocess
import sys
import threading
import time
import urllib.request

from conftest import ROOT, wait_for_uri

HTTP_PATH = "/sql/1.0/warehouses/kiln"

# Work for the server without end, as far as a test is concerned; it ends at once when it is cancelled.
SLOW = "SELECT count(*) FROM range(1000000) a CROSS JOIN range(1000000) b WHERE a.id * b.id % 7 = 3"


class Kiln:
    """python -m mortar.kiln in a process of its own, which a test may end as it likes."""

    def __init__(self, folder: pathlib.Path, *options: str) -> None:
        ready, log = folder / "ready", folder / "log"
        ready.unlink(missing_ok=True)  # of an earlier one
        command = [sys.executable, "-m", "mortar.kiln", *options, "--ready-file", str(ready)]
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


class Background(threading.Thread):
    """A call in another thread; result() gives what it gave or raises what it raised."""

    def __init__(self, call):
        super().__init__(daemon=True)
        self.call, self.value, self.error = call, None, None
        self.start()

    def run(self):
        try:
            self.value = self.call()
        except BaseException as error:
            self.error = error

    def result(self, timeout=60):
        self.join(timeout)
        assert not self.is_alive(), "the call did not end"
        if self.error:
            raise self.error
        return self.value


def run_python(code, *arguments, seconds=240):
    """What a program with these lines says; it finds this folder's modules."""
    head = f"import sys\nsys.path[:0] = [{str(ROOT / 'tests' / 'python')!r}]\n"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", head + code, *arguments],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=seconds)
    assert done.returncode == 0, done.stderr
    return done.stdout


def wait_for(condition, seconds=60):
    """Until condition() is true; what it gave then."""
    deadline = time.monotonic() + seconds
    while not (met := condition()):
        assert time.monotonic() < deadline, "what is waited for did not happen"
        time.sleep(0.01)
    return met


def control(uri, path, body=None):
    """What Kiln answers on one of its own paths; body is posted as JSON."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(uri.split("/sql/")[0] + path, data)
    context = ssl._create_unverified_context() if uri.startswith("https") else None
    with urllib.request.urlopen(request, timeout=60, context=context) as reply:
        return json.load(reply)


def set_faults(uri, *rules):
    """Replaces Kiln's rules."""
    control(uri, "/kiln/faults", {"replace": True, "rules": list(rules)})


def server_stats(uri):
    """What Kiln counted: open sessions, exchanges by call, ..."""
    return control(uri, "/kiln/stats")


def resident_kb():
    """Memory of this process."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


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
