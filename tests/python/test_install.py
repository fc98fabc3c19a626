"""What `cmake --install` lays down is enough to build a program: header, library, pkg-config file,
under a prefix that is known only then."""

import os
import shlex
import subprocess
import sys

from conftest import ROOT, built

sys.path.insert(0, str(ROOT / "scripts"))

import check_docs  # noqa: E402


def test_installed_library_builds_the_readme_example(tmp_path, kiln_uri):
    build = built("CMakeCache.txt").parent
    prefix = tmp_path / "some where"
    command = ["cmake", "--install", str(build), "--prefix", str(prefix), "--component", "core"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    (pc,) = prefix.glob("**/mortar.pc")
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "mortar"],
        env={**os.environ, "PKG_CONFIG_PATH": str(pc.parent)},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout
    (code,) = [c for l, c in check_docs.runnable_blocks((ROOT / "README.md").read_text()) if l == "c"]
    (tmp_path / "example.c").write_text(code)
    compile_it = ["cc", "-std=c11", "example.c", "-o", "example", *shlex.split(flags)]
    subprocess.run(compile_it, cwd=tmp_path, check=True)
    (library,) = prefix.glob("**/libmortar.so")
    said = subprocess.run(
        [str(tmp_path / "example"), kiln_uri],
        env={**os.environ, "LD_LIBRARY_PATH": str(library.parent)},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout
    assert said == "336776 flights\n"
