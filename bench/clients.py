"""The clients that rows compare: how each is started, and the list CLIENTS.

A client is a function (settings, server, load, stack) that makes ready what it needs and returns a
function without arguments, which runs one round and returns its report: a flat dict with the keys
of load_print() in load.c. One that can't be had here raises Skipped with its name.

    plain      plain.c: the bytes of the request and of the reply, nothing else
    core       mortar_bench.c: Mortar's C library
    mortar     Mortar from Python
    connector  databricks-sql-connector over Thrift
    kernel     databricks-sql-connector on its Rust kernel, over the Statement Execution API
"""

import json
import os
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

import recorder
from measures import Skipped, merged
from server import find_program

PROGRAM_SECONDS = 60  # for one program in one round; it runs for a second or two
# The connector parses the system's CA bundle for every session, also for plain text: 800 sessions
# would take a minute. How long a start takes is not measured; the row of the memory has the bundle.
NO_BUNDLE = {"SSL_CERT_FILE": os.devnull}
START_SECONDS = 120  # for 200 sessions of the slowest client on a busy machine

# What the Python clients import, and the package that has it.
MODULES = {
    "mortar": ("mortar.sql", "mortar-sql"),
    "connector": ("databricks.sql.client", "databricks-sql-connector"),
    "kernel": ("databricks_sql_kernel", "databricks-sql-kernel"),
}


@dataclass(frozen=True)
class Settings:
    build: Path
    scratch: Path  # an empty folder
    seconds: float  # of one program in one round
    full: bool = False  # `make bench-full`


@dataclass(frozen=True)
class Load:
    """What all clients of a row do."""

    sql: str = "SELECT 1"
    threads: int = 1  # in each process, each with a session of its own
    processes: int = 1  # of a Python client; a C program has all threads in one
    fetch: str = "fetchall"  # of a Python client
    server_ms: float = 0
    one_by_one: bool = False  # sessions of a Python client, so that their memory can be told
    counter: int | None = None  # of a Python client: a core, to measure the interpreter's lock

    @property
    def sessions(self):
        return self.threads * self.processes


def run_program(*command):
    """Runs one of our programs and returns the JSON object that it prints."""
    done = subprocess.run(
        [str(word) for word in command],
        check=True,
        stdout=subprocess.PIPE,
        timeout=PROGRAM_SECONDS,
    )
    return json.loads(done.stdout)


# ---- C programs --------------------------------------------------------------------------------


def warm_up(load):
    """Statements of each thread that are not measured."""
    return 10 if load.server_ms else 200


def load_options(settings, load):
    words = ["--threads", load.sessions, "--seconds", settings.seconds]
    return [*words, "--warm-up", warm_up(load)]


def record(settings, at, sql):
    """Records the statement; the files of its request and of its reply."""
    files = settings.scratch / "request", settings.scratch / "reply"
    core = find_program(settings.build, "mortar_bench")
    for file, message in zip(files, recorder.record(core, at, sql)):
        file.write_bytes(message)
    return files


def plain_command(settings, at, load, request):
    program = find_program(settings.build, "plain")
    where = ["--host", at.host, "--port", at.port, "--request", request]
    return [program, *where, *load_options(settings, load)]


def plain(settings, at, load, stack):
    request, _ = record(settings, at, load.sql)
    command = plain_command(settings, at, load, request)
    return lambda: run_program(*command)


def core(settings, at, load, stack):
    command = [find_program(settings.build, "mortar_bench"), "--sql", load.sql]
    command += [*load_options(settings, load), *(["--tls-ca", at.ca_file] if at.ca_file else [])]
    return lambda: run_program(*command, at.uri)


# ---- Python processes --------------------------------------------------------------------------


class PythonProcess:
    """A load.py that waits for rounds; leave it to end it."""

    def __init__(self, client, at, load, environment):
        command = [sys.executable, Path(__file__).with_name("load.py"), client, "--sql", load.sql]
        command += ["--threads", load.threads, "--fetch", load.fetch, at.uri]
        command += ["--warm-up", 5 if load.server_ms else 50]
        command += ["--one-by-one"] if load.one_by_one else []
        command += [] if load.counter is None else ["--counter", load.counter]
        command += ["--ca", at.ca_file] if at.ca_file else []
        self.name = client
        self.process = subprocess.Popen(
            [str(word) for word in command],
            env=os.environ | environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def answer(self, seconds):
        """Its next line; one that says nothing for so long is ended."""
        watchdog = threading.Timer(seconds, self.process.kill)
        watchdog.start()
        try:
            line = self.process.stdout.readline()
        finally:
            watchdog.cancel()
        if not line:
            raise RuntimeError(f"{self.name} ended before it had answered")
        return json.loads(line)

    def begin(self, seconds):
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        try:
            self.process.stdin.close()
            self.process.wait(PROGRAM_SECONDS)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


def start_each(names, start):
    """What start(client) gives for each that can be had; and why the others can't, by name."""
    started, missing = {}, {}
    for client in names:
        try:
            started[client] = start(client)
        except Skipped as why:
            missing[client] = str(why)
    return started, missing


def require(client):
    """The client's modules must be there; that is asked in another process, as importing them here
    would start their threads."""
    module, package = MODULES[client]
    found = subprocess.run([sys.executable, "-c", f"import {module}"], stderr=subprocess.DEVNULL)
    if found.returncode != 0:
        raise Skipped(f"{package} is not installed here")


def start_python(client, at, load, stack, environment):
    """The processes with all sessions open, and what each said about its memory."""
    require(client)
    processes = [
        stack.enter_context(PythonProcess(client, at, load, environment))
        for _ in range(load.processes)
    ]
    return processes, [process.answer(START_SECONDS) for process in processes]


def python_client(client):
    def start(settings, at, load, stack):
        environment = {} if at.ca_file else NO_BUNDLE
        processes, _ = start_python(client, at, load, stack, environment)

        def one_round():
            for process in processes:
                process.begin(settings.seconds)
            return merged([process.answer(PROGRAM_SECONDS) for process in processes])

        return one_round

    return start


CLIENTS = {
    "plain": plain,
    "core": core,
    "mortar": python_client("mortar"),
    "connector": python_client("connector"),
    "kernel": python_client("kernel"),
}
