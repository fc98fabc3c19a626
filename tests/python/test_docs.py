"""Runs every code block of the pages that is marked `<!-- run -->` (scripts/check_docs.py holds the
marks themselves). C is compiled against the library under test and run with the address of a Kiln
as its argument; shell and Python find the address in KILN_URI."""

import os
import subprocess
import sys

import pytest

from conftest import ROOT

sys.path.insert(0, str(ROOT / "scripts"))

import check_docs  # noqa: E402
import tree  # noqa: E402


def marked_blocks():
    for page in tree.files(ROOT, (".md",)):
        blocks = check_docs.runnable_blocks(tree.read(ROOT, page))
        for number, (language, code) in enumerate(blocks, 1):
            yield pytest.param(language, code, id=f"{page}-{number}")


def compiled(code, folder, library):
    """The program that a user makes of the block: warnings count as errors."""
    (folder / "example.c").write_text(code)
    command = ["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-o", "example", "example.c"]
    command += [f"-I{ROOT / 'include'}", str(library), f"-Wl,-rpath,{library.parent}"]
    subprocess.run(command, cwd=folder, check=True)
    return str(folder / "example")


@pytest.mark.parametrize("language, code", list(marked_blocks()))
def test_block(language, code, tmp_path, request, kiln_uri):
    if language == "c":
        program = compiled(code, tmp_path, request.getfixturevalue("library"))
        command = [program, kiln_uri]
    else:
        command = {"sh": ["bash", "-euc"], "python": [sys.executable, "-c"]}[language] + [code]
    path = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"
    environment = {**os.environ, "KILN_URI": kiln_uri, "PATH": path}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout, "an example that shows nothing teaches nothing"


def test_readme_example_counts_the_flights(tmp_path, library, kiln_uri):
    (code,) = [c for l, c in check_docs.runnable_blocks((ROOT / "README.md").read_text()) if l == "c"]
    program = compiled(code, tmp_path, library)
    said = subprocess.run([program, kiln_uri], stdout=subprocess.PIPE, text=True, check=True).stdout
    assert said == "336776 flights\n"


def test_readme_example_says_what_went_wrong(tmp_path, library):
    (code,) = [c for l, c in check_docs.runnable_blocks((ROOT / "README.md").read_text()) if l == "c"]
    program = compiled(code, tmp_path, library)
    done = subprocess.run(
        [program, "http://127.0.0.1:1/nobody"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert "127.0.0.1:1: no connection" in done.stderr
