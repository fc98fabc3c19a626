"""Starts a server, kiln-canned or the bare responder, as a process of its own and stops it again;
and reads what it used. Its CPU is never part of a client's numbers. It refuses nothing.
"""

import contextlib
import json
import os
import re
import ssl
import subprocess
import urllib.parse
import urllib.request
from dataclasses import dataclass
from pathlib import Path

STOP_SECONDS = 10  # it stops at once; one that does not is ended by force


@dataclass(frozen=True)
class Server:
    uri: str
    host: str
    port: int
    path: str
    pid: int
    ca_file: Path | None  # None: no TLS

    def cpu_seconds(self):
        """CPU of all its threads so far. They live as long as it does."""
        tasks = Path(f"/proc/{self.pid}/task").glob("*/schedstat")
        return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9

    def stats(self):
        """What kiln-canned counts. This question is one of its requests, over TLS also one of its
        handshakes."""
        trust = ssl.create_default_context(cafile=self.ca_file) if self.ca_file else None
        address = urllib.parse.urljoin(self.uri, "/kiln/stats")
        with urllib.request.urlopen(address, context=trust) as reply:
            return json.load(reply)


def find_program(build, name):
    """A program of the build folder; where in it is CMake's business."""
    places = [build / "bench" / name, build / "kiln" / name, build / "kiln" / "canned" / name]
    for place in places:
        if place.is_file():
            return place
    raise FileNotFoundError(f"{name} is not in {build}: run `make build` first")


def read_ready_line(process, ca_file):
    """The line names the URI; anything else means that it did not start."""
    line = process.stdout.readline()
    match = re.search(r"https?://\S+", line)
    if not match:
        raise RuntimeError(f"the server did not start: {line.strip() or 'it said nothing'}")
    parts = urllib.parse.urlsplit(match.group())
    return Server(match.group(), parts.hostname, parts.port, parts.path, process.pid, ca_file)


def stop(process):
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextlib.contextmanager
def pinned(choose):
    """What is started inside runs on one core: choose is min or max, for one end of those allowed.
    Systems that can't pin leave it as it is."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {choose(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def one_core():
    """What is started inside shares one core, client and server in turn.

    Free to move, a pair that answers each other lands now on one core and now on two, where every
    wake-up of a sleeping core costs three times as much: the same program then differs by a factor
    of three from round to round.
    """
    return pinned(max)


@contextlib.contextmanager
def running(command, ca_file=None):
    process = subprocess.Popen(
        [str(word) for word in command],
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield read_ready_line(process, ca_file)
    finally:
        stop(process)
        process.stdout.close()


def canned(build, *options):
    """with canned(build, "--server-time", "10") as at: ..."""
    return running([find_program(build, "kiln-canned"), "--port", "0", *options])


def canned_tls(build, folder, *options):
    """The same over TLS, with a certificate that is written into the folder."""
    cert = folder / "server.pem"
    command = [find_program(build, "kiln-canned"), "--port", "0", "--tls", "--cert-out", cert]
    return running([*command, *options], cert)


def responder(build, reply_file, server_ms=0):
    """The bare epoll responder with a recorded reply."""
    program = find_program(build, "responder")
    return running([program, "--reply", reply_file, "--server-time", server_ms])
