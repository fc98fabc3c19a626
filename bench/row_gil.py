"""How long a statement holds the interpreter's lock (the GIL), in which no other Python thread gets
on. A counting thread beside the client wants the lock all the time; what it loses, though it has a
core, is what the client held. The counter has one core, client and server have another one.

What is lost without a client is taken off. The time that the lock needs to pass from thread to
thread is in the numbers, once for each time that a client lets it go; and after half a millisecond
of waiting for the lock a client has a cold core, so it holds it for longer than with nobody beside
it."""

import dataclasses
import os
from dataclasses import dataclass

import kernel_replies
import server
from clients import CLIENTS, Load, start_each
from measures import Reach, Skipped


@dataclass(frozen=True)
class GilRow:
    name: str
    title: str
    load: Load = Load()
    clients: tuple[str, ...] = ("mortar", "connector")
    reaches: tuple[Reach, ...] = ()
    full: bool = False
    shown: tuple[str, ...] = (
        "mortar gil us",
        "connector gil us",
        "kernel gil us",
        "mortar/connector gil",
        "mortar lock releases",
    )

    def prepare(self, settings, stack):
        if not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2:
            raise Skipped("the counter needs a core of its own")
        load = dataclasses.replace(self.load, counter=max(os.sched_getaffinity(0)))
        stack.enter_context(server.pinned(min))
        missing, options = {}, []
        if "kernel" in self.clients:
            options = kernel_replies.options_or_why(settings, load, missing)
        at = stack.enter_context(server.canned(settings.build, *options))
        started, others = start_each(
            [client for client in self.clients if client not in missing],
            lambda client: CLIENTS[client](settings, at, load, stack),
        )
        return (lambda: self.measure(started)), missing | others

    def measure(self, started):
        measures = {}
        for client, one_round in started.items():
            report = one_round()
            measures[f"{client} gil us"] = report["gil_us"]
            measures[f"{client} statements/s"] = report["per_second"]
            if "lock_releases" in report:
                measures[f"{client} lock releases"] = report["lock_releases"]
        if "mortar" in started and "connector" in started:
            ratio = measures["mortar gil us"] / measures["connector gil us"]
            measures["mortar/connector gil"] = ratio
        return measures
