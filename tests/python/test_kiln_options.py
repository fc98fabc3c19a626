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
