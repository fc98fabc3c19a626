"""The lint scripts find what they are for: each is run on a small tree that keeps its rules and on
trees that break one of them each. A check that can't fail would be worse than none."""

import shutil
import subprocess
import sys

import pytest


def plant(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def check(root, tmp_path):
    """Runs a script of scripts/ on a tree of the given files: (exit status, everything it said)."""

    def run(script, files, *arguments):
        plant(tmp_path, files)
        command = [str(root / "scripts" / script), *arguments, str(tmp_path)]
        if script.endswith(".py"):
            command.insert(0, sys.executable)
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return done.returncode, done.stdout

    return run


# ---- check_includes ----------------------------------------------------------------------------

LAYERED = {
    "include/mortar/mortar.h": "#include <stddef.h>\n",
    "src/base/buf.h": '#include "mortar/mortar.h"\n',
    "src/arrow/schema.h": '#include "base/buf.h"\n',
    "src/codec/json.h": "#include <jansson.h>\n",
    "src/net/lease.h": '#include "base/buf.h"\n#include <curl/curl.h>\n',
    "src/client/session.c": '#include "net/lease.h"\n#include "arrow/schema.h"\n',
    "kiln/server/server.h": '#include "arrow/schema.h"\n#include <event2/event.h>\n',
    "kiln/engine/duckdb.c": '#include "kiln/server/server.h"\n',
    "examples/query.c": "#include <mortar/mortar.h>\n",
    "tests/net/lease_test.c": '#include "net/lease.h"\n#include "client/session.c"\n',
}


def test_includes_accepts_the_layers(check):
    status, said = check("check_includes.py", LAYERED)
    assert status == 0, said


@pytest.mark.parametrize(
    "path, line",
    [
        ("src/base/up.c", '#include "arrow/schema.h"'),
        ("src/arrow/side.c", '#include "codec/json.h"'),
        ("src/codec/side.c", '#include "net/lease.h"'),
        ("src/net/side.c", '  #  include "arrow/schema.h"'),
        ("kiln/server/low.c", '#include "net/lease.h"'),
        ("kiln/server/engines.c", '#include "kiln/engine/duckdb.c"'),
        ("kiln/engine/low.c", '#include "client/session.c"'),
        ("examples/deep.c", '#include "base/buf.h"'),
        ("cli/deep.c", "#include <base/buf.h>"),
        ("python/native/deep.c", '#include "client/session.c"'),
        ("src/arrow/local.c", '#include "schema.h"'),
        ("src/arrow/dots.c", '#include "../base/buf.h"'),
        ("src/codec/sockets.c", "#include <sys/socket.h>"),
        ("src/client/curl.c", "#include <curl/curl.h>"),
        ("src/base/python.c", "#include <Python.h>"),
        ("attic/old.c", "#include <stddef.h>"),
    ],
)
def test_includes_refuses(check, path, line):
    status, said = check("check_includes.py", {**LAYERED, path: "/* why */\n\n" + line + "\n"})
    assert status == 1, said
    assert f"{path}:{1 if path.startswith('attic') else 3}: " in said


# ---- check_banned ------------------------------------------------------------------------------

CLEAN = {
    "src/base/alloc.c": "void *get(size_t n) { return malloc(n); }\n",
    "src/base/error.h": "#define MTR_ASSERT(cond) assert(cond)\n",
    "src/net/lease.c": (
        "/* never malloc(3) or printf(3) here */\n"
        'static const char *say = "free(x) and exit(1)"; // system(x)\n'
        "void drop(struct table *t) { t->free(t); mtr_free(t); curl_free(t); snprintf(b, n, t); }\n"
    ),
    "tests/net/port_test.c": "int port(const char *s) { system(s); return atoi(s); }\n",
    "python/native/a.c": "made = PyObject_CallOneArg(class, PyObject_Vectorcall(f, a, 1, NULL));\n",
    "examples/query.c": 'int main(void) { printf("rows\\n"); exit(0); }\n',
    "docs/paths.md": "POST https://host/workspace/x, then docs/home/x and ~/home/x\n",
}


def test_banned_accepts_what_is_fine(check):
    status, said = check("check_banned.py", CLEAN)
    assert status == 0, said


@pytest.mark.parametrize(
    "path, line",
    [
        ("src/arrow/a.c", "p = malloc(3);"),
        ("src/arrow/a.c", "free (p);"),
        ("src/client/a.h", "char *c = strdup(s);"),
        ("src/net/a.c", 'fprintf(stderr, "x");'),
        ("src/net/a.c", "if (!p) abort();"),
        ("src/net/a.c", "assert(p);"),
        ("src/net/a.c", "_exit(1);"),
        ("tests/net/a_test.c", "sprintf(b, s);"),
        ("kiln/server/a.c", "strcpy(a, b);"),
        ("kiln/canned/a.c", "system(command);"),
        ("cli/a.c", "port = atoi(s);"),
        ("python/native/a.c", "return PyObject_Call(class, args, NULL);"),
        ("python/native/a.c", "return PyObject_CallObject(class, args);"),
        ("docs/a.md", "cd /" + "home/ann/mortar"),
        ("scripts/a.sh", 'cp "/' + 'work/x" .'),
        ("scripts/b.sh", "pip install --" + "index-url x"),
    ],
)
def test_banned_refuses(check, path, line):
    status, said = check("check_banned.py", {**CLEAN, path: f"first\n{line}\n"})
    assert status == 1, said
    assert f"{path}:2: " in said


# ---- check_docs --------------------------------------------------------------------------------

PAGES = {
    "README.md": (
        "# Mortar\n\nSee [the docs](docs/README.md#the-pages), [here](#mortar) and\n"
        "[there](https://example.org/).\n\n<!-- run -->\n```c\nint main(void) { return 0; }\n```\n"
        "\n```\n[no](link.md)\n```\n"
    ),
    "docs/README.md": "# The pages\n\n- [options](options.md)\n- [inside](internals/README.md)\n",
    "docs/options.md": "# Options\n",
    "docs/internals/README.md": "# Inside\n\n- [net](net.md)\n",
    "docs/internals/net.md": "# net\n\n[up](../options.md)\n",
}


def test_docs_accepts_pages_that_hold_together(check):
    status, said = check("check_docs.py", PAGES)
    assert status == 0, said


@pytest.mark.parametrize(
    "page, more",
    [
        ("docs/options.md", "[gone](gone.md)"),
        ("docs/options.md", "[gone](../README.md#gone)"),
        ("README.md", "[gone](#no-such-heading)"),
        ("docs/orphan.md", "# An orphan"),
        ("docs/guides/README.md", "# An index that none links to"),
        ("docs/options.md", "<!-- run -->\n```cobol\nSTOP RUN.\n```"),
    ],
)
def test_docs_refuses(check, page, more):
    status, said = check("check_docs.py", {**PAGES, page: PAGES.get(page, "") + "\n" + more + "\n"})
    assert status == 1, said
    assert f"{page}:" in said


def test_docs_wants_an_example_in_the_readme(check):
    status, said = check("check_docs.py", {**PAGES, "README.md": "# Mortar\n"})
    assert status == 1
    assert "README.md:1: no C example" in said


# ---- check_format ------------------------------------------------------------------------------


def test_format(check):
    status, said = check("check_format.sh", {"src/a.c": "int main(void) { return 0; }\n"})
    if "skipped" in said:
        pytest.skip(said)
    assert status == 0, said
    status, said = check("check_format.sh", {"src/b.c": "int  f( void ){return 0 ;}\n"})
    assert status == 1
    assert "src/b.c:1:" in said
    assert "src/a.c" not in said


# ---- check_headers -----------------------------------------------------------------------------

ALONE = {
    "include/mortar/mortar.h": "#include <stddef.h>\nstruct mortar_x { size_t n; };\n",
    "src/base/x.h": '#include "mortar/mortar.h"\nstatic inline size_t x(void) { return 1; }\n',
}


def test_headers_accepts_what_compiles_alone(check):
    status, said = check("check_headers.sh", ALONE)
    assert status == 0, said
    assert "2 headers" in said


@pytest.mark.parametrize(
    "path, text, compiler",
    [
        ("src/base/y.h", "uint32_t y(void);\n", "gcc"),
        ("src/base/y.h", "static inline int y(long n) { return n; }\n", "clang"),
        ("include/mortar/y.h", "struct mortar_y { int class; };\n", "g++"),
    ],
)
def test_headers_refuses(check, path, text, compiler):
    status, said = check("check_headers.sh", {**ALONE, path: text})
    assert status == 1, said
    assert f"{path}: does not compile alone" in said
    assert f"with {compiler}" in said


# ---- check_symbols -----------------------------------------------------------------------------

HEADER = """#define MORTAR_API __attribute__((visibility("default")))
/* MORTAR_API mortar_in_a_comment() is none. */
MORTAR_API const char *mortar_one(void);
MORTAR_API int mortar_two(
    int a);
"""
MAP = "MORTAR_0 {\n  global:\n    mortar_one;\n    mortar_two; /* mortar_old */\n  local: *;\n};\n"
SOURCE = """#include <stdio.h>
#include <stdlib.h>
#include "mortar/mortar.h"
const char *mortar_one(void) { return "1"; }
int mortar_two(int a) { char b[9]; return snprintf(b, sizeof(b), "%d", a); }
"""


@pytest.fixture
def check_symbols(check, tmp_path):
    """Links a library from the source and has it checked against header and export list."""

    def run(header=HEADER, exports=MAP, source=SOURCE):
        files = {"include/mortar/mortar.h": header, "src/client/libmortar.map": exports}
        plant(tmp_path, {**files, "one.c": source})
        library = tmp_path / "libmortar.so"
        command = ["gcc", "-shared", "-fPIC", "-fvisibility=hidden", "-Iinclude", "one.c"]
        subprocess.run([*command, "-o", library.name], cwd=tmp_path, check=True)
        return check("check_symbols.sh", files, str(library))

    return run


@pytest.mark.skipif(not shutil.which("nm"), reason="nm is not here")
class TestSymbols:
    def test_accepts(self, check_symbols):
        status, said = check_symbols()
        assert status == 0, said
        assert "2 functions exported" in said

    def test_refuses_one_that_the_list_lacks(self, check_symbols):
        status, said = check_symbols(exports=MAP.replace("    mortar_two;", "   "))
        assert status == 1
        assert "mortar_two" in said

    def test_refuses_one_that_the_library_lacks(self, check_symbols):
        more = "MORTAR_API int mortar_three(void);\n"
        status, said = check_symbols(HEADER + more, MAP.replace("one;", "one; mortar_three;"))
        assert status == 1
        assert "mortar_three" in said

    def test_refuses_one_that_the_library_adds(self, check_symbols):
        more = "MORTAR_API int mtr_hidden(void) { return 1; }\n"
        status, said = check_symbols(source=SOURCE + more)
        assert status == 1
        assert "mtr_hidden" in said

    def test_refuses_an_export_list_of_patterns(self, check_symbols):
        status, said = check_symbols(exports=MAP.replace("mortar_one;", "mortar_*;"))
        assert status == 1
        assert "mortar_*" in said

    @pytest.mark.parametrize(
        "call", ["abort();", "exit(a);", 'printf("%d", a);', 'fprintf(stderr, "%d", a);']
    )
    def test_refuses_a_library_that_prints_or_ends(self, check_symbols, call):
        status, said = check_symbols(source=SOURCE.replace("char b[9];", f"char b[9]; {call}"))
        assert status == 1
        assert "must not use" in said


# ---- steps -------------------------------------------------------------------------------------

CTEST = "100% tests passed, 0 tests failed out of 35"
PYTEST = "40 passed, 3 skipped in 4.20s"


@pytest.fixture
def steps(root, tmp_path):
    """Runs a script that sources steps.sh: (exit status, its lines)."""

    def run(*lines):
        script = "\n".join([f"set -uo pipefail; source '{root}/scripts/steps.sh'", *lines])
        done = subprocess.run(["bash", "-c", script], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
        return done.returncode, done.stdout.splitlines()

    return run


def test_steps_count_the_tests_of_all_runners(steps):
    status, said = steps(
        "step 'a: build' true",
        f"step 'a: ctest' echo '{CTEST}'",
        f"step 'b: ctest' echo '{CTEST}'",
        f"step 'pytest' echo '{PYTEST}'",
        "all_passed",
    )
    assert status == 0
    assert said[-1] == "110 passed, 0 failed, 3 skipped"
    assert said[-2].startswith("all steps passed in ")


def test_steps_stop_at_the_first_failure(steps, tmp_path):
    status, said = steps(
        "step 'a: build' echo fine", "step 'b: ctest' sh -c 'echo broken; exit 8'", "step c echo never"
    )
    assert status == 1
    assert said[-1].startswith('FAILED in "b: ctest" after ')
    assert "broken" in said
    assert "never" not in said
    assert (tmp_path / "build" / "log" / "b--ctest.log").read_text() == "broken\n"
