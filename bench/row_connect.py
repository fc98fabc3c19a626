"""Sessions over TLS, all open at once, with the whole CA bundle of the system parsed as for a real
warehouse: the server's own certificate is added to a copy of it. One is opened before, so that what
all share is paid for; each that follows must take one handshake, resumed from what the server
offered, and of the costs its own share only."""

import os
import ssl
from dataclasses import dataclass
from pathlib import Path

import server
from clients import run_program
from measures import Reach, Skipped


def system_bundle():
    """The file of the certificates that this system trusts."""
    usual = ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"]
    for name in [ssl.get_default_verify_paths().cafile, *usual]:
        if name and os.path.isfile(name):
            return Path(name)
    raise Skipped("no file of CA certificates was found on this system")


@dataclass(frozen=True)
class ConnectRow:
    name: str
    title: str
    connections: int
    reaches: tuple[Reach, ...] = ()
    full: bool = False
    shown: tuple[str, ...] = (
        "cpu ms",
        "rss KB",
        "wall ms",
        "handshakes",
        "resumed",
        "first cpu ms",
        "first rss KB",
    )

    def prepare(self, settings, stack):
        bundle = system_bundle().read_bytes()
        at = stack.enter_context(server.canned_tls(settings.build, settings.scratch))
        trusted = settings.scratch / "trusted.pem"
        trusted.write_bytes(bundle + b"\n" + at.ca_file.read_bytes())
        command = [server.find_program(settings.build, "mortar_bench"), "--connect"]
        command += [self.connections, "--tls-ca", trusted, at.uri]
        return (lambda: self.measure(at, command, bundle.count(b"BEGIN CERTIFICATE"))), {}

    def measure(self, at, command, certificates):
        before = at.stats()
        report = run_program(*command)
        after = at.stats()
        # Not ours: the second question's own handshake, and the first session's.
        handshakes = after["tls_handshakes"] - before["tls_handshakes"] - 2
        resumed = after["tls_resumed"] - before["tls_resumed"]
        return {
            "cpu ms": report["cpu_ms"],
            "wall ms": report["wall_ms"],
            "rss KB": report["rss_kb"],
            "handshakes": handshakes / self.connections,
            "resumed": resumed / self.connections,
            "first cpu ms": report["first_cpu_ms"],
            "first wall ms": report["first_wall_ms"],
            "first rss KB": report["first_rss_kb"],
            "connections": report["connections"],
            "trusted certificates": certificates,
        }
