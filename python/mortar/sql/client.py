"""Connection and Cursor, and how the keywords of connect() become options.

The work is done in C (mortar._native); what is here is names, defaults and documentation.
"""

from __future__ import annotations

import atexit
import os
import re
import time
import warnings
import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Union
from urllib.parse import urlsplit

from mortar import _native

from . import exc
from . import types as _types  # registers Row with the C side
from ._keywords import OPTIONS, SECONDS, in_keywords
from ._log import logger
from .backend.types import CommandId, CommandState
from .exc import *  # noqa: F403  older programs look for client.Error and its like

if TYPE_CHECKING:
    import pyarrow
    from typing_extensions import Self

DEFAULT_ARRAY_SIZE = 100000
DEFAULT_RESULT_BUFFER_SIZE_BYTES = 104857600
TRANSACTION_ISOLATION_LEVEL_REPEATABLE_READ = "REPEATABLE_READ"

# Keywords of the other connector that change nothing here.
_WITHOUT_EFFECT = frozenset(
    {
        "enable_telemetry",
        "force_enable_telemetry",
        "telemetry_batch_size",
        "_telemetry_circuit_breaker_enabled",
        "use_cloud_fetch",
        "max_download_threads",
        "enable_query_result_lz4_compression",
        "_disable_pandas",
        "_use_arrow_native_complex_types",
        "_use_arrow_native_decimals",
        "_use_arrow_native_timestamps",
        "_skip_routing_headers",
        "_enable_ssl",
        "_pool_connections",
        "_pool_maxsize",
        "pool_maxsize",
        "max_connections",
    }
)

# Keywords that say who somebody is or what is to happen: not there yet, and not to be passed over.
_REFUSED = (
    "auth_type",
    "credentials_provider",
    "http_headers",
    "oauth_client_id",
    "oauth_client_secret",
    "use_kernel",
    "use_sea",
)


Paths = Union[str, "os.PathLike[str]", Sequence[Union[str, "os.PathLike[str]"]], None]


def _not_yet(what: str) -> NoReturn:
    raise exc.NotSupportedError(f"{what} is not supported yet")


class Cursor(_native.Cursor):
    """Runs statements and hands out their rows. One thread at a time, but for cancel() and
    close()."""

    def executemany(
        self,
        operation: str,
        seq_of_parameters: Iterable[Sequence[Any] | Mapping[str, Any]],
        query_tags: Mapping[str, str | None] | None = None,
        *,
        idempotent: bool = False,
        statement_timeout: int | None = None,
    ) -> Self:
        """Runs operation once for each element, one after the other, each as execute() does with
        these keywords. The last result stays; rowcount is the sum."""
        total = -1
        for parameters in seq_of_parameters:
            self.execute(operation, parameters, query_tags=query_tags, idempotent=idempotent,
                         statement_timeout=statement_timeout)
            if self.rowcount >= 0:
                total = max(total, 0) + self.rowcount
        self.rowcount = total
        return self

    def fetchall_arrow(self) -> pyarrow.Table | _native.Table:
        """All rows that are left as a pyarrow.Table, or, where pyarrow is not installed, as a
        Table that any Arrow library takes (`__arrow_c_stream__`)."""
        return _as_pyarrow(self._take_arrow(None))

    def fetchmany_arrow(self, size: int) -> pyarrow.Table | _native.Table:
        """Up to size rows, like fetchall_arrow()."""
        return _as_pyarrow(self._take_arrow(size))

    def execute_async(
        self,
        operation: str,
        parameters: Sequence[Any] | Mapping[str, Any] | None = None,
        enforce_embedded_schema_correctness: bool = False,
        query_tags: Mapping[str, str | None] | None = None,
        *,
        idempotent: bool = False,
        statement_timeout: int | None = None,
    ) -> Self:
        """Like execute(), but returns as soon as the server has the statement. It runs until its
        end, until cancel(), or until the cursor is closed or given something else to run."""
        return self._submit(operation, parameters, enforce_embedded_schema_correctness, None,
                            query_tags, idempotent=idempotent, statement_timeout=statement_timeout)

    def get_query_state(self) -> CommandState:
        """How far the last statement is: asks the server once. Raises what it has failed with."""
        return CommandState(self._poll())

    def is_query_pending(self) -> bool:
        """Whether it waits or runs."""
        return self.get_query_state() in (CommandState.PENDING, CommandState.RUNNING)

    def get_async_execution_result(self) -> Self:
        """Waits for the end of the statement and makes its rows ready to be fetched. Called again,
        it leaves them as they are. A wait that is broken off leaves the statement running."""
        return self._take_result()

    @property
    def active_command_id(self) -> CommandId | None:
        """What names the last statement. A statement that another cursor has submitted, on this
        connection or another one, is gone on with by setting this cursor's to that one's; the other
        cursor must stay open until then."""
        handle = self._handle() or self.query_id
        return CommandId(handle) if handle else None

    @active_command_id.setter
    def active_command_id(self, command: CommandId | None) -> None:
        if not isinstance(command, (CommandId, type(None))):
            raise exc.ProgrammingError(
                f"active_command_id is another cursor's, or None, not a {type(command).__name__}"
            )
        self._attach(command and command.handle)

    def catalogs(self) -> Self:
        """The catalogs. As with execute(), rows are fetched afterwards; returns self."""
        return self._metadata("catalogs", None, None, None, None, None)

    def schemas(self, catalog_name: str | None = None, schema_name: str | None = None) -> Self:
        """The schemas whose names fit. Names are patterns: `%` for any text, `_` for one
        character, `\\` before a character that means itself. None is no filter; what an
        empty text means is the server's business."""
        catalog = self._catalog(catalog_name)
        return self._metadata("schemas", catalog, schema_name, None, None, None)

    def tables(
        self,
        catalog_name: str | None = None,
        schema_name: str | None = None,
        table_name: str | None = None,
        table_types: Sequence[str] | None = None,
    ) -> Self:
        """The tables and views whose names fit, as with schemas(), and whose type is one of
        table_types, such as `["VIEW"]`; None or nothing in it: of all types."""
        catalog = self._catalog(catalog_name)
        return self._metadata("tables", catalog, schema_name, table_name, None, table_types)

    def columns(
        self,
        catalog_name: str | None = None,
        schema_name: str | None = None,
        table_name: str | None = None,
        column_name: str | None = None,
    ) -> Self:
        """The columns whose names fit, as with schemas(), in their order."""
        catalog = self._catalog(catalog_name)
        return self._metadata("columns", catalog, schema_name, table_name, column_name, None)

    def table_types(self) -> Self:
        """The types that tables() may name."""
        return self._metadata("table_types", None, None, None, None, None)

    def type_info(self) -> Self:
        """The SQL types that the server has."""
        return self._metadata("type_info", None, None, None, None, None)

    def functions(
        self,
        catalog_name: str | None = None,
        schema_name: str | None = None,
        function_name: str | None = None,
    ) -> Self:
        """The functions whose names fit, as with schemas()."""
        catalog = self._catalog(catalog_name)
        return self._metadata("functions", catalog, schema_name, None, None, None, function_name)

    def primary_keys(
        self,
        catalog_name: str | None = None,
        schema_name: str | None = None,
        table_name: str | None = None,
    ) -> Self:
        """The columns of a table's primary key. Names are names here, not patterns."""
        return self._metadata("primary_keys", catalog_name, schema_name, table_name, None, None)

    def foreign_keys(
        self,
        catalog_name: str | None = None,
        schema_name: str | None = None,
        table_name: str | None = None,
        foreign_catalog_name: str | None = None,
        foreign_schema_name: str | None = None,
        foreign_table_name: str | None = None,
    ) -> Self:
        """How the foreign table's columns refer to the primary key of the table. Names, not
        patterns."""
        return self._metadata("foreign_keys", catalog_name, schema_name, table_name, None, None, None,
                              foreign_catalog_name, foreign_schema_name, foreign_table_name)

    def _catalog(self, name: str | None) -> str | None:
        if name is None or not self.connection._escape_catalog_name:
            return name
        return re.sub(r"(?<!\\)_", r"\\_", name)


def _as_pyarrow(table: _native.Table) -> Any:
    try:
        import pyarrow
    except ImportError:
        return table
    return pyarrow.RecordBatchReader.from_stream(table).read_all()


class Connection(_native.Connection):
    """A session on a warehouse. Made by connect(); may be shared by threads, each with cursors of
    its own. As a context manager it closes itself."""

    use_inline_params: bool | str = False  # looked at by each statement that has parameters
    # The folders whose files PUT and GET may touch; looked at by each of them.
    staging_allowed_local_path: Paths = None

    Warning = exc.Warning
    Error = exc.Error
    InterfaceError = exc.InterfaceError
    DatabaseError = exc.DatabaseError
    DataError = exc.DataError
    OperationalError = exc.OperationalError
    IntegrityError = exc.IntegrityError
    InternalError = exc.InternalError
    ProgrammingError = exc.ProgrammingError
    NotSupportedError = exc.NotSupportedError

    _escape_catalog_name = False

    def commit(self) -> None:
        """Does nothing: every statement commits itself."""

    def rollback(self) -> None:
        """Raises NotSupportedError: there is no transaction to roll back."""
        raise exc.NotSupportedError("Transactions are not supported")

    @property
    def autocommit(self) -> bool:
        """Always True. Setting it has no effect; False is answered with a warning in the log."""
        self._check("Cannot get autocommit on closed connection")
        return True

    @autocommit.setter
    def autocommit(self, value: bool) -> None:
        if not value:
            logger.warning("autocommit stays on: transactions are not supported")

    def get_transaction_isolation(self) -> str:
        """The only level there is."""
        self._check("Cannot get transaction isolation on closed connection")
        return TRANSACTION_ISOLATION_LEVEL_REPEATABLE_READ

    def set_transaction_isolation(self, level: str) -> None:
        """Takes REPEATABLE_READ, in any spelling, and does nothing."""
        self._check("Cannot set transaction isolation on closed connection")
        if level.upper().replace(" ", "_") != TRANSACTION_ISOLATION_LEVEL_REPEATABLE_READ:
            raise exc.NotSupportedError(f"isolation level {level!r} is not supported")

    def get_session_id(self) -> bytes:
        """The session's id, 16 bytes."""
        return bytes.fromhex(self.get_session_id_hex().replace("-", ""))


Options = list[tuple[str, "str | None"]]


def _address(hostname: str | None, keywords: dict[str, Any]) -> Options:
    """Where to: a hostname, with or without http:// or https:// before it and a port behind."""
    uri = keywords.pop("_connection_uri", None)
    port = keywords.pop("_port", None)
    tls = keywords.pop("tls", None)
    text = uri or hostname
    if not text:
        raise ValueError("No valid connection settings: server_hostname is empty")
    parts = urlsplit(text if "://" in text else f"https://{text}")
    if parts.scheme not in ("http", "https"):
        raise ValueError(f"server_hostname begins with {parts.scheme}://, not http:// or https://")
    if parts.username or parts.password:
        raise ValueError("server_hostname must not hold a user or password: use access_token")
    if not parts.hostname:
        raise ValueError(f"No valid connection settings: no host in {text!r}")
    # A whole address says its own port; _port goes with a hostname.
    number = parts.port if uri else port or parts.port
    options: Options = [
        ("host", parts.hostname),
        ("tls", _as_text(parts.scheme == "https" if tls is None else bool(tls))),
    ]
    if number:
        options.append(("port", str(number)))
    if uri:
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        options.append(("http_path", path or "/"))
    return options


def _as_text(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _milliseconds(name: str, seconds: Any) -> str:
    try:
        return str(int(float(seconds) * 1000))
    except (TypeError, ValueError, OverflowError):
        problem = f"{name} takes a number of seconds, not {seconds!r}"
        raise exc.ProgrammingError(problem) from None


def _positive_milliseconds(name: str, seconds: Any) -> int:
    number = int(_milliseconds(name, seconds))
    if not 0 < number < 2**53:
        raise exc.ProgrammingError(f"{name} takes a number of seconds above 0, not {seconds!r}")
    return number


def _check_texts(pairs: Options) -> None:
    """Texts of the C library end at a NUL; what it says of other control characters is said here."""
    for name, value in pairs:
        if "\0" in name or "\0" in (value or ""):
            raise exc.ProgrammingError(in_keywords(f"option {name!r} holds a control character"))


def _refuse(keywords: dict[str, Any]) -> None:
    for name in _REFUSED:
        if keywords.pop(name, None):
            _not_yet(f"the keyword {name}")
    if keywords.pop("ignore_transactions", True) is False:
        raise exc.NotSupportedError("transactions are not supported: leave ignore_transactions out")


def _settings(
    configuration: Mapping[str, Any] | None, query_tags: Mapping[str, str | None] | None
) -> Options:
    """What the session is set to. query_tags takes the place of a QUERY_TAGS; when it is empty
    there are none."""
    if not isinstance(configuration, (Mapping, type(None))):
        kind = type(configuration).__name__
        raise exc.ProgrammingError(f"session_configuration is a dict, not a {kind}")
    settings: Options = [(str(k), str(v)) for k, v in (configuration or {}).items()]
    if query_tags is None:
        return settings
    from .utils import serialize_query_tags  # for programs that need it

    settings = [pair for pair in settings if pair[0] != "QUERY_TAGS"]
    tags = serialize_query_tags(query_tags)
    return settings if tags is None else [*settings, ("QUERY_TAGS", tags)]


def _inline(keywords: dict[str, Any]) -> bool | str:
    inline = keywords.pop("use_inline_params", False)
    if inline not in (True, False, "silent"):
        raise ValueError(f"Invalid value for use_inline_params: {inline!r}")
    if inline is True:
        logger.warning("the inline parameter approach writes values into the texts of statements")
    return inline


def _rename(keywords: dict[str, Any]) -> None:
    """Older names, and values in other units, in the names and units of the table."""
    alias = keywords.pop("_user_agent_entry", None)
    if alias is not None:
        warnings.warn("[WARN] _user_agent_entry is deprecated; use 'user_agent_entry' instead",
                      DeprecationWarning, stacklevel=4)
        if keywords.get("user_agent_entry") is None:
            keywords["user_agent_entry"] = alias


def _options(keywords: dict[str, Any]) -> Options:
    """The options that keywords stand for; they are taken out of it."""
    _refuse(keywords)
    _rename(keywords)
    options: Options = []
    if keywords.pop("_tls_no_verify", False):
        options.append(("tls_verify", "false"))
    for name, option in OPTIONS.items():
        value = _as_text(keywords.pop(name, None))
        if value is not None:
            options.append((option, value))
    for name, option in SECONDS.items():
        seconds = keywords.pop(name, None)
        if seconds:
            options.append((option, _milliseconds(name, seconds)))
    unknown = sorted(set(keywords) - _WITHOUT_EFFECT)
    if unknown:
        warnings.warn(f"connect() does not know {', '.join(unknown)}", stacklevel=3)
    return options


def connect(
    server_hostname: str | None = None,
    http_path: str | None = None,
    access_token: str | None = None,
    *,
    session_configuration: Mapping[str, Any] | None = None,
    catalog: str | None = None,
    schema: str | None = None,
    query_tags: Mapping[str, str | None] | None = None,
    **keywords: Any,
) -> Connection:
    """Opens a session on a warehouse.

    server_hostname may begin with http:// for a server without TLS. Other keywords:
    `_port`, `_connection_uri` (a whole URL instead of hostname and path), `user_agent_entry`,
    `username` and `password` (for Spark and Hive), `transport` ("http"; "nosasl" and "sasl" are
    HiveServer2's binary transports), `tls` (False: without), `_tls_no_verify`,
    `_tls_verify_hostname`, `_tls_trusted_ca_file`, `_socket_timeout` (seconds), `proxy`,
    `no_proxy`, `proxy_from_env`, `connect_timeout_ms`, `read_timeout_ms`, `idle_ms`, `page_rows`,
    `page_bytes`, `max_reply_bytes`, `call_timeout` (seconds for each wait of a call),
    `use_inline_params`, `escape_catalog_name` (a `_` in the catalog of schemas(), tables() and
    columns() means itself), `staging_allowed_local_path` (a folder, or a list of them, whose
    files PUT and GET may touch). A keyword that nobody knows gets one warning.
    """
    inline = _inline(keywords)
    escape_catalog_name = bool(keywords.pop("escape_catalog_name", False))
    allowed = keywords.pop("staging_allowed_local_path", None)
    options = _address(server_hostname, keywords)
    if http_path and "http_path" not in dict(options):
        options.append(("http_path", http_path))
    if access_token:
        if not isinstance(access_token, str):
            kind = type(access_token).__name__
            raise exc.ProgrammingError(f"access_token must be a str, not a {kind}")
        options.append(("access_token", access_token))
    limit = keywords.pop("call_timeout", None)
    wait_ms = -1 if limit is None else _positive_milliseconds("call_timeout", limit)
    options += _options({**keywords, "catalog": catalog, "schema": schema})
    settings = _settings(session_configuration, query_tags)
    _check_texts(options + settings)
    connection = Connection(options, settings, Cursor, wait_ms)
    if inline:
        connection.use_inline_params = inline
    connection._escape_catalog_name = escape_catalog_name
    connection.staging_allowed_local_path = allowed
    _connections.add(connection)
    return connection


# What connect() made and is still there.
_connections: weakref.WeakSet[Connection] = weakref.WeakSet()


@atexit.register
def _close_connections() -> None:
    """A statement that nobody waits for any more costs money: what is open when the interpreter
    ends is closed, also where a thread still holds it. All of them have two seconds together; behind
    those a close is sent and hardly waited for."""
    end = time.monotonic() + 2
    for connection in list(_connections):
        connection._close_within(max(50, int((end - time.monotonic()) * 1000)))
