"""The load server itself beside the bare epoll responder, both under the plain client: what
kiln-canned costs more than the least that a server can do. It must be little, or the server and not
the client would be measured where both share a machine."""

from dataclasses import dataclass

import clients
import server
from clients import Load
from measures import Reach


@dataclass(frozen=True)
class ServerRow:
    name: str
    title: str
    load: Load = Load()
    reaches: tuple[Reach, ...] = ()
    full: bool = False
    shown: tuple[str, ...] = (
        "kiln server us",
        "bare server us",
        "server ratio",
        "kiln client us",
        "bare client us",
        "kiln statements/s",
        "bare statements/s",
    )

    def prepare(self, settings, stack):
        if self.load.sessions == 1:
            stack.enter_context(server.one_core())
        ms = self.load.server_ms
        kiln = stack.enter_context(server.canned(settings.build, "--server-time", str(ms)))
        request, reply = clients.record(settings, kiln, self.load.sql)
        bare = stack.enter_context(server.responder(settings.build, reply, ms))
        servers = {"kiln": kiln, "bare": bare}
        commands = {
            who: clients.plain_command(settings, at, self.load, request)
            for who, at in servers.items()
        }
        return (lambda: self.measure(servers, commands)), {}

    def measure(self, servers, commands):
        measures = {}
        for who, at in servers.items():
            cpu = at.cpu_seconds()
            report = clients.run_program(*commands[who])
            cpu = at.cpu_seconds() - cpu
            # Each thread asks once to learn the length of a reply, then warms up.
            unmeasured = self.load.sessions * (1 + clients.warm_up(self.load))
            measures[f"{who} server us"] = cpu / (report["statements"] + unmeasured) * 1e6
            measures[f"{who} client us"] = report["cpu_us"]
            measures[f"{who} statements/s"] = report["per_second"]
            measures[f"{who} p99 us"] = report["p99_us"]
        measures["server ratio"] = measures["kiln server us"] / measures["bare server us"]
        return measures
