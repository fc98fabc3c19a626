"""Starts kiln-canned, the load server, as a process of its own and stops it again.

Its CPU is never part of a client's numbers. It refuses nothing and measures nothing.
"""

import contextlib
import os
import re
import subprocess
import urllib.parse
from dataclasses import dataclass
from pathlib import Path

STOP_SECONDS = 10  # it stops at once; one that does not is ended by force


@dataclass(frozen=True)
class Address:
    uri: str
    host: str
    port: int
    path: str


def find_program(build, name):
    """A program of the build folder; where in it is CMake's business."""
    places = [build / "bench" / name, build / "kiln" / name, build / "kiln" / "canned" / name]
    for place in places:
        if place.is_file():
            return place
    raise FileNotFoundError(f"{name} is not in {build}: run `make build` first")


def read_address(process):
    """The ready line names the URI; anything else means that it did not start."""
    line = process.stdout.readline()
    match = re.search(r"https?://\S+", line)
    if not match:
        raise RuntimeError(f"kiln-canned did not start: {line.strip() or 'it said nothing'}")
    parts = urllib.parse.urlsplit(match.group())
    return Address(match.group(), parts.hostname, parts.port, parts.path)


def stop(process):
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextlib.contextmanager
def one_core():
    """What is started inside shares one core, client and server in turn.

    Free to move, a pair that answers each other lands now on one core and now on two, where every
    wake-up of a sleeping core costs three times as much: the same program then differs by a factor
    of three from round to round. Systems that can't pin leave it as it is.
    """
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


@contextlib.contextmanager
def canned(build: Path, *options):
    """with canned(build, "--server-time", "10") as address: ..."""
    command = [find_program(build, "kiln-canned"), "--port", "0", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    try:
        yield read_address(process)
    finally:
        stop(process)
        process.stdout.close()
