"""The hot paths take no more instructions than bench/instructions.json allows: five per cent above
what they took when the limits were set. Times are no part of it, so the machine's load isn't either.

Needs valgrind, an optimised build in build/release and the extension module.
"""

import json
import pathlib
import shutil
import subprocess
import sys

import pytest

pytest.importorskip("mortar.sql", reason="the extension module is not built")

ROOT = pathlib.Path(__file__).resolve().parents[2]
PATHS = json.loads((ROOT / "bench" / "instructions.json").read_text())

if not shutil.which("valgrind"):
    pytest.skip("valgrind is not installed", allow_module_level=True)
if not (ROOT / "build" / "release" / "bench" / "mortar_bench").exists():
    pytest.skip("there is no build/release", allow_module_level=True)


def check(*options):
    command = [sys.executable, ROOT / "bench" / "instructions.py", "--check", *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


@pytest.mark.parametrize("path", PATHS)
def test_a_hot_path_keeps_its_limit(path):
    result = check(path)
    assert result.returncode == 0, result.stdout + result.stderr
    assert f"{path}: " in result.stdout


def test_a_path_over_its_limit_is_seen(tmp_path, monkeypatch):
    sys.path.insert(0, str(ROOT / "bench"))
    import instructions

    limits = {"c-one-row": {**PATHS["c-one-row"], "limit": 1000, "statements": 20}}
    (tmp_path / "limits.json").write_text(json.dumps(limits))
    monkeypatch.setattr(instructions, "PATHS", tmp_path / "limits.json")
    monkeypatch.setattr(sys, "argv", ["instructions.py", "--check"])
    assert instructions.main() == 1


def test_the_page_has_every_path_and_its_limit():
    sys.path.insert(0, str(ROOT / "bench"))
    import instructions

    page = instructions.PAGE.read_text()
    assert page.count(instructions.BEGIN) == page.count(instructions.END) == 1
    rows = {line.split("|")[1].strip(): [cell.strip() for cell in line.split("|")[2:-1]]
            for line in page.partition(instructions.BEGIN)[2].partition(instructions.END)[0].splitlines()
            if line.startswith("|")}
    assert rows["layer"] == [path["what"] for path in PATHS.values()]
    assert rows["**limit**"] == [f"{path['limit']:,}" for path in PATHS.values()]
    for held, path in zip(rows["**held to its limit**"], PATHS.values(), strict=True):
        assert 0.9 * path["limit"] < int(held.replace(",", "")) <= path["limit"]


def test_an_unknown_path_is_named():
    result = check("no-such-path")
    assert result.returncode == 2 and "no such path: no-such-path" in result.stderr
