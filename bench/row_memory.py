"""What a session takes of memory: open and idle, and more while a thread runs statements in it.
Every round starts the client anew, since memory that was taken once is seldom given back."""

import contextlib
from dataclasses import dataclass

import clients
import server
from clients import Load
from measures import Reach


@dataclass(frozen=True)
class MemoryRow:
    name: str
    title: str
    load: Load
    clients: tuple[str, ...] = ("mortar", "connector")
    reaches: tuple[Reach, ...] = ()
    full: bool = False

    @property
    def shown(self):
        kinds = ("idle session KB", "busy thread KB")
        return [f"{client} {kind}" for client in self.clients for kind in kinds]

    def prepare(self, settings, stack):
        options = ["--server-time", str(self.load.server_ms)]
        at = stack.enter_context(server.canned(settings.build, *options))
        here, missing = clients.start_each(self.clients, clients.require)
        return (lambda: self.measure(settings, at, here)), missing

    def measure(self, settings, at, here):
        measures = {}
        for client in here:
            with contextlib.ExitStack() as stack:
                (process,), (memory,) = clients.start_python(client, at, self.load, stack, {})
                process.begin(settings.seconds)
                most = process.answer(clients.PROGRAM_SECONDS)["max_rss_kb"]
            measures[f"{client} idle session KB"] = memory["session_kb"]
            measures[f"{client} busy thread KB"] = (most - memory["idle_kb"]) / self.load.threads
            measures[f"{client} rss KB"] = most
        return measures
