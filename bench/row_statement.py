"""Rows where several clients run the same statement on the same server, and each is compared with
the plain program of the same round.

Measures of a client are named "CLIENT measure": "mortar cpu us". Ratios to plain are those with
"ratio", "mortar rate ratio" being the share of plain's statements per second. "connector/mortar
cpu" and "mortar/connector rate" compare with the other clients.
"""

from dataclasses import dataclass

import kernel_replies
import server
from clients import CLIENTS, MODULES, Load, start_each
from measures import Reach

FOREIGN = ("connector", "kernel")

# Measure: the key in a report.
MEASURES = {
    "statements/s": "per_second",
    "cpu us": "cpu_us",
    "p50 us": "p50_us",
    "p99 us": "p99_us",
    "switches": "switches",
    "rss KB": "max_rss_kb",
}


def ratios(measures, clients):
    """Each client to plain, Mortar to the others."""
    made = {}

    def ratio(name, above, below):
        if above in measures and below in measures:
            made[name] = measures[above] / measures[below]

    for client in clients:
        if client != "plain":
            ratio(f"{client} cpu ratio", f"{client} cpu us", "plain cpu us")
            ratio(f"{client} rate ratio", f"{client} statements/s", "plain statements/s")
            ratio(f"{client} p99 ratio", f"{client} p99 us", "plain p99 us")
    for other in FOREIGN:
        ratio(f"{other}/mortar cpu", f"{other} cpu us", "mortar cpu us")
        ratio(f"mortar/{other} rate", "mortar statements/s", f"{other} statements/s")
    return made


@dataclass(frozen=True)
class StatementRow:
    name: str
    title: str
    load: Load = Load()
    clients: tuple[str, ...] = tuple(CLIENTS)
    reaches: tuple[Reach, ...] = ()
    full: bool = False  # measured by `make bench-full` only
    alone: bool = False  # without the foreign clients, but in `make bench-full`

    def clients_of(self, settings):
        if settings.full or not self.alone:
            return self.clients
        return tuple(client for client in self.clients if client not in FOREIGN)

    @property
    def shown(self):
        names = [f"{c} {m}" for c in self.clients for m in ("statements/s", "cpu us", "p99 us")]
        return names + [reach.measure for reach in self.reaches if reach.measure not in names]

    def server_options(self, settings, missing):
        options = ["--server-time", str(self.load.server_ms)]
        if "kernel" in self.clients_of(settings):
            options += kernel_replies.options_or_why(settings, self.load, missing)
        return options

    def prepare(self, settings, stack):
        missing = {}
        options = self.server_options(settings, missing)
        if self.load.sessions == 1:  # client and server take turns anyway
            stack.enter_context(server.one_core())
        at = stack.enter_context(server.canned(settings.build, *options))
        started, others = start_each(
            [client for client in self.clients_of(settings) if client not in missing],
            lambda client: CLIENTS[client](settings, at, self.load, stack),
        )
        return (lambda: self.measure(at, started)), missing | others

    def measure(self, at, started):
        measures = {}
        for client, one_round in started.items():
            cpu, requests = at.cpu_seconds(), at.stats()["requests"]
            report = one_round()
            cpu, requests = at.cpu_seconds() - cpu, at.stats()["requests"] - requests - 1
            for measure, key in MEASURES.items():
                measures[f"{client} {measure}"] = report[key]
            measures[f"{client} server us"] = cpu / requests * 1e6
            if client in MODULES:  # whose sessions were open before
                report["exchanges"] = requests / report["statements"]
            if "exchanges" in report:
                measures[f"{client} exchanges"] = report["exchanges"]
            measures["rows"] = report.get("rows", 0)
        return measures | ratios(measures, self.clients)
