"""Values written into the text of a statement, for programs that ask for it: `use_inline_params`;
and query tags as the text that servers take.

Parameters that travel beside the text (`mortar.sql.parameters`) are the better way: here the client
has to know what a server takes for a literal.
"""

from __future__ import annotations

import datetime
import decimal
import re
from collections.abc import Mapping, Sequence
from typing import Any

from . import exc


class ParamEscaper:
    """Values as SQL literals. Numbers stay what they are, so that `%d` and `%.2f` work."""

    def escape_args(self, parameters: Any) -> dict[str, Any] | tuple[Any, ...]:
        if isinstance(parameters, dict):
            return {name: self.escape_item(value) for name, value in parameters.items()}
        if isinstance(parameters, (list, tuple)):
            return tuple(self.escape_item(value) for value in parameters)
        raise exc.ProgrammingError(f"Unsupported param format: {type(parameters).__name__}")

    def escape_number(self, item: float) -> float:
        return item

    def escape_string(self, item: str) -> str:
        escaped = item.replace("\\", "\\\\").replace("'", "\\'")
        return f"'{escaped}'"

    def escape_bytes(self, item: bytes | bytearray | memoryview) -> str:
        return f"X'{item.hex()}'"

    def escape_decimal(self, item: decimal.Decimal) -> str:
        return format(item, "f")  # an exponent would make a DOUBLE of it

    def escape_sequence(self, item: Sequence[Any]) -> str:
        return f"ARRAY({','.join(str(self.escape_item(value)) for value in item)})"

    def escape_mapping(self, item: Mapping[Any, Any]) -> str:
        parts = (part for pair in item.items() for part in pair)
        return f"MAP({','.join(str(self.escape_item(part)) for part in parts)})"

    def escape_datetime(self, item: datetime.date, format: str, cutoff: int = 0) -> str:
        text = item.strftime(format)
        return f"'{text[:-cutoff] if cutoff else text}'"

    def escape_item(self, item: Any) -> Any:
        if item is None:
            return "NULL"
        for kind, escape in self._KINDS:
            if isinstance(item, kind):
                return escape(self, item)
        raise exc.ProgrammingError(f"Unsupported object: a {type(item).__name__}")

    def _escape_time(self, item: datetime.datetime) -> str:
        text = item.replace(tzinfo=None).isoformat(" ", "microseconds")
        return f"'{text} {item.strftime('%z')}'" if item.tzinfo else f"'{text}'"

    def _escape_date(self, item: datetime.date) -> str:
        return f"'{item.isoformat()}'"

    # Looked through in this order.
    _KINDS: tuple[tuple[Any, Any], ...] = (
        ((int, float), escape_number),
        (str, escape_string),
        (datetime.datetime, _escape_time),
        (datetime.date, _escape_date),
        (decimal.Decimal, escape_decimal),
        ((bytes, bytearray, memoryview), escape_bytes),
        (Sequence, escape_sequence),
        (Mapping, escape_mapping),
    )


def inject_parameters(operation: str, parameters: Any) -> str:
    """The text with escaped parameters in place of `%(name)s` or `%s`."""
    return operation % parameters


def serialize_query_tags(query_tags: Mapping[str, str | None] | None) -> str | None:
    """The tags as `key:value,key`, None being a key without a value; None when there are no tags. A
    backslash goes before what has a meaning in a value, and in a key before a backslash alone."""
    if not query_tags:
        return None
    if not isinstance(query_tags, Mapping):
        raise exc.ProgrammingError(f"query_tags are a dict, not a {type(query_tags).__name__}")
    tags = []
    for key, value in query_tags.items():
        if not isinstance(key, str) or not isinstance(value, (str, type(None))):
            raise exc.ProgrammingError(f"a query tag is a str and a str or None: {key!r}: {value!r}")
        if "\0" in key or "\0" in (value or ""):
            raise exc.ProgrammingError(f"the query tag {key!r} holds the character NUL")
        tag = key.replace("\\", r"\\")
        tags.append(tag if value is None else tag + ":" + re.sub(r"([\\:,])", r"\\\1", value))
    return ",".join(tags)
