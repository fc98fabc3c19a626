#!/usr/bin/env python3
"""Counts the instructions of one statement in the client, by layer, whatever the machine's speed.

Runs a hot path under callgrind for N statements and for 2N; the difference divided by N is one
statement, without start, connect and first-time costs. Work of the kernel is not counted. The
numbers move only with the code, the compiler and the libraries, so a change of a few per cent is a
change of the code. The paths and their limits are in instructions.json.
"""

import argparse
import collections
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import server

HERE = Path(__file__).resolve().parent
PATHS = HERE / "instructions.json"
PAGE = HERE.parent / "docs" / "internals" / "performance.md"
BEGIN = "<!-- made by bench/instructions.py --write: do not edit -->"
END = "<!-- made by bench/instructions.py: end -->"
RUN_SECONDS = 300  # callgrind is 50 times slower than the machine
WARM_UP = 10
LAYERS = ("base", "arrow", "codec", "net", "client")

PROGRAM = """
import sys
from mortar import sql
uri, text, fetch, count = sys.argv[1:]
with sql.connect(_connection_uri=uri, access_token="bench") as connection:
    for _ in range(int(count)):
        with connection.cursor() as cursor:
            cursor.execute(text)
            getattr(cursor, fetch)()
"""


def load_paths():
    """The hot paths by name: {"what": its title, "client": "c", "c-tls", "server" (kiln-canned is counted
    and not its client) or a method of the cursor, "sql", "statements", "limit"}."""
    return json.loads(PATHS.read_text())


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("paths", nargs="*", metavar="PATH", help=f"of {', '.join(load_paths())}; all")
    parser.add_argument("--build", type=Path, default=HERE.parent / "build" / "release",
                        help="folder of an optimised build (build/release)")
    parser.add_argument("--functions", type=int, default=0, metavar="N", help="name the N largest, too")
    parser.add_argument("--check", action="store_true",
                        help="exit status 1 when a path takes more than its limit")
    parser.add_argument("--write", action="store_true",
                        help="all paths into the table of docs/internals/performance.md")
    args = parser.parse_args()
    if args.write and args.paths:
        parser.error("--write counts all paths")
    unknown = set(args.paths) - set(load_paths())
    if unknown:
        parser.error(f"no such path: {', '.join(sorted(unknown))}")
    return args


def read_profile(file):
    """Instructions by (object, function), callees left out, from callgrind's uncompressed format."""
    counts = collections.Counter()
    function, library, skip = "", "", False
    for line in file.read_text(errors="replace").splitlines():
        if line.startswith("ob="):
            library = Path(line[3:]).name
        elif line.startswith("fn="):
            function = re.sub(r"'\d+$", "", line[3:])  # callgrind's mark of recursion
        elif line.startswith("calls="):
            skip = True  # the next line is the callee's cost
        elif line[:1].isdigit():
            if not skip:
                counts[library, function] += int(line.split()[1])
            skip = False
    return counts


def is_python(path):
    return path["client"] not in ("c", "c-tls", "server")


def command_of(path, build, at, statements):
    if is_python(path):
        return [sys.executable, "-c", PROGRAM, at.uri, path["sql"], path["client"],
                str(statements + WARM_UP)]
    trust = ["--tls-ca", at.ca_file] if at.ca_file else []
    return [server.find_program(build, "mortar_bench"), "--sql", path["sql"], *trust,
            "--statements", str(statements), "--warm-up", str(WARM_UP), at.uri]


def callgrind(out):
    return ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={out}",
            "--compress-strings=no", "--compress-pos=no"]


def run(command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=RUN_SECONDS)


def profile(path, build, at, statements, folder):
    out = folder / f"callgrind.{statements}"
    run(callgrind(out) + command_of(path, build, at, statements))
    return read_profile(out)


def profile_server(path, build, statements, folder):
    """kiln-canned writes its profile when it is stopped."""
    out = folder / f"callgrind.{statements}"
    program = server.find_program(build, "kiln-canned")
    with server.running([*callgrind(out), program, "--port", "0"]) as at:
        run(command_of(path, build, at, statements))
    return read_profile(out)


def count(path, build):
    """Instructions of one statement by (object, function)."""
    n = path["statements"]
    with tempfile.TemporaryDirectory(prefix="mortar-bench-") as name:
        folder = Path(name)
        if path["client"] == "server":
            once, twice = (profile_server(path, build, count, folder) for count in (n, 2 * n))
            return {key: (twice[key] - once[key]) / n for key in once.keys() | twice.keys()}
        tls = path["client"] == "c-tls"
        with server.canned_tls(build, folder) if tls else server.canned(build) as at:
            once = profile(path, build, at, n, folder)
            twice = profile(path, build, at, 2 * n, folder)
    return {key: (twice[key] - once[key]) / n for key in once.keys() | twice.keys()}


def layer_names(build):
    """Our functions, static ones too, by the layer whose archive holds them."""
    names = {}
    for layer in LAYERS:
        archive = build / "src" / layer / f"libmtr_{layer}.a"
        # nm would show what the compiler has put there for the linker, without static functions.
        command = ["readelf", "--wide", "--symbols", archive]
        listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        names.update({name: layer for name in re.findall(r" FUNC .* \d+ (\S+)$", listing, re.M)})
    return names


def layer_of(key, names):
    library, function = key
    if library.startswith("_native"):
        return "extension"  # stripped, with the core inside
    if library.startswith("libmortar"):
        return names.get(re.sub(r"\.\w+\.\d+$", "", function), "client")
    if library.startswith(("libc.", "ld-")):
        return "libc"
    for name in ("liblz4", "libcurl", "libssl", "libcrypto", "libevent"):
        if library.startswith(name):
            return name.removeprefix("lib")
    if "python" in library:
        return "interpreter"
    return "program" if library in ("mortar_bench", "kiln-canned") else "other"


def by_layer(counts, names):
    layers = collections.Counter()
    for key, value in counts.items():
        layers[layer_of(key, names)] += value
    return layers


def judged(path, layers):
    """What the limit is for: all of a C statement, and of a Python one what does not depend on the
    version of the interpreter."""
    return layers["extension"] if is_python(path) else sum(layers.values())


def report(name, path, counts, layers, functions):
    print(f"{name}: {path['sql']}, {judged(path, layers):,.0f} instructions, limit {path['limit']:,}")
    for layer, value in sorted(layers.items(), key=lambda item: -item[1]):
        if value >= 1:
            print(f"  {layer:12}{value:>14,.0f}")
    for (library, function), value in sorted(counts.items(), key=lambda i: -i[1])[:functions]:
        print(f"    {value:>12,.0f}  {function if not function.startswith('0x') else library}")


def table(measured):
    """Layers down, paths across; layers in the order of the source, then the libraries."""
    paths = load_paths()
    found = {layer for layers in measured.values() for layer, count in layers.items() if count >= 1}
    order = [layer for layer in (*LAYERS, "extension") if layer in found]
    order += sorted(found - set(order))
    lines = [["layer", *(path["what"] for path in paths.values())], ["---"] * (len(paths) + 1)]
    for layer in order:
        counts = (round(measured[name][layer]) for name in paths)
        lines.append([layer, *(f"{count:,}" if count else "" for count in counts)])
    lines.append(["**held to its limit**",
                  *(f"{judged(path, measured[name]):,.0f}" for name, path in paths.items())])
    lines.append(["**limit**", *(f"{path['limit']:,}" for path in paths.values())])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def with_table(page, measured):
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{table(measured)}\n\n{END}{after}"


def main():
    args = parse_arguments()
    names = layer_names(args.build)
    over, measured = [], {}
    for name, path in load_paths().items():
        if args.paths and name not in args.paths:
            continue
        counts = count(path, args.build)
        measured[name] = layers = by_layer(counts, names)
        report(name, path, counts, layers, args.functions)
        if judged(path, layers) > path["limit"]:
            over.append(name)
    if args.write:
        PAGE.write_text(with_table(PAGE.read_text(), measured))
    for name in over:
        print(f"over its limit: {name}", file=sys.stderr)
    return 1 if args.check and over else 0


if __name__ == "__main__":
    sys.exit(main())
