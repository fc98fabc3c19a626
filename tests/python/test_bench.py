"""The benchmarks' arithmetic, the pages that are made of their results, and that they run at all.
How fast anything is, no test asks."""

import json
import subprocess
import sys

import pytest
from conftest import ROOT, built

sys.path.insert(0, str(ROOT / "bench"))

import measures  # noqa: E402
import report  # noqa: E402
import rows  # noqa: E402


# ---- Arithmetic --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "share, value", [(0.0, 1), (0.01, 1), (0.5, 50), (0.505, 51), (0.99, 99), (0.991, 100), (1.0, 100)]
)
def test_percentile_of_one_to_a_hundred(share, value):
    assert measures.percentile(list(range(1, 101)), share) == value


def test_percentile_of_one_value():
    assert measures.percentile([7], 0.5) == measures.percentile([7], 0.99) == 7


def test_summary_has_median_ends_and_spread():
    rounds = [{"a": 4.0, "b": 0}, {"a": 1.0, "b": 0}, {"a": 2.0, "b": 0}]
    summary = measures.summarise(rounds)
    assert summary["a"] == {"median": 2.0, "min": 1.0, "max": 4.0, "spread": 1.5}
    assert summary["b"]["spread"] == 0


def test_median_of_an_even_number_of_rounds_lies_between():
    assert measures.summarise([{"a": 1}, {"a": 2}, {"a": 4}, {"a": 9}])["a"]["median"] == 3


def test_numbers_are_kept_to_six_digits():
    assert measures.summarise([{"a": 1234567.8}])["a"]["median"] == 1234570
    assert measures.summarise([{"a": 0.000123456789}])["a"]["median"] == 0.000123457


def test_reaches_are_judged_by_the_median():
    reaches = (
        measures.Reach("a", at_most=2),
        measures.Reach("a", at_least=2.1),
        measures.Reach("b", at_least=0),
    )
    judged = measures.judge(reaches, measures.summarise([{"a": 1}, {"a": 2}, {"a": 9}]))
    assert [(j["value"], j["met"]) for j in judged] == [(2, True), (2, False), (None, False)]
    assert [j["reach"] for j in judged] == ["a at most 2", "a at least 2.1", "b at least 0"]


def test_reports_of_processes_become_one():
    def of(statements, cpu, p99):
        return {"statements": statements, "per_second": statements, "cpu_us": cpu, "p99_us": p99,
                "max_rss_kb": 10, "rows": 3}

    assert measures.merged([of(300, 10, 5), of(100, 30, 9)]) == {
        "statements": 400, "per_second": 400, "cpu_us": 15, "p99_us": 9, "max_rss_kb": 20, "rows": 3
    }


def test_every_row_has_a_name_of_its_own():
    names = [row.name for row in rows.ROWS]
    assert len(set(names)) == len(names)


# ---- Replies for the kernel --------------------------------------------------------------------


def test_kernel_gets_the_batches_of_the_table():
    pyarrow = pytest.importorskip("pyarrow")
    import base64

    import kernel_replies

    batches = [pyarrow.record_batch({"n": [i, i + 1]}) for i in range(3)]
    table = pyarrow.Table.from_batches(batches)
    reply = kernel_replies.statement_reply(table, [("n", "bigint")])
    manifest, result = reply["manifest"], reply["result"]
    frame = base64.b64decode(result["attachment"])
    assert result["byte_count"] == len(frame)
    stream = pyarrow.decompress(frame, manifest["total_byte_count"], codec="lz4")
    with pyarrow.ipc.open_stream(stream) as reader:
        assert list(reader) == batches
    assert manifest["total_row_count"] == result["row_count"] == 6
    assert manifest["schema"]["columns"] == [
        {"name": "n", "type_name": "BIGINT", "type_text": "BIGINT", "position": 0}
    ]


# ---- Pages -------------------------------------------------------------------------------------

RESULTS = {
    "machine": {"cpu": "X", "cores": 2, "memory GB": 3, "system": "Linux", "load": [0.5], "versions": {"Y": "1"},
                "commit": "0a1b2c3+"},
    "settings": {"date": "2026-01-02", "rounds": 7, "seconds": 1.0, "minutes": 4.5},
    "rows": [
        {
            "name": "one",
            "title": "a <row>",
            "rounds": 7,
            "missing": {"kernel": "it is not installed here"},
            "reaches": [
                {"reach": "r at most 1", "measure": "r", "value": 2, "met": False},
                {"reach": "s at most 1", "measure": "s", "value": None, "met": False},
            ],
            "summary": {
                "plain statements/s": {"median": 12345.6, "min": 1, "max": 99999, "spread": 1},
                "mortar statements/s": {"median": 50, "min": 1.25, "max": 99.94, "spread": 1},
                "mortar rate ratio": {"median": 0.5, "min": 0.25, "max": 9, "spread": 1},
                "r": {"median": 2, "min": 1, "max": 3, "spread": 1},
            },
        },
        {"name": "two", "title": "never ran", "problem": "no server", "reaches": []},
    ],
}


def test_tables_show_medians_with_their_ends():
    block = report.benchmarks_block(RESULTS)
    assert "| plain | 12,346 (1 to 99,999) |" in block
    assert "| Mortar, Python | 50 (1.25 to 99.9) |" in block
    assert "| `one` | r at most 1 | 2 (1 to 3) | **missed** |" in block
    assert "| `one` | s at most 1 | - | not measured |" in block
    assert "2 cores, 3 GB, Linux" in block and "commit 0a1b2c3+" in block and "4.5 minutes" in block
    assert "the connector's kernel: not measured, it is not installed here." in block
    assert "Not measured: no server." in block


def test_chart_has_a_bar_for_each_client_that_was_measured():
    import xml.etree.ElementTree as tree

    drawn = report.make_chart(RESULTS)
    texts = [element.text for element in tree.fromstring(drawn).iter("{http://www.w3.org/2000/svg}text")]
    assert "one: a <row>" in texts
    assert texts.count("50.0%") == 1


def test_block_replaces_the_old_one_and_only_that():
    mark = report.MARK.format("bench/results/old.json")
    page = f"before\n{mark}\n\nold\n\n{report.END}\nafter\n"
    changed = report.with_block(page, "bench/results/new.json", "new \\1")
    assert changed == page.replace("old.json", "new.json").replace("\nold\n", "\nnew \\1\n")
    assert report.source_of(changed) == "bench/results/new.json"
    with pytest.raises(ValueError):
        report.with_block("no mark", "bench/results/new.json", "new")


@pytest.mark.parametrize("path", [*report.PAGES, report.CHART])
def test_page_is_what_its_results_file_gives(path):
    name = report.source_of((ROOT / report.PAGES[0]).read_text())
    assert (ROOT / path).read_text() == report.made(name)[path]


# ---- A run -------------------------------------------------------------------------------------


def test_quick_run_of_two_rows(tmp_path):
    out = tmp_path / "results.json"
    build = built("bench/plain").parent.parent
    command = [sys.executable, str(ROOT / "bench" / "run.py"), "--quick", "--build", str(build)]
    command += ["--out", str(out), "--row", "server", "--row", "one-row"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout
    results = json.loads(out.read_text())
    server, one_row = results["rows"]
    assert "problem" not in server and "problem" not in one_row, done.stdout
    assert server["summary"]["kiln server us"]["median"] > 0
    assert server["summary"]["bare server us"]["median"] > 0
    for ends in [*server["summary"].values(), *one_row["summary"].values()]:
        assert ends["min"] <= ends["median"] <= ends["max"]
    for client in ("core", "mortar"):
        assert one_row["summary"][f"{client} exchanges"]["median"] == 1
    assert one_row["summary"]["rows"]["median"] == 1
    assert report.benchmarks_block(results).count("| Mortar, Python |") == 1
