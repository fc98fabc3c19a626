#!/usr/bin/env python3
"""Counts the instructions of one statement in the client, whatever the machine's speed.

Runs mortar_bench under callgrind for N statements and for 2N; the difference divided by N is one
statement, without start, connect and first-time costs. Work of the kernel is not counted. The
number moves only with the code, the compiler and the libraries, so a change of a few per cent is
a change of the code.
"""

import argparse
import collections
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import server

ROOT = Path(__file__).resolve().parent.parent
RUN_SECONDS = 300  # callgrind is 50 times slower than the machine


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release",
                        help="folder of an optimised build (build/release)")
    parser.add_argument("--sql", default="SELECT 1", help="a statement of kiln-canned (SELECT 1)")
    parser.add_argument("--statements", type=int, default=500, help="N (500)")
    parser.add_argument("--top", type=int, default=25, help="functions to name (25)")
    parser.add_argument("--at-most", type=float, metavar="COUNT",
                        help="exit status 1 when a statement takes more instructions")
    args = parser.parse_args()
    if args.statements < 1:
        parser.error("--statements must be 1 or more")
    return args


def readable(function, library):
    """The name without callgrind's mark of recursion; one without symbols names its library."""
    name = re.sub(r"'\d+$", "", function)
    return f"{Path(library).name} {name}" if name.startswith("0x") else name


def read_profile(path):
    """Instructions by function, its callees left out, from callgrind's uncompressed format."""
    counts = collections.Counter()
    function, library, skip = "", "", False
    for line in path.read_text(errors="replace").splitlines():
        if line.startswith("ob="):
            library = line[3:]
        elif line.startswith("fn="):
            function = readable(line[3:], library)
        elif line.startswith("calls="):
            skip = True  # the next line is the callee's cost
        elif line[:1].isdigit():
            if not skip:
                counts[function] += int(line.split()[1])
            skip = False
    return counts


def profile(args, address, statements, folder):
    out = folder / f"callgrind.{statements}"
    command = ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={out}"]
    command += ["--compress-strings=no", "--compress-pos=no"]
    command += [server.find_program(args.build, "mortar_bench"), "--sql", args.sql]
    command += ["--statements", str(statements), "--warm-up", "10", address.uri]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=RUN_SECONDS)
    return read_profile(out)


def count(args):
    """Instructions of one statement by function."""
    with tempfile.TemporaryDirectory(prefix="mortar-bench-") as folder:
        with server.canned(args.build) as address:
            once = profile(args, address, args.statements, Path(folder))
            twice = profile(args, address, 2 * args.statements, Path(folder))
    names = once.keys() | twice.keys()
    return {name: (twice[name] - once[name]) / args.statements for name in names}


def main():
    args = parse_arguments()
    counts = count(args)
    total = sum(counts.values())
    for name, value in sorted(counts.items(), key=lambda item: -item[1])[: args.top]:
        print(f"{value:>12.1f} {value / total:>6.1%}  {name}")
    print(f"{total:>12.1f} instructions per statement: {args.sql}")
    return 1 if args.at_most is not None and total > args.at_most else 0


if __name__ == "__main__":
    sys.exit(main())
