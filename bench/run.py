#!/usr/bin/env python3
"""Measures Mortar beside what the machine can do, in one run.

All numbers of a row come from rounds that lie side by side (plain, mortar, plain, mortar, ...), a
ratio is made within each round, and what counts is the median: a machine that is slower for a
while is slower for both. Nothing is compared with the numbers of another day. docs/benchmarks.md
says what each row means; rows.py is where rows are added.
"""

import argparse
import contextlib
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import rows

ROOT = Path(__file__).resolve().parent.parent
MIN_ROUNDS = 5  # a median of fewer says little
LIMIT_SECONDS = 540  # past this, no row runs more than MIN_ROUNDS
QUICK = {"rounds": MIN_ROUNDS, "seconds": 0.3}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release",
                        help="folder of an optimised build (build/release)")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench" / "results.json",
                        help="where the numbers go (build/bench/results.json)")
    parser.add_argument("--rounds", type=int, default=11,
                        help="rounds of each row, at least 5 (11)")
    parser.add_argument("--seconds", type=float, default=1.0,
                        help="of one program in one round, at most 10 (1)")
    parser.add_argument("--quick", action="store_true", help="5 rounds of 0.3 seconds")
    parser.add_argument("--row", action="append", choices=[row.name for row in rows.ROWS],
                        help="only this row; may be repeated")
    parser.add_argument("--check", action="store_true",
                        help="exit status 1 unless every reach is met")
    args = parser.parse_args()
    if args.quick:
        vars(args).update(QUICK)
    if args.rounds < MIN_ROUNDS or not 0 < args.seconds <= 10:
        parser.error("--rounds must be 5 or more, --seconds above 0 and at most 10")
    return args


def cpu_model():
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def machine():
    return {
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "load": [round(value, 2) for value in os.getloadavg()],
    }


def measure(row, args, deadline):
    """All rounds of one row."""
    rounds = []
    with contextlib.ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mortar-bench-")))
        one_round = row.prepare(rows.Settings(args.build, scratch, args.seconds), stack)
        while len(rounds) < args.rounds:
            if len(rounds) >= MIN_ROUNDS and time.monotonic() > deadline:
                break
            rounds.append(one_round())
    return rounds


def summarise(rounds):
    """Each measure over the rounds. `spread` is how far its ends are apart, in medians."""
    summary = {}
    for name in rounds[0]:
        values = [a_round[name] for a_round in rounds]
        median = statistics.median(values)
        ends = {"median": median, "min": min(values), "max": max(values)}
        summary[name] = ends | {"spread": (max(values) - min(values)) / median if median else 0.0}
    return summary


def judge(row, summary):
    return [
        {
            "reach": str(reach),
            "value": summary[reach.measure]["median"],
            "met": reach.met(summary[reach.measure]["median"]),
        }
        for reach in row.reaches
    ]


def run_row(row, args, deadline):
    """The numbers of a row as they are written down; one that can't be measured says why."""
    result = {"name": row.name, "title": row.title}
    try:
        rounds = measure(row, args, deadline)
    except (rows.Skipped, OSError, RuntimeError, ValueError, subprocess.SubprocessError) as problem:
        reaches = [{"reach": str(reach), "value": None, "met": False} for reach in row.reaches]
        return result | {"problem": str(problem), "reaches": reaches}
    summary = summarise(rounds)
    reaches = judge(row, summary)
    return result | {"summary": summary, "reaches": reaches, "rounds": rounds}


def print_row(row, result):
    print(f"\n{row.title}")
    if "problem" in result:
        print(f"  not measured: {result['problem']}", flush=True)
        return
    print(f"  {'':<16}{'median':>12}{'min':>12}{'max':>12}{'spread':>9}")
    for name in row.shown:
        ends = result["summary"][name]
        numbers = "".join(f"{ends[key]:>12.2f}" for key in ("median", "min", "max"))
        print(f"  {name:<16}{numbers}{ends['spread']:>8.0%}")
    print(f"  {len(result['rounds'])} rounds", flush=True)


def print_verdict(results):
    """The last lines: every reach, and whether it is met."""
    print()
    for result in results:
        for reach in result["reaches"]:
            value = "not measured" if reach["value"] is None else f"{reach['value']:.2f}"
            word = "met" if reach["met"] else "NOT MET"
            print(f"{word:<8}{result['name']}: {reach['reach']}: {value}")


def write_results(path, args, where, results):
    path.parent.mkdir(parents=True, exist_ok=True)
    settings = {"rounds": args.rounds, "seconds": args.seconds}
    text = json.dumps({"machine": where, "settings": settings, "rows": results}, indent=1)
    path.write_text(text + "\n")


def main():
    args = parse_arguments()
    deadline = time.monotonic() + LIMIT_SECONDS
    where = machine()
    print(f"{where['cpu']}, {where['cores']} cores, {where['system']}, load {where['load'][0]}")
    chosen = [row for row in rows.ROWS if not args.row or row.name in args.row]
    results = []
    for row in chosen:
        results.append(run_row(row, args, deadline))
        print_row(row, results[-1])
    write_results(args.out, args, where, results)
    print_verdict(results)
    failed = any("problem" in result for result in results)
    unmet = any(not reach["met"] for result in results for reach in result["reaches"])
    return 1 if args.check and (failed or unmet) else 0


if __name__ == "__main__":
    sys.exit(main())
