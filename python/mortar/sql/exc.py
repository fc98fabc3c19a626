"""Exceptions: the classes of PEP 249, and finer ones below them.

Every error raised by Mortar is an `Error`. Beside the text it has a `context` (a dict that can be
written as JSON) and attributes: `sqlstate`, `query_id`, `session_id`, `http_status`,
`server_code`, `status` (Mortar's own name for it), `session_lost`, and `outcome`, what became of
the request: `not_sent` and `rejected` are safe to send again, `unknown` may have run.
"""

from __future__ import annotations

import json
from typing import Any


class Warning(Exception):
    """PEP 249 asks for it; nothing raises it."""


class Error(Exception):
    """The base of all errors."""

    sqlstate: str | None = None
    query_id: str | None = None
    session_id: str | None = None
    outcome: str = "none"
    status: str | None = None
    server_code: int = 0
    http_status: int = 0
    session_lost: bool = False

    def __init__(
        self,
        message: str | None = None,
        context: dict[str, Any] | None = None,
        host_url: str | None = None,  # older programs pass it by place; nothing is done with it
        *args: Any,
        session_id_hex: str | None = None,
    ) -> None:
        super().__init__(message, *args)
        self.message = message
        self.context: dict[str, Any] = context or {}
        if session_id_hex is not None:
            self.session_id = session_id_hex

    def __str__(self) -> str:
        return "" if self.message is None else str(self.message)

    def message_with_context(self) -> str:
        return f"{self}: {json.dumps(self.context, default=str)}"

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.message, self.context, None, *self.args[1:]), self.__dict__)


class InterfaceError(Error):
    """The connection or cursor is closed, or belongs to another process."""


class DatabaseError(Error):
    """The server refused a call."""


class InternalError(DatabaseError):
    """PEP 249 asks for it; nothing raises it."""


class IntegrityError(DatabaseError):
    """PEP 249 asks for it; nothing raises it."""


class DataError(DatabaseError):
    """A value has no place in its Python type."""


class NotSupportedError(DatabaseError):
    """Mortar or the server can't do this."""


class ProgrammingError(DatabaseError):
    """The caller asked for something that makes no sense here."""


class TransactionError(DatabaseError):
    """A transaction could not be controlled."""


class ServerOperationError(DatabaseError):
    """A statement failed on the server."""


class OperationalError(DatabaseError):
    """Something outside the program went wrong."""


class InvalidServerResponseError(OperationalError):
    """The server's reply is malformed, or its rows are corrupt."""


class RequestError(OperationalError):
    """The request did not get through: connection, TLS, time-out, credentials, HTTP."""


class MaxRetryDurationError(RequestError):
    """The time for sending again ran out."""


class NonRecoverableNetworkError(RequestError):
    """For `except` clauses of older programs; nothing raises it."""


class UnsafeToRetryError(RequestError):
    """For `except` clauses of older programs; nothing raises it."""


class SessionAlreadyClosedError(RequestError):
    """For `except` clauses of older programs; nothing raises it."""


class CursorAlreadyClosedError(RequestError):
    """For `except` clauses of older programs; nothing raises it."""
