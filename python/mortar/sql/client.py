"""Connection and Cursor, and how the keywords of connect() become options.

The work is done in C (mortar._native); what is here is names, defaults and documentation.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from mortar import _native

from . import exc
from . import types as _types  # registers Row with the C side

if TYPE_CHECKING:
    import pyarrow

__all__ = ["Connection", "Cursor", "connect"]

# Keywords that stand for one option each: name here -> (option, how to write the value).
_OPTIONS = {
    "catalog": "catalog",
    "schema": "schema",
    "user_agent_entry": "user_agent",
    "_tls_trusted_ca_file": "tls_ca_file",
    "_tls_verify_hostname": "tls_verify_host",
    "connect_timeout_ms": "connect_timeout_ms",
    "read_timeout_ms": "read_timeout_ms",
    "proxy": "proxy",
}

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


class Cursor(_native.Cursor):
    """Runs statements and hands out their rows. One thread at a time, but for cancel()."""

    def executemany(self, operation: str, seq_of_parameters: Iterable[Any]) -> Cursor:
        """Runs operation once for each element; the last result stays."""
        for parameters in seq_of_parameters:
            self.execute(operation, parameters)
        return self

    def fetchall_arrow(self) -> pyarrow.Table | _native.Table:
        """All rows that are left as a pyarrow.Table, or, where pyarrow is not installed, as a
        Table that any Arrow library takes (`__arrow_c_stream__`)."""
        return _as_pyarrow(self._take_arrow(None))

    def fetchmany_arrow(self, size: int) -> pyarrow.Table | _native.Table:
        """Up to size rows, like fetchall_arrow()."""
        return _as_pyarrow(self._take_arrow(size))


def _as_pyarrow(table: _native.Table) -> Any:
    try:
        import pyarrow
    except ImportError:
        return table
    return pyarrow.RecordBatchReader.from_stream(table).read_all()


class Connection(_native.Connection):
    """A session on a warehouse. Made by connect(); may be shared by threads, each with cursors of
    its own. As a context manager it closes itself."""

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

    def commit(self) -> None:
        """Does nothing: every statement commits itself."""

    def rollback(self) -> None:
        """Raises NotSupportedError: there is no transaction to roll back."""
        raise exc.NotSupportedError("Transactions are not supported")

    def get_session_id(self) -> bytes:
        return bytes.fromhex(self.get_session_id_hex().replace("-", ""))


def _address(hostname: str | None, keywords: dict[str, Any]) -> list[tuple[str, str | None]]:
    """Where to: a hostname, with or without http:// or https:// before it and a port behind."""
    uri = keywords.pop("_connection_uri", None)
    port = keywords.pop("_port", None)
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
    number = int(port) if port else parts.port
    options: list[tuple[str, str | None]] = [
        ("host", parts.hostname),
        ("tls", "true" if parts.scheme == "https" else "false"),
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


def connect(
    server_hostname: str | None = None,
    http_path: str | None = None,
    access_token: str | None = None,
    *,
    session_configuration: dict[str, Any] | None = None,
    catalog: str | None = None,
    schema: str | None = None,
    **keywords: Any,
) -> Connection:
    """Opens a session on a warehouse.

    server_hostname may begin with http:// for a server without TLS. Other keywords:
    `_port`, `_connection_uri` (a whole URL instead of hostname and path), `user_agent_entry`,
    `username` and `password` (basic authorisation, for Spark and Hive), `_tls_no_verify`,
    `_tls_verify_hostname`, `_tls_trusted_ca_file`, `_socket_timeout` (seconds), `proxy`,
    `connect_timeout_ms`, `read_timeout_ms`. A keyword that nobody knows gets one warning.
    """
    options = _address(server_hostname, keywords)
    if http_path:
        options.append(("http_path", http_path))
    if access_token:
        options.append(("access_token", access_token))
    keywords.update(catalog=catalog, schema=schema)
    for name in ("username", "password"):
        if keywords.get(name):
            options.append((name, str(keywords.pop(name))))
    if keywords.pop("_tls_no_verify", False):
        options.append(("tls_verify", "false"))
    timeout = keywords.pop("_socket_timeout", None)
    if timeout:
        options.append(("read_timeout_ms", str(int(float(timeout) * 1000))))
    alias = keywords.pop("_user_agent_entry", None)
    if alias and keywords.get("user_agent_entry") is None:
        keywords["user_agent_entry"] = alias
    for name, option in _OPTIONS.items():
        value = _as_text(keywords.pop(name, None))
        if value is not None:
            options.append((option, value))
    unknown = sorted(set(keywords) - _WITHOUT_EFFECT)
    if unknown:
        warnings.warn(f"connect() does not know {', '.join(unknown)}", stacklevel=2)
    settings = [(str(k), str(v)) for k, v in (session_configuration or {}).items()]
    return Connection(options, settings, Cursor)
