"""What is measured: the list ROWS, and the kinds of rows.

A row is prepared once (its server started, its request recorded) and then asked for one round
after the other. A round returns a flat dict of numbers, {"name of a measure": value}; everything
that is printed and judged is the median of such a measure over the rounds. A new kind of row needs
`name`, `title`, `shown`, `reaches` and `prepare`; a new row of a known kind is a line in ROWS.
"""

import json
import os
import ssl
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import recorder
import server

PROGRAM_SECONDS = 60  # for one program in one round; it runs for a second or two


class Skipped(Exception):
    """The row can't be measured here; the text says why."""


@dataclass(frozen=True)
class Settings:
    build: Path
    scratch: Path  # an empty folder
    seconds: float  # of one program in one round


@dataclass(frozen=True)
class Reach:
    """What the median of a measure must be."""

    measure: str
    at_most: float | None = None
    at_least: float | None = None

    def met(self, value):
        return not (
            (self.at_most is not None and value > self.at_most)
            or (self.at_least is not None and value < self.at_least)
        )

    def __str__(self):
        if self.at_most is not None:
            return f"{self.measure} at most {self.at_most:g}"
        return f"{self.measure} at least {self.at_least:g}"


def run_program(*command):
    """Runs one of our programs and returns the JSON object that it prints."""
    done = subprocess.run(
        [str(word) for word in command],
        check=True,
        stdout=subprocess.PIPE,
        timeout=PROGRAM_SECONDS,
    )
    return json.loads(done.stdout)


@dataclass(frozen=True)
class StatementRow:
    """A statement by the C core against the same bytes by the plain program."""

    name: str
    title: str
    sql: str
    threads: int = 1
    server_options: tuple = ()
    reaches: tuple = ()
    shown: tuple = (
        "plain cpu us",
        "mortar cpu us",
        "cpu ratio",
        "plain p50 us",
        "mortar p50 us",
        "mortar p99 us",
        "rate ratio",
        "mortar rss KB",
    )

    def prepare(self, settings, stack):
        if self.threads == 1:  # client and server take turns anyway
            stack.enter_context(server.one_core())
        address = stack.enter_context(server.canned(settings.build, *self.server_options))
        mortar = server.find_program(settings.build, "mortar_bench")
        request = settings.scratch / f"{self.name}.request"
        request.write_bytes(recorder.record(mortar, address, self.sql))
        load = ["--threads", self.threads, "--seconds", settings.seconds]
        where = ["--host", address.host, "--port", address.port, "--request", request]
        plain = [server.find_program(settings.build, "plain"), *where, *load]
        return lambda: self.measure(plain, [mortar, "--sql", self.sql, *load, address.uri])

    def measure(self, plain_command, mortar_command):
        plain = run_program(*plain_command)
        mortar = run_program(*mortar_command)
        measures = {
            "cpu ratio": mortar["cpu_us"] / plain["cpu_us"],
            "rate ratio": mortar["per_second"] / plain["per_second"],
            "request bytes": plain["request_bytes"],
            "reply bytes": plain["reply_bytes"],
            "rows": mortar["rows"],
            "batches": mortar["batches"],
        }
        for who, report in (("plain", plain), ("mortar", mortar)):
            for kind in ("cpu", "user", "system", "p50", "p99"):
                measures[f"{who} {kind} us"] = report[f"{kind}_us"]
            measures[f"{who} statements/s"] = report["per_second"]
            measures[f"{who} rss KB"] = report["max_rss_kb"]
        return measures


def importable(module):
    done = subprocess.run([sys.executable, "-c", f"import {module}"], stderr=subprocess.DEVNULL)
    return done.returncode == 0


@dataclass(frozen=True)
class PythonRow:
    """A statement from Python, by Mortar and by the connector, beside the plain program."""

    name: str
    title: str
    sql: str
    threads: int = 1
    server_options: tuple = ()
    reaches: tuple = ()
    shown: tuple = (
        "plain cpu us",
        "mortar cpu us",
        "connector cpu us",
        "cpu ratio",
        "connector/mortar",
        "mortar p50 us",
        "connector p50 us",
    )

    def prepare(self, settings, stack):
        for module in ("mortar.sql", "databricks.sql.client"):
            if not importable(module):
                raise Skipped(f"{module} is not installed beside {sys.executable}")
        if self.threads == 1:
            stack.enter_context(server.one_core())
        address = stack.enter_context(server.canned(settings.build, *self.server_options))
        core = server.find_program(settings.build, "mortar_bench")
        request = settings.scratch / f"{self.name}.request"
        request.write_bytes(recorder.record(core, address, self.sql))
        load = ["--threads", self.threads, "--seconds", settings.seconds]
        where = ["--host", address.host, "--port", address.port, "--request", request]
        commands = {"plain": [server.find_program(settings.build, "plain"), *where, *load]}
        script = Path(__file__).with_name("python_client.py")
        for client in ("mortar", "connector"):
            commands[client] = [sys.executable, script, client, "--sql", self.sql, *load]
            commands[client].append(address.uri)
        return lambda: self.measure({who: run_program(*c) for who, c in commands.items()})

    def measure(self, reports):
        measures = {
            "cpu ratio": reports["mortar"]["cpu_us"] / reports["plain"]["cpu_us"],
            "connector/mortar": reports["connector"]["cpu_us"] / reports["mortar"]["cpu_us"],
        }
        for who, report in reports.items():
            for kind in ("cpu", "p50", "p99"):
                measures[f"{who} {kind} us"] = report[f"{kind}_us"]
            measures[f"{who} statements/s"] = report["per_second"]
        return measures


def system_bundle():
    """The file of the certificates that this system trusts."""
    usual = ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"]
    for name in [ssl.get_default_verify_paths().cafile, *usual]:
        if name and os.path.isfile(name):
            return Path(name)
    raise Skipped("no file of CA certificates was found on this system")


@dataclass(frozen=True)
class ConnectRow:
    """Sessions over TLS, all open at once, with the whole CA bundle of the system parsed as for a
    real warehouse: the server's own certificate is added to a copy of it."""

    name: str
    title: str
    connections: int
    reaches: tuple = ()
    shown: tuple = ("cpu ms", "rss KB", "wall ms", "first cpu ms", "first rss KB")
    server_options: tuple = ("--tls",)

    def prepare(self, settings, stack):
        bundle = system_bundle().read_bytes()
        cert = settings.scratch / "server.pem"
        trusted = settings.scratch / "trusted.pem"
        options = [*self.server_options, "--cert-out", str(cert)]
        address = stack.enter_context(server.canned(settings.build, *options))
        trusted.write_bytes(bundle + b"\n" + cert.read_bytes())
        command = [server.find_program(settings.build, "mortar_bench"), "--connect"]
        command += [self.connections, "--tls-ca", trusted, address.uri]
        return lambda: self.measure(command, bundle.count(b"BEGIN CERTIFICATE"))

    def measure(self, command, certificates):
        report = run_program(*command)
        return {
            "cpu ms": report["cpu_ms"],
            "wall ms": report["wall_ms"],
            "rss KB": report["rss_kb"],
            "first cpu ms": report["first_cpu_ms"],
            "first wall ms": report["first_wall_ms"],
            "first rss KB": report["first_rss_kb"],
            "connections": report["connections"],
            "trusted certificates": certificates,
        }


ROWS = (
    StatementRow(
        "one-row",
        "one-row statement, C core, 1 thread",
        "SELECT 1",
        reaches=(Reach("cpu ratio", at_most=1.5),),
    ),
    StatementRow(
        "rows-1000",
        "1,000 rows in 72 LZ4 batches, C core, 1 thread",
        "SELECT * FROM rows_1000",
    ),
    PythonRow(
        "python-one-row",
        "one-row statement from Python (cursor, execute, fetchall, close), 1 thread",
        "SELECT 1",
        reaches=(Reach("cpu ratio", at_most=3.0),),
    ),
    ConnectRow(
        "tls-connect",
        "200 TLS sessions open at once, the system's CA bundle, each",
        200,
        reaches=(Reach("cpu ms", at_most=2.0), Reach("rss KB", at_most=150.0)),
    ),
)
