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


def test_an_unknown_path_is_named():
    result = check("no-such-path")
    assert result.returncode == 2 and "no such path: no-such-path" in result.stderr
