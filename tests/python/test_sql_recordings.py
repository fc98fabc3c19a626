"""What a real warehouse sent, through Mortar and through the connector: the same rows, the same
description, the same failures. The recordings are those of MORTAR_SHARED."""

import os
import pathlib

import pytest

pytest.importorskip("mortar.sql", reason="the extension module is not built")
pytest.importorskip("databricks.sql")

from sql_replay import Replay  # noqa: E402
from sql_support import assert_same, connect, connect_other, rows_of  # noqa: E402

SHARED = os.environ.get("MORTAR_SHARED")
THEIRS = sorted((pathlib.Path(SHARED) / "recordings" / "thrift").glob("*.jsonl")) if SHARED else []


# Intervals as Arrow: only other clients ask for them, and pyarrow has no array class for months.
UNREADABLE_BY_OTHERS = {
    "SELECT * FROM main.jdbc_test_schema.intervals_demo": (
        "100-0", "100-0", "100-0", "3 00:00:00.000000000", "3 04:00:00.000000000",
        "3 04:30:00.000000000", "3 04:30:20.123000000", "1 03:00:00.000000000",
        "1 03:15:00.000000000", "1 03:15:20.456000000", "0 01:30:30.500000000",
        "0 00:00:45.789000000"),
}


def outcome(cursor, text, error):
    try:
        cursor.execute(text)
        return ("rows", cursor.description, rows_of(cursor.fetchall()))
    except error as e:
        return ("error", type(e).__name__, str(e))


def compare(path):
    """The outcomes by statement, of both."""
    from databricks import sql as other
    from mortar import sql

    replay = Replay(path)
    try:
        if ("OpenSession", None) not in replay.replies:
            return {}
        with connect(replay.uri) as a, connect_other(replay.uri, _disable_pandas=True) as b:
            return {text: (outcome(a.cursor(), text, sql.Error), outcome(b.cursor(), text, other.Error))
                    for text in replay.statements if text not in UNREADABLE_BY_OTHERS}
    finally:
        replay.close()


@pytest.mark.parametrize("path", THEIRS, ids=lambda p: p.stem)
def test_recording(path):
    for text, (mine, theirs) in compare(path).items():
        print(text)
        assert_same(mine, theirs)


@pytest.mark.parametrize("text", UNREADABLE_BY_OTHERS)
def test_what_others_cannot_read(text):
    found = [path for path in THEIRS if "interval" in path.stem]
    if not found:
        pytest.skip("MORTAR_SHARED is not set")
    replay = Replay(found[0])
    with connect(replay.uri) as connection, connection.cursor() as cursor:
        cursor.execute(text)
        assert {d[1] for d in cursor.description} == {"interval_year_month", "interval_day_time"}
        assert cursor.fetchall() == [UNREADABLE_BY_OTHERS[text]]
    replay.close()


def test_recordings_were_there():
    if not THEIRS:
        pytest.skip("MORTAR_SHARED is not set")
    assert len(THEIRS) > 20
