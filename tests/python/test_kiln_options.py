"""Options of `python -m mortar.kiln`: what they do, and what is said of values that can't be."""

import re
import subprocess
import sys

import pytest

pytest.importorskip("mortar.kiln._kiln", reason="the extension module is not built")
sql = pytest.importorskip("mortar.sql")

KILN = [sys.executable, "-m", "mortar.kiln"]


@pytest.mark.parametrize(
    "options, words",
    [
        (["--port", "70000"], "'70000' is not a number from 0 to 65535"),
        (["--workers", "0"], "'0' is not a number from 1 to 256"),
        (["--batch-rows", "-1"], "--batch-rows"),
        (["--page-batches", "x"], "'x' is not a number"),
        (["--protocol", "HIVE_V11"], "kiln: 'HIVE_V11' is no protocol version: HIVE_V1 to HIVE_V10"),
        (["--ready-file", "/no-such-folder/ready"], "is not a folder"),
        (
            ["--faults", "/no-such-folder/script.json"],
            "kiln: /no-such-folder/script.json: No such file or directory\n",
        ),
    ],
)
def test_bad_values_are_refused(options, words):
    done = subprocess.run(KILN + options, capture_output=True, text=True, timeout=30)
    assert done.returncode != 0
    assert words in done.stderr and "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("missing", ["_duckdb", "sqlglot"])
def test_what_is_not_installed_is_named_with_both_ways_to_get_it(missing):
    code = f"import sys; sys.modules[{missing!r}] = None; from mortar.kiln.__main__ import main; main([])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert done.returncode == 1
    assert "pip install 'mortar-sql[kiln]'" in done.stderr and "'.[kiln]'" in done.stderr


def test_help_has_an_example_and_the_default_of_the_token():
    done = subprocess.run([*KILN, "--help"], capture_output=True, text=True, timeout=30)
    words = " ".join(done.stdout.split())
    assert "example: kiln --port" in words and "any or none is taken otherwise" in words


@pytest.mark.parametrize("options", [[], ["--token", "it's"], ["--tls"]])
@pytest.mark.parametrize("module", ["mortar", "databricks"])
def test_printed_lines_connect(module, options):
    client = pytest.importorskip(f"{module}.sql")
    process = subprocess.Popen([*KILN, *options], stdout=subprocess.PIPE, text=True)
    try:
        start = f"from {module} import sql: "
        line = next(line for line in map(str.strip, process.stdout) if line.startswith(start))
        with eval(line.removeprefix(start), {"sql": client}) as connection:
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1")
                assert [row[0] for row in cursor.fetchall()] == [1]
    finally:
        process.terminate()
        process.communicate(timeout=30)
    assert process.returncode == 0


def test_number_and_size_of_batches():
    process = subprocess.Popen(
        [*KILN, "--batch-rows", "14", "--page-batches", "72"], stdout=subprocess.PIPE, text=True
    )
    try:
        uri = re.search(r"http\S+", process.stdout.readline()).group()
        with sql.connect(_connection_uri=uri) as connection:
            with connection.cursor() as cursor:
                cursor.execute("SELECT * FROM range(3000)")
                assert [row[0] for row in cursor.fetchall()] == list(range(3000))
            # OpenSession, ExecuteStatement with 1,008 rows, and pages of as many at most.
            assert connection.stats()["exchanges"] >= 4
    finally:
        process.terminate()
        assert process.wait(30) == 0
        process.stdout.close()
