"""What the Python tests share: where things are, and a running Kiln.

MORTAR_BUILD names the CMake build folder whose programs are tested (default build/dev).
MORTAR_SHARED names a folder of recordings that is no part of the checkout; tests that need it are
skipped, by name, where it is not set.
MORTAR_SEED repeats the random tests of a run: the head of each run's output shows it.
"""

import contextlib
import os
import pathlib
import random
import re
import subprocess
import sys
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
os.environ.setdefault("MORTAR_SEED", str(random.SystemRandom().randrange(2**32)))


def pytest_report_header():
    return f"MORTAR_SEED={os.environ['MORTAR_SEED']}"


def pytest_terminal_summary(terminalreporter):
    """What tests marked `told` have printed: counts and tables that a reader of CI wants to see."""
    terminalreporter.write_line(pytest_report_header())
    for report in terminalreporter.stats.get("passed", []):
        if "told" in report.keywords and report.capstdout.strip():
            terminalreporter.write_line(f"{report.nodeid}:")
            terminalreporter.write_line(report.capstdout.strip("\n"))


def built(pattern):
    """The one file below the build folder that fits the pattern."""
    builds = [ROOT / "build" / "dev", ROOT / "build" / "release"]
    if "MORTAR_BUILD" in os.environ:
        builds = [pathlib.Path(os.environ["MORTAR_BUILD"])]
    build = next((folder for folder in builds if folder.is_dir()), builds[0])
    found = sorted(build.glob(pattern))
    assert found, f"nothing below {build.name} fits {pattern}: was it built?"
    return found[0]


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture(scope="session")
def library():
    """libmortar.so of the build under test."""
    return built("**/libmortar.so")


@pytest.fixture(scope="session")
def shared():
    """The folder of MORTAR_SHARED."""
    folder = os.environ.get("MORTAR_SHARED")
    if not folder:
        pytest.skip("MORTAR_SHARED is not set")
    return pathlib.Path(folder)


def wait_for_uri(process, ready, log, seconds=60):
    """The address in the ready file; fails with the log when the server ends or takes too long."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and process.poll() is None:
        uri = re.search(r'https?://[^\s"]+', ready.read_text() if ready.exists() else "")
        if uri:
            return uri.group()
        time.sleep(0.05)
    pytest.fail(f"Kiln did not start:\n{log.read_text()}")


@contextlib.contextmanager
def canned(*options):
    """The address of a kiln-canned of its own, which must end cleanly."""
    process = subprocess.Popen([built("**/kiln-canned"), *options], stdout=subprocess.PIPE, text=True)
    try:
        yield process.stdout.readline().split()[-1]
    finally:
        process.terminate()
        assert process.wait(timeout=10) == 0
        process.stdout.close()


@pytest.fixture(scope="session")
def kiln_uri(tmp_path_factory):
    """The address of a Kiln that runs as long as the tests do, on a free port."""
    folder = tmp_path_factory.mktemp("kiln")
    ready, log = folder / "ready", folder / "log"
    command = [sys.executable, "-m", "mortar.kiln", "--port", "0", "--ready-file", str(ready)]
    with open(log, "w") as out:
        process = subprocess.Popen(command, cwd=folder, stdout=out, stderr=subprocess.STDOUT)
    try:
        yield wait_for_uri(process, ready, log)
    finally:
        process.terminate()
        process.wait(timeout=30)
