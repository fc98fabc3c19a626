"""The same statement over TLS and in plain text, by the same client in the same round: what the
encryption costs the client. The plain program and the kernel do not take part: one speaks no TLS,
the other is prepared for plain text only."""

from dataclasses import dataclass

import server
from clients import CLIENTS, Load, start_each
from measures import Reach


@dataclass(frozen=True)
class TlsRow:
    name: str
    title: str
    load: Load = Load()
    clients: tuple[str, ...] = ("core", "mortar", "connector")
    reaches: tuple[Reach, ...] = ()
    full: bool = False

    @property
    def shown(self):
        kinds = ("text cpu us", "tls cpu us", "tls ratio")
        return [f"{client} {kind}" for client in self.clients for kind in kinds]

    def prepare(self, settings, stack):
        if self.load.sessions == 1:
            stack.enter_context(server.one_core())
        build, scratch = settings.build, settings.scratch
        text = stack.enter_context(server.canned(build))
        tls = stack.enter_context(server.canned_tls(build, scratch))

        def start(client):
            return {
                how: CLIENTS[client](settings, at, self.load, stack)
                for how, at in (("text", text), ("tls", tls))
            }

        started, missing = start_each(self.clients, start)
        return (lambda: self.measure(started)), missing

    def measure(self, started):
        measures = {}
        for client, rounds in started.items():
            for how, one_round in rounds.items():
                report = one_round()
                measures[f"{client} {how} cpu us"] = report["cpu_us"]
                measures[f"{client} {how} p50 us"] = report["p50_us"]
            measures[f"{client} tls ratio"] = (
                measures[f"{client} tls cpu us"] / measures[f"{client} text cpu us"]
            )
        return measures
