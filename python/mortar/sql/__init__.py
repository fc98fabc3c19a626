"""The DB-API (PEP 249) face of Mortar.

    from mortar import sql

    with sql.connect("HOST", "/sql/1.0/warehouses/ID", "TOKEN") as connection:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            print(cursor.fetchall())
"""

from __future__ import annotations

import datetime as _datetime

from mortar import __version__
from mortar._native import Table

from . import exc
from .client import Connection, Cursor, connect
from .exc import (
    DatabaseError,
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    InvalidServerResponseError,
    MaxRetryDurationError,
    NonRecoverableNetworkError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    RequestError,
    ServerOperationError,
    SessionAlreadyClosedError,
    CursorAlreadyClosedError,
    TransactionError,
    UnsafeToRetryError,
    Warning,
)
from .types import Row

apilevel = "2.0"
threadsafety = 2  # threads may share the module and connections
paramstyle = "named"


class DBAPITypeObject:
    """Equal to each of the type codes it stands for, as PEP 249 wants."""

    def __init__(self, *values: str) -> None:
        self.values = values

    def __eq__(self, other: object) -> bool:
        return other is self or other in self.values

    def __hash__(self) -> int:
        return hash(self.values)

    def __repr__(self) -> str:
        return f"DBAPITypeObject({self.values!r})"


STRING = DBAPITypeObject("string")
BINARY = DBAPITypeObject("binary")
NUMBER = DBAPITypeObject(
    "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal"
)
DATETIME = DBAPITypeObject("timestamp")
DATE = DBAPITypeObject("date")
ROWID = DBAPITypeObject()

Date = _datetime.date
Time = _datetime.time
Timestamp = _datetime.datetime
Binary = bytes


def DateFromTicks(ticks: float) -> _datetime.date:
    return _datetime.date.fromtimestamp(ticks)


def TimeFromTicks(ticks: float) -> _datetime.time:
    return _datetime.datetime.fromtimestamp(ticks).time()


def TimestampFromTicks(ticks: float) -> _datetime.datetime:
    return _datetime.datetime.fromtimestamp(ticks)


__all__ = [
    "BINARY",
    "Binary",
    "Connection",
    "Cursor",
    "CursorAlreadyClosedError",
    "DATE",
    "DATETIME",
    "DBAPITypeObject",
    "DataError",
    "DatabaseError",
    "Date",
    "DateFromTicks",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "InvalidServerResponseError",
    "MaxRetryDurationError",
    "NUMBER",
    "NonRecoverableNetworkError",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "ROWID",
    "RequestError",
    "Row",
    "STRING",
    "ServerOperationError",
    "SessionAlreadyClosedError",
    "Table",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "TransactionError",
    "UnsafeToRetryError",
    "Warning",
    "__version__",
    "apilevel",
    "connect",
    "exc",
    "paramstyle",
    "threadsafety",
]
