"""Python clients of other people that run the cases of tests/foreign/cases.json: each as it is.

The programs for Node and Java beside that list do the same. An outcome is a dict, whose values are
in the forms of the list, or as a client tells them where it has other ones:

    columns, types, rows   of a result
    affected               rows that a change touched, where the client tells
    states                 of an asynchronous statement, each once, in the order that they came
    error                  message, and sqlstate where the client tells
    lacks                  True: the client can't do this
"""

from __future__ import annotations

import contextlib
import datetime
import decimal
import threading
import time
import urllib.parse
from collections.abc import Iterator
from typing import Any, ClassVar

DEADLINE_S = 60
PAUSE_S = 0.01


class Lacks(Exception):
    """The client can't do this."""


def plain(value: Any) -> Any:
    """A value in the forms of JSON. The connector gives arrays of numpy, at any depth, and maps as
    lists of pairs."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        if value and all(isinstance(item, tuple) for item in value):
            return plain(dict(value))
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, datetime.datetime):
        if value.tzinfo:
            value = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
        return value.isoformat(" ")
    if isinstance(value, (datetime.date, decimal.Decimal)):
        return str(value)
    return value


def until(condition: Any) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError("what is waited for did not happen")
        time.sleep(PAUSE_S)


PARAMETERS = {
    "DATE": datetime.date.fromisoformat,
    "TIMESTAMP": datetime.datetime.fromisoformat,
    "DECIMAL": decimal.Decimal,
}


def bound(parameter: list) -> Any:
    """A parameter of the list as a value of Python."""
    kind, value = parameter
    return PARAMETERS[kind](value) if value is not None and kind in PARAMETERS else value


class Client:
    """What the DB-API makes the same for all three."""

    STATES: ClassVar[dict[str, str]] = {}

    def __init__(self, uri: str, schema: str) -> None:
        self.port = urllib.parse.urlsplit(uri).port
        self.path = urllib.parse.urlsplit(uri).path
        self.uri, self.schema = uri, schema

    def connect(self, session: dict) -> Any:
        raise NotImplementedError

    def cursor(self, connection: Any, session: dict) -> Any:
        return connection.cursor()

    @contextlib.contextmanager
    def session(self, session: dict) -> Iterator[Any]:
        """One cursor of a connection of its own."""
        connection = self.connect(session)
        cursor = self.cursor(connection, session)
        try:
            yield cursor
        finally:
            cursor.close()
            connection.close()

    def run_all(self, cases: list[dict]) -> dict[str, dict]:
        with self.session({"schema": self.schema}) as cursor:
            return {case["name"]: self.run(cursor, case) for case in cases}

    def run(self, cursor: Any, case: dict) -> dict:
        try:
            if "session" not in case:
                return self.outcome(cursor, case)
            with self.session(case["session"]) as other:
                return self.outcome(other, case)
        except Lacks:
            return {"lacks": True}
        except Exception as error:
            return {"error": self.told(error)}

    def outcome(self, cursor: Any, case: dict) -> dict:
        for text in case.get("before", []):
            cursor.execute(text)
        if "ask" in case:
            self.ask(cursor, **case["ask"])
        elif "mode" in case:
            return getattr(self, case["mode"].replace(" ", "_"))(cursor, case["sql"])
        elif "batch" in case:
            self.execute_many(cursor, case)
            cursor.execute(case["then"])
        elif "parameters" in case:
            self.execute_with(cursor, case)
        else:
            cursor.execute(case["sql"])
        return self.result(cursor)

    def result(self, cursor: Any) -> dict:
        if cursor.description is None:
            return {}
        rows = [[plain(value) for value in row] for row in cursor.fetchall()]
        outcome = {
            "columns": [column[0] for column in cursor.description],
            "types": [column[1] for column in cursor.description],
            "rows": rows,
        }
        return outcome if cursor.rowcount < 0 else {**outcome, "affected": cursor.rowcount}

    def told(self, error: Exception) -> dict:
        return {"message": str(error)}

    def ask(self, cursor: Any, call: str, **filters: str) -> None:
        raise Lacks

    def execute_with(self, cursor: Any, case: dict) -> None:
        """Parameters that the client writes into the text."""
        if case.get("native") or isinstance(case["parameters"], dict):
            raise Lacks
        values = [bound(parameter) for parameter in case["parameters"]]
        cursor.execute(case["sql"].replace("?", "%s"), values)

    def execute_many(self, cursor: Any, case: dict) -> None:
        rows = [[bound(parameter) for parameter in row] for row in case["batch"]]
        cursor.executemany(case["sql"].replace("?", "%s"), rows)

    def state(self, cursor: Any) -> str:
        raise NotImplementedError

    def begin(self, cursor: Any, text: str) -> None:
        raise NotImplementedError

    def finish(self, cursor: Any) -> None:
        """After the end of what was begun."""

    def asynchronous(self, cursor: Any, text: str) -> dict:
        self.begin(cursor, text)
        states: list[str] = []
        until(lambda: self.seen(cursor, states) != "RUNNING")
        self.finish(cursor)
        return {**self.result(cursor), "states": states}

    def asynchronous_cancel(self, cursor: Any, text: str) -> dict:
        self.begin(cursor, text)
        states: list[str] = []
        self.seen(cursor, states)
        self.stop(cursor)
        until(lambda: self.seen(cursor, states) != "RUNNING")
        return {"states": states}

    def seen(self, cursor: Any, states: list[str]) -> str:
        state = self.STATES[self.state(cursor)]
        if state not in states:
            states.append(state)
        return state

    def stop(self, cursor: Any) -> None:
        cursor.cancel()

    def cancel(self, cursor: Any, text: str) -> dict:
        """These use one connection for one call at a time: another thread can cancel between."""
        self.begin(cursor, text)
        other = threading.Thread(target=self.stop, args=(cursor,))
        other.start()
        other.join()
        return self.result(cursor)

    def timeout(self, cursor: Any, text: str) -> dict:
        raise Lacks


class Connector(Client):
    """databricks-sql-connector."""

    STATES: ClassVar = {
        "PENDING": "RUNNING", "RUNNING": "RUNNING", "SUCCEEDED": "FINISHED", "CANCELLED": "CANCELED",
    }  # fmt: skip

    def connect(self, session: dict) -> Any:
        from databricks import sql

        return sql.connect(
            server_hostname="127.0.0.1",
            http_path=self.path,
            access_token="any",
            _connection_uri=self.uri,
            enable_telemetry=False,
            session_configuration=session.get("configuration"),
            catalog=session.get("catalog"),
            schema=session["schema"],
            staging_allowed_local_path=session.get("folder"),
        )

    def execute_with(self, cursor: Any, case: dict) -> None:
        given = case["parameters"]
        if isinstance(given, dict):
            cursor.execute(case["sql"], {name: bound(value) for name, value in given.items()})
        else:
            cursor.execute(case["sql"], [bound(value) for value in given])

    def execute_many(self, cursor: Any, case: dict) -> None:
        rows = [[bound(parameter) for parameter in row] for row in case["batch"]]
        cursor.executemany(case["sql"], rows)

    def ask(self, cursor: Any, call: str, type: str | None = None, **filters: str) -> None:
        if call not in ("catalogs", "schemas", "tables", "columns"):
            raise Lacks
        names: dict[str, Any] = {f"{name}_name": value for name, value in filters.items()}
        if type:
            names["table_types"] = [type]
        getattr(cursor, call)(**names)

    def begin(self, cursor: Any, text: str) -> None:
        cursor.execute_async(text)

    def state(self, cursor: Any) -> str:
        return cursor.get_query_state().name

    def finish(self, cursor: Any) -> None:
        cursor.get_async_execution_result()

    def cancel(self, cursor: Any, text: str) -> dict:
        """There is nothing to cancel before the server has answered, and what ran on the same
        cursor before would be canceled instead."""
        cursor = cursor.connection.cursor()
        errors: list[Exception] = []

        def run() -> None:
            try:
                cursor.execute(text)
            except Exception as error:
                errors.append(error)

        running = threading.Thread(target=run)
        running.start()
        until(lambda: cursor.active_command_id is not None or not running.is_alive())
        self.stop(cursor)
        running.join(DEADLINE_S)
        cursor.close()
        if errors:
            raise errors[0]
        return {}


class PyHive(Client):
    STATES: ClassVar = {
        "PENDING_STATE": "RUNNING", "RUNNING_STATE": "RUNNING", "FINISHED_STATE": "FINISHED",
        "CANCELED_STATE": "CANCELED", "ERROR_STATE": "ERROR",
    }  # fmt: skip

    def connect(self, session: dict) -> Any:
        from pyhive import hive

        if "folder" in session:
            raise Lacks
        return hive.connect(
            scheme="http",
            host="127.0.0.1",
            port=self.port,
            database="`.`".join(filter(None, (session.get("catalog"), session["schema"]))),
            configuration=session.get("configuration"),
        )

    def told(self, error: Exception) -> dict:
        status = getattr(error.args[0], "status", None) if error.args else None
        if status is None:
            return super().told(error)
        return {"message": status.errorMessage, "sqlstate": status.sqlState}

    def begin(self, cursor: Any, text: str) -> None:
        cursor.execute(text, async_=True)

    def state(self, cursor: Any) -> str:
        from TCLIService.ttypes import TOperationState

        return TOperationState._VALUES_TO_NAMES[cursor.poll().operationState]


class Impyla(Client):
    STATES: ClassVar = PyHive.STATES

    def connect(self, session: dict) -> Any:
        from impala import dbapi

        if "folder" in session:
            raise Lacks
        return dbapi.connect(
            host="127.0.0.1",
            port=self.port,
            use_http_transport=True,
            http_path=self.path.lstrip("/"),
            auth_mechanism="PLAIN",
            user="anybody",
            password="any",
        )

    def cursor(self, connection: Any, session: dict) -> Any:
        """Each is a session of its own."""
        cursor = connection.cursor(configuration=session.get("configuration"))
        cursor.execute("USE " + ".".join(filter(None, (session.get("catalog"), session["schema"]))))
        return cursor

    def result(self, cursor: Any) -> dict:
        """It counts the rows that it has fetched, not those that were touched."""
        outcome = super().result(cursor)
        outcome.pop("affected", None)
        return outcome

    def execute_many(self, cursor: Any, case: dict) -> None:
        """It allows no statements that have rows, as all have here."""
        raise Lacks

    def told(self, error: Exception) -> dict:
        """It looks the state of what timed out, 8, up in a table that ends before."""
        timed_out = isinstance(error, KeyError) and error.args == (8,)
        return {"message": "timed out"} if timed_out else super().told(error)

    def ask(self, cursor: Any, call: str, **filters: str) -> None:
        """Tables and functions can be asked for by schema alone."""
        if call == "tables" and filters["table"] == "%" and "type" not in filters:
            cursor.get_tables(filters["schema"])
        elif call == "functions":
            cursor.get_functions()
        else:
            raise Lacks

    def begin(self, cursor: Any, text: str) -> None:
        cursor.execute_async(text)

    def state(self, cursor: Any) -> str:
        return cursor.status()

    def stop(self, cursor: Any) -> None:
        cursor.cancel_operation(reset_state=False)


CLIENTS = {"databricks-sql-connector": Connector, "PyHive": PyHive, "impyla": Impyla}
