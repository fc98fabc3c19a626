"""Values for the markers of a statement, `:name` or `?`: what execute() makes of its `parameters`.

Plain values are enough in most programs; the classes say which SQL type is meant. They check
nothing: whether a value fits its type is for the server to say. Loaded by the first statement that
has parameters.
"""

from __future__ import annotations

import datetime
import decimal
import re
from collections.abc import Mapping, Sequence
from typing import Any

from . import exc
from ._log import logger
from .utils import ParamEscaper, inject_parameters

_MOST = 256

Wire = tuple["str | None", str, "str | None", "tuple[Any, ...] | None"]
"""What the C side takes: name, type, value (None: null) and, in its place, arguments."""


class DbsqlParameterBase:
    """A value with a SQL type. With a name it is meant for `:name`, without one for the next `?`."""

    CAST_EXPR = ""

    def __init__(self, value: Any, name: str | None = None) -> None:
        self.value = value
        self.name = name

    def __repr__(self) -> str:
        return f"{type(self).__name__}(name={self.name!r}, value={self.value!r})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    __hash__ = None  # type: ignore[assignment]

    def _cast(self) -> str:
        return self.CAST_EXPR

    def _text(self) -> str | None:
        if isinstance(self.value, str):
            return str.__str__(self.value)  # of an Enum of texts: the text, not the member's name
        return None if self.value is None else str(self.value)

    def _arguments(self) -> tuple[Wire, ...] | None:
        return None

    def _wire(self, name: str | None) -> Wire:
        return name, self._cast(), self._text(), self._arguments()


class StringParameter(DbsqlParameterBase):
    CAST_EXPR = "STRING"


class BooleanParameter(DbsqlParameterBase):
    CAST_EXPR = "BOOLEAN"


class TinyIntParameter(DbsqlParameterBase):
    CAST_EXPR = "TINYINT"


class SmallIntParameter(DbsqlParameterBase):
    CAST_EXPR = "SMALLINT"


class IntegerParameter(DbsqlParameterBase):
    CAST_EXPR = "INT"


class BigIntegerParameter(DbsqlParameterBase):
    CAST_EXPR = "BIGINT"


class FloatParameter(DbsqlParameterBase):
    CAST_EXPR = "FLOAT"


class DoubleParameter(DbsqlParameterBase):
    CAST_EXPR = "DOUBLE"


class DateParameter(DbsqlParameterBase):
    CAST_EXPR = "DATE"


class TimestampParameter(DbsqlParameterBase):
    """A datetime without a zone is one of the session's."""

    CAST_EXPR = "TIMESTAMP"


class TimestampNTZParameter(DbsqlParameterBase):
    """The server drops the zone of the datetime."""

    CAST_EXPR = "TIMESTAMP_NTZ"


class VoidParameter(DbsqlParameterBase):
    """A null without a type."""

    CAST_EXPR = "VOID"

    def _text(self) -> None:
        return None


class DecimalParameter(DbsqlParameterBase):
    """Beware: `scale` is the number of all digits and `precision` that of those behind the point,
    which is the other way round in SQL; programs count on it. Without them, or where one of them
    is 0, both come from the value: a minus sign counts as a digit, as long as there is room."""

    CAST_EXPR = "DECIMAL({},{})"
    _MOST_DIGITS = 38

    def __init__(
        self,
        value: Any,
        name: str | None = None,
        scale: int | None = None,
        precision: int | None = None,
    ) -> None:
        super().__init__(value, name)
        self.scale = scale
        self.precision = precision
        given = [number for number in (scale, precision) if number is not None]
        if len(given) == 1 or not all(isinstance(number, int) for number in given):
            raise ValueError("DecimalParameter takes both or none of scale and precision, as ints")

    def _text(self) -> str | None:
        if isinstance(self.value, decimal.Decimal):
            return format(self.value, "f")  # without an exponent
        return super()._text()

    def _cast(self) -> str:
        if self.scale and self.precision:
            return self.CAST_EXPR.format(self.scale, self.precision)
        whole, _, fraction = (self._text() or "0").partition(".")
        if whole == "0" and fraction:
            whole = ""
        if len(whole) + len(fraction) > self._MOST_DIGITS:
            whole = whole.lstrip("-0")
        return self.CAST_EXPR.format(len(whole) + len(fraction), len(fraction))


class ArrayParameter(DbsqlParameterBase):
    """A sequence; its elements are plain values or parameters."""

    CAST_EXPR = "ARRAY"

    def _text(self) -> None:
        return None

    def _arguments(self) -> tuple[Wire, ...] | None:
        if self.value is None:
            return None
        return tuple(_parameter(element)._wire(None) for element in self.value)


class MapParameter(ArrayParameter):
    """A mapping; its keys and values are plain values or parameters."""

    CAST_EXPR = "MAP"

    def _arguments(self) -> tuple[Wire, ...] | None:
        if self.value is None:
            return None
        pairs = (part for pair in self.value.items() for part in pair)
        return tuple(_parameter(part)._wire(None) for part in pairs)


_INT = range(-(2**31), 2**31)


def dbsql_parameter_from_int(value: int, name: str | None = None) -> DbsqlParameterBase:
    """INT where the value fits, else BIGINT."""
    return (IntegerParameter if value in _INT else BigIntegerParameter)(value, name)


# Looked through in this order: a bool is an int, a datetime a date and a str a sequence.
_INFERRED: tuple[tuple[Any, Any], ...] = (
    (bool, BooleanParameter),
    (int, dbsql_parameter_from_int),
    (str, StringParameter),
    (float, DoubleParameter),
    (datetime.datetime, TimestampParameter),
    (datetime.date, DateParameter),
    (decimal.Decimal, DecimalParameter),
    (dict, MapParameter),
    (type(None), VoidParameter),
)

_BYTES = (bytes, bytearray, memoryview)


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, *_BYTES))


def dbsql_parameter_from_primitive(value: Any, name: str | None = None) -> DbsqlParameterBase:
    """The parameter for a plain value. NotSupportedError: there is none for its type."""
    for kind, make in _INFERRED:
        if isinstance(value, kind):
            return make(value, name)
    if _is_sequence(value):
        return ArrayParameter(value, name)
    hint = ": pass hex digits to unhex()" if isinstance(value, _BYTES) else ""
    raise exc.NotSupportedError(f"Could not infer parameter type of a {type(value).__name__}{hint}")


def _parameter(value: Any) -> DbsqlParameterBase:
    is_one = isinstance(value, DbsqlParameterBase)
    return value if is_one else dbsql_parameter_from_primitive(value)


# ---- What execute() is given ----------------------------------------------------------------

_MARKER = re.compile(
    r"""[rR]'[^']*' | [rR]"[^"]*" | '(?:\\.|[^'\\])*' | "(?:\\.|[^"\\])*" | `[^`]*`
    | --[^\n]* | /\*.*?\*/ | %% | %\((?P<name>\w+)\)s""",
    re.VERBOSE | re.DOTALL,
)


def _with_colons(operation: str, names: set[str | None]) -> str:
    """`%(name)s`, as older programs write it, as `:name`: outside quotes and comments, and where
    there is such a parameter."""
    return _MARKER.sub(
        lambda found: f":{found['name']}" if found["name"] in names else found[0], operation
    )


def _collect(parameters: Any) -> list[DbsqlParameterBase]:
    if isinstance(parameters, Mapping):
        return [dbsql_parameter_from_primitive(value, str(name)) for name, value in parameters.items()]
    if _is_sequence(parameters):
        return [_parameter(value) for value in parameters]
    raise exc.ProgrammingError(
        f"parameters are a dict, or a sequence such as a list, not a {type(parameters).__name__}"
    )


def prepare(connection: Any, operation: Any, parameters: Any) -> tuple[Any, list[Wire]]:
    """The text to send, and its parameters for the C side."""
    if connection.use_inline_params:
        return inject_parameters(operation, ParamEscaper().escape_args(parameters)), []
    given = _collect(parameters)
    if len(given) > _MOST:
        raise exc.ProgrammingError(f"{len(given)} parameters: a statement takes at most {_MOST}")
    named = [parameter.name is not None for parameter in given]
    if any(named) and not all(named):
        raise exc.ProgrammingError("either all parameters have names or none has: these are mixed")
    if any(named) and isinstance(operation, str):
        operation = _with_colons(operation, {parameter.name for parameter in given})
    elif given and isinstance(operation, str) and "%s" in operation:
        logger.warning("%s is no marker: un-named query markers are written as ?", "%s")
    try:
        return operation, [parameter._wire(parameter.name) for parameter in given]
    except RecursionError:
        raise exc.ProgrammingError("a parameter is nested too deep, or holds itself") from None


__all__ = [
    "ArrayParameter",
    "BigIntegerParameter",
    "BooleanParameter",
    "DateParameter",
    "DecimalParameter",
    "DoubleParameter",
    "FloatParameter",
    "IntegerParameter",
    "MapParameter",
    "SmallIntParameter",
    "StringParameter",
    "TimestampNTZParameter",
    "TimestampParameter",
    "TinyIntParameter",
    "VoidParameter",
]
