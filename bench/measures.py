"""Arithmetic of the measurements: percentiles, medians with their ends, reaches. Runs nothing."""

import statistics
from dataclasses import dataclass


class Skipped(Exception):
    """A row or a client can't be measured here; the text says why."""


@dataclass(frozen=True)
class Reach:
    """What the median of a measure must be."""

    measure: str
    at_most: float | None = None
    at_least: float | None = None

    def met(self, value):
        return not (
            (self.at_most is not None and value > self.at_most)
            or (self.at_least is not None and value < self.at_least)
        )

    def __str__(self):
        if self.at_most is not None:
            return f"{self.measure} at most {self.at_most:g}"
        return f"{self.measure} at least {self.at_least:g}"


def percentile(ordered, share):
    """The smallest of the ordered values that `share` (0 to 1) of them are not above."""
    rank = -(-share * len(ordered) // 1)  # rounded up
    return ordered[max(0, int(rank) - 1)]


def rounded(value):
    """To six digits: what follows is noise, and a file of results is read by people."""
    return float(f"{value:.6g}")


def summarise(rounds):
    """Each measure over the rounds. `spread` is how far its ends are apart, in medians."""
    summary = {}
    for name in rounds[0]:
        values = [a_round[name] for a_round in rounds if name in a_round]
        median = statistics.median(values)
        spread = (max(values) - min(values)) / median if median else 0.0
        ends = {"median": median, "min": min(values), "max": max(values), "spread": spread}
        summary[name] = {key: rounded(value) for key, value in ends.items()}
    return summary


def judge(reaches, summary):
    """Every reach with its value; one whose measure is missing is not met."""
    judged = []
    for reach in reaches:
        ends = summary.get(reach.measure)
        value = ends["median"] if ends else None
        judged.append({"reach": str(reach), "measure": reach.measure, "value": value,
                       "met": ends is not None and reach.met(value)})
    return judged


def merged(reports):
    """One report of several processes that ran side by side: sums of what adds up, means by
    statement of what a statement costs, and the worst of the latencies and of the memory."""
    total = sum(report["statements"] for report in reports)
    result = dict(reports[0])
    for key in result:
        values = [report[key] for report in reports]
        if key in ("statements", "per_second", "max_rss_kb"):
            result[key] = sum(values)
        elif key in ("p50_us", "p99_us", "rows"):
            result[key] = max(values)
        else:
            result[key] = sum(v * r["statements"] for v, r in zip(values, reports)) / total
    return result
