#!/usr/bin/env python3
"""Makes the pages of a run from its results file, and nothing but from it:

    report.py bench/results/DATE.json     the tables of docs/benchmarks.md and of README.md, between
                                          their marks, and docs/benchmarks.svg
    report.py --check                     exit status 1 unless they are what the named file gives
"""

import json
import re
import sys
from pathlib import Path

import chart

ROOT = Path(__file__).resolve().parent.parent
MARK = "<!-- made by bench/report.py from {}: do not edit -->"
END = "<!-- made by bench/report.py: end -->"
BLOCK = re.compile(
    re.escape(MARK).replace(r"\{\}", r"(bench/results/[\w.-]+\.json)") + r"\n.*?" + re.escape(END),
    re.DOTALL,
)
PAGES = ("docs/benchmarks.md", "README.md")
CHART = "docs/benchmarks.svg"

NAMES = {"plain": "plain", **chart.NAMES}
# Columns of a row's table: heading, measure, divisor.
COLUMNS = (
    ("statements/s", "statements/s", 1),
    ("p50 ms", "p50 us", 1000),
    ("p99 ms", "p99 us", 1000),
    ("client CPU µs", "cpu us", 1),
    ("switches", "switches", 1),
    ("most memory MB", "rss KB", 1024),
    ("exchanges", "exchanges", 1),
    ("server CPU µs", "server us", 1),
)


# ---- Numbers and tables ------------------------------------------------------------------------


def number(value, digits=3):
    """So many digits, or all that stand before the point."""
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


def with_ends(ends, divisor=1, digits=3):
    median, least, most = (number(ends[key] / divisor, digits) for key in ("median", "min", "max"))
    return f"{median} ({least} to {most})"


def table(heading, lines):
    rows = [heading, ["---"] * len(heading), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def reach_table(rows):
    lines = []
    for row in rows:
        for reach in row["reaches"]:
            ends = row.get("summary", {}).get(reach["measure"])
            word = "met" if reach["met"] else "**missed**" if ends else "not measured"
            lines.append([f"`{row['name']}`", reach["reach"],
                          with_ends(ends, digits=4) if ends else "-", word])
    return table(["row", "reach", "median (min to max)", ""], lines)


def clients_of(row):
    return [client for client in NAMES if f"{client} statements/s" in row["summary"]]


def client_table(row):
    """One line for each client; measures that a client has not are left empty."""
    summary, lines = row["summary"], []
    for client in clients_of(row):
        cells = [
            with_ends(summary[f"{client} {measure}"], divisor)
            if f"{client} {measure}" in summary
            else ""
            for _, measure, divisor in COLUMNS
        ]
        lines.append([NAMES[client], *cells])
    return table(["", *(heading for heading, _, _ in COLUMNS)], lines)


def measure_table(row):
    lines = [[name, with_ends(ends)] for name, ends in row["summary"].items()]
    return table(["measure", "median (min to max)"], lines)


def row_section(row):
    parts = [f"### `{row['name']}`: {row['title']}"]
    if "problem" in row:
        return "\n\n".join([*parts, f"Not measured: {row['problem']}."])
    compared = "plain statements/s" in row["summary"]
    parts.append(client_table(row) if compared else measure_table(row))
    parts += [f"{NAMES[client]}: not measured, {why}." for client, why in row["missing"].items()]
    return "\n\n".join(parts)


# ---- Pages -------------------------------------------------------------------------------------


def machine_text(results):
    machine, settings = results["machine"], results["settings"]
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    return (
        f"{settings['date']}: {machine['cpu']}, {machine['cores']} cores, {machine['memory GB']} GB, "
        f"{machine['system']}, load {machine['load'][0]:g} at the start; {versions}; Mortar as of commit "
        f"{machine['commit']}. Up to {settings['rounds']} rounds of {settings['seconds']:g} s for each "
        f"program, {settings['minutes']:g} minutes in all."
    )


def benchmarks_block(results):
    rows = results["rows"]
    parts = [
        machine_text(results),
        "![Statements per second as a share of plain's](benchmarks.svg)",
        reach_table(rows),
        *(row_section(row) for row in rows),
    ]
    return "\n\n".join(parts)


class Lines:
    """The lines of the README's table; one whose numbers were not measured is left out."""

    def __init__(self, results):
        self.rows = {row["name"]: row.get("summary", {}) for row in results["rows"]}
        self.lines = []

    def add(self, row, what, ours, beside):
        """The cells are formats with the names of measures: "{mortar cpu us} µs"."""
        values = {name: number(ends["median"]) for name, ends in self.rows.get(row, {}).items()}
        try:
            cells = [re.sub(r"\{([^}]+)\}", lambda m: values[m[1]], cell) for cell in (ours, beside)]
        except KeyError:
            return
        self.lines.append([what, *cells])


def readme_block(results):
    lines = Lines(results)
    lines.add("one-row", "client CPU of a one-row statement, in C", "{core cpu us} µs",
              "{plain cpu us} µs for plain")
    lines.add("one-row", "the same from Python (cursor, execute, fetchall, close)",
              "{mortar cpu us} µs",
              "{connector cpu us} µs for databricks-sql-connector, {kernel cpu us} µs for its kernel")
    lines.add("rows-1000", "client CPU of 1,000 rows in 72 LZ4 batches, from Python",
              "{mortar cpu us} µs", "{connector cpu us} µs for the connector, {kernel cpu us} µs for "
              "its kernel; {plain cpu us} µs for plain, which unpacks nothing")
    lines.add("200x20", "statements/s of 200 Python threads, 20 ms server time",
              "{mortar statements/s}", "{plain statements/s} for plain, {connector statements/s} for "
              "the connector, {kernel statements/s} for its kernel")
    lines.add("4x200x20", "the same in 4 processes", "{mortar statements/s}",
              "{plain statements/s} for plain, {connector statements/s} for the connector, "
              "{kernel statements/s} for its kernel")
    lines.add("gil", "interpreter's lock held by a one-row statement", "{mortar gil us} µs",
              "{connector gil us} µs for the connector")
    lines.add("memory", "memory of an idle session", "{mortar idle session KB} KB",
              "{connector idle session KB} KB for the connector")
    lines.add("tls-connect", "opening a session over TLS with the system's CA bundle, 200 at once",
              "{cpu ms} ms CPU, {rss KB} KB", "{first cpu ms} ms, {first rss KB} KB for the first, "
              "which parses the bundle")
    return "\n\n".join([
        table(["what", "Mortar", "beside it"], lines.lines),
        "What was to be reached, as ratios of the same run ([the rows](docs/benchmarks.md)):",
        reach_table(results["rows"]),
    ])


MAKERS = dict(zip(PAGES, (benchmarks_block, readme_block)))


def make_chart(results):
    groups = []
    for row in results["rows"]:
        summary = row.get("summary", {})
        shares = {
            client: summary[f"{client} rate ratio"]
            for client in chart.CLIENTS
            if f"{client} rate ratio" in summary
        }
        if shares:
            groups.append((f"{row['name']}: {row['title']}", shares))
    return chart.draw(groups)


def with_block(page, name, block):
    """The page's text with the block of the results file in the place of the old one."""
    new = f"{MARK.format(name)}\n\n{block}\n\n{END}"
    text, count = BLOCK.subn(lambda _: new, page)
    if count != 1:
        raise ValueError("one marked block is wanted in the page")
    return text


def source_of(page):
    """The results file that a page names."""
    return BLOCK.search(page).group(1)


def made(name):
    """{path: text} of everything that the results file gives."""
    results = json.loads((ROOT / name).read_text())
    texts = {
        path: with_block((ROOT / path).read_text(), name, make(results))
        for path, make in MAKERS.items()
    }
    return texts | {CHART: make_chart(results)}


def main(arguments):
    if arguments == ["--check"]:
        texts = made(source_of((ROOT / PAGES[0]).read_text()))
        stale = [path for path, text in texts.items() if (ROOT / path).read_text() != text]
        for path in stale:
            print(f"{path}: not what its results file gives; run bench/report.py")
        return 1 if stale else 0
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    name = Path(arguments[0]).resolve().relative_to(ROOT).as_posix()
    for path, text in made(name).items():
        (ROOT / path).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
