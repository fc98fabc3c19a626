#!/usr/bin/env python3
"""Measures Mortar beside other clients and beside what the machine can do, in one run.

All numbers of a row come from rounds that lie side by side (plain, mortar, plain, mortar, ...), a
ratio is made within each round, and what counts is the median: a machine that is slower for a
while is slower for all. Nothing is compared with the numbers of another day. docs/benchmarks.md
says what each row means; rows.py is where rows are added; report.py makes the pages of a run.
"""

import argparse
import contextlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from importlib import metadata
from pathlib import Path

import rows
from clients import Settings
from measures import Skipped, judge, summarise

ROOT = Path(__file__).resolve().parent.parent
MIN_ROUNDS = 5  # a median of fewer says little
STATEMENTS_OF_A_THREAD = 20  # in a round, at least
QUICK = {"rounds": MIN_ROUNDS, "seconds": 0.1}
PACKAGES = ("databricks-sql-connector", "databricks-sql-kernel", "pyarrow", "pandas")
LIBRARIES = ("libcurl", "openssl", "liblz4")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release",
                        help="folder of an optimised build (build/release)")
    parser.add_argument("--out", type=Path,
                        help="where the numbers go (build/bench/results.json; those of all rows "
                        "in full length to bench/results/DATE.json)")
    parser.add_argument("--full", action="store_true", help="all rows, 11 rounds of each")
    parser.add_argument("--rounds", type=int, help="rounds of each row, at least 5 (5; 11 with --full)")
    parser.add_argument("--seconds", type=float,
                        help="of one program in one round, at most 10 (0.5; 1 with --full)")
    parser.add_argument("--quick", action="store_true", help="5 rounds of 0.1 seconds")
    parser.add_argument("--row", action="append", choices=[row.name for row in rows.ROWS],
                        help="only this row; may be repeated")
    parser.add_argument("--check", action="store_true",
                        help="exit status 1 unless every reach is met")
    args = parser.parse_args()
    if args.quick:
        vars(args).update(QUICK)
    args.rounds = args.rounds or (11 if args.full else MIN_ROUNDS)
    args.seconds = (1.0 if args.full else 0.5) if args.seconds is None else args.seconds
    if args.rounds < MIN_ROUNDS or not 0 < args.seconds <= 10:
        parser.error("--rounds must be 5 or more, --seconds above 0 and at most 10")
    args.out = args.out or default_out(args)
    return args


def default_out(args):
    if args.quick or args.row:
        return ROOT / "build" / "bench" / "results.json"
    return ROOT / "bench" / "results" / f"{time.strftime('%Y-%m-%d')}.json"


# ---- The machine -------------------------------------------------------------------------------


def cpu_model():
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def versions():
    """What the clients are made of. A library that nobody knows here is left out."""
    found = {"Python": platform.python_version()}
    for name in LIBRARIES:
        with contextlib.suppress(OSError, subprocess.CalledProcessError):
            command = ["pkg-config", "--modversion", name]
            found[name] = subprocess.check_output(command, text=True).strip()
    for name in PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def commit():
    """What is measured; with a plus where the checkout has changes."""
    with contextlib.suppress(OSError, subprocess.CalledProcessError):
        command = ["git", "-C", ROOT, "describe", "--always", "--exclude=*", "--dirty=+"]
        return subprocess.check_output(command, text=True, stderr=subprocess.DEVNULL).strip()
    return "unknown"


def machine():
    release = ".".join(platform.release().split(".")[:2])
    return {
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "memory GB": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "system": f"{platform.system()} {release} {platform.machine()}",
        "load": [round(value, 2) for value in os.getloadavg()],
        "versions": versions(),
        "commit": commit(),
    }


# ---- Rows --------------------------------------------------------------------------------------


def seconds_of(row, args):
    """Of one program: long enough for some statements of each thread, or the ends of a round, where
    not all threads are at work, weigh too much. A quick round is only to see that it works."""
    load = getattr(row, "load", None)
    if args.quick or load is None:
        return args.seconds
    return max(args.seconds, STATEMENTS_OF_A_THREAD * load.server_ms / 1000)


def measure(row, args):
    """All rounds of one row, and the clients that are missing."""
    rounds = []
    with contextlib.ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mortar-bench-")))
        one_round, missing = row.prepare(Settings(args.build, scratch, seconds_of(row, args), args.full), stack)
        for _ in range(args.rounds):
            rounds.append(one_round())
    return rounds, missing


def run_row(row, args):
    """The numbers of a row as they are written down; one that can't be measured says why."""
    result = {"name": row.name, "title": row.title}
    begin = time.monotonic()
    try:
        rounds, missing = measure(row, args)
    except (Skipped, OSError, RuntimeError, ValueError, subprocess.SubprocessError) as problem:
        return result | {"problem": str(problem), "reaches": judge(row.reaches, {})}
    summary = summarise(rounds)
    return result | {
        "rounds": len(rounds),
        "seconds": round(time.monotonic() - begin, 1),
        "missing": missing,
        "reaches": judge(row.reaches, summary),
        "summary": summary,
    }


def print_row(row, result):
    print(f"\n{row.title}")
    if "problem" in result:
        print(f"  not measured: {result['problem']}", flush=True)
        return
    print(f"  {'':<26}{'median':>12}{'min':>12}{'max':>12}{'spread':>9}")
    for name in row.shown:
        if name not in result["summary"]:
            continue
        ends = result["summary"][name]
        numbers = "".join(f"{ends[key]:>12.2f}" for key in ("median", "min", "max"))
        print(f"  {name:<26}{numbers}{ends['spread']:>8.0%}")
    for client, why in result["missing"].items():
        print(f"  {client}: not measured: {why}")
    print(f"  {result['rounds']} rounds in {result['seconds']:.0f} s", flush=True)


def print_verdict(results):
    """The last lines: every reach, and whether it is met."""
    print()
    for result in results:
        for reach in result["reaches"]:
            value = "not measured" if reach["value"] is None else f"{reach['value']:.4g}"
            word = "met" if reach["met"] else "NOT MET"
            print(f"{word:<8}{result['name']}: {reach['reach']}: {value}")


def write_results(path, args, where, results, minutes):
    path.parent.mkdir(parents=True, exist_ok=True)
    settings = {"date": time.strftime("%Y-%m-%d"), "rounds": args.rounds, "seconds": args.seconds,
                "minutes": round(minutes, 1)}
    text = json.dumps({"machine": where, "settings": settings, "rows": results}, indent=1)
    path.write_text(text + "\n")
    print(f"\nwritten to {os.path.relpath(path)}")


def main():
    args = parse_arguments()
    where, begin = machine(), time.monotonic()
    print(f"{where['cpu']}, {where['cores']} cores, {where['system']}, load {where['load'][0]}")
    chosen = [row for row in rows.ROWS if row.name in (args.row or ()) or
              not args.row and (args.full or not row.full)]
    results = []
    for row in chosen:
        results.append(run_row(row, args))
        print_row(row, results[-1])
    write_results(args.out, args, where, results, (time.monotonic() - begin) / 60)
    print_verdict(results)
    failed = any("problem" in result for result in results)
    unmet = any(not reach["met"] for result in results for reach in result["reaches"])
    return 1 if args.check and (failed or unmet) else 0


if __name__ == "__main__":
    sys.exit(main())
