"""Markers of a statement, and the values that are bound to them.

The engine binds texts under the names k0, k1..., as the values are numbered; here they get the
client's types.
"""

from __future__ import annotations

from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokens import TokenType

from .plan import Refused

_MARK = "kiln_mark_"
"""With a number behind it, the name of a parameter that is told by its place."""


@dataclass
class Parameter:
    name: str  # empty when it is told by its place
    kind: str
    number: int
    text: str | None  # the beginning of it; None: null
    arguments: list[Parameter] | None  # of an array, or keys and values of a map


def name_marks(sql: str, parameters: list[Parameter]) -> str:
    """Gives each `?` its number, which the tree would not tell."""
    if all(parameter.name for parameter in parameters):
        return sql
    try:
        tokens = sqlglot.tokenize(sql, read="databricks")
    except TokenError:
        return sql  # the parser says what is wrong
    marks = [token for token in tokens if token.token_type == TokenType.PLACEHOLDER]
    for number, mark in reversed(list(enumerate(marks))):
        sql = f"{sql[: mark.start]}:{_MARK}{number}{sql[mark.end + 1 :]}"
    return sql


def cast_parameters(tree: exp.Expression, parameters: list[Parameter]) -> None:
    """Puts typed values where the markers are."""
    if len({bool(parameter.name) for parameter in parameters}) > 1:
        raise Refused(
            "INVALID_QUERY_MIXED_QUERY_PARAMETERS",
            "42613",
            "Parameterized query must either use positional, or named parameters, but not both.",
        )
    by_name = _by_name(parameters)
    for mark in list(tree.find_all(exp.Placeholder)):
        if mark.name not in by_name:
            raise _unbound(mark.name)
        mark.replace(_value(by_name[mark.name]))


def _by_name(parameters: list[Parameter]) -> dict[str, Parameter]:
    return {
        parameter.name or f"{_MARK}{place}": parameter for place, parameter in enumerate(parameters)
    }


def _unbound(name: str) -> Refused:
    shown = "?" if not name or name.startswith(_MARK) else name
    return Refused(
        "UNBOUND_SQL_PARAMETER",
        "42P02",
        f"Found the unbound parameter: {shown}. Please, fix `args` and provide a mapping of the "
        "parameter to a SQL literal.",
    )


def _is_void(parameter: Parameter) -> bool:
    """The driver for Node sends neither type nor value."""
    return parameter.kind.upper() in ("VOID", "NULL") or not parameter.kind and parameter.text is None


def _value(parameter: Parameter) -> exp.Expression:
    if _is_void(parameter):
        return exp.Null()
    if parameter.kind.upper() in ("ARRAY", "MAP"):
        return _nested(parameter)
    return exp.cast(exp.Placeholder(this=f"k{parameter.number}"), _type(parameter.kind))


def _type(kind: str) -> exp.DataType:
    """Of a whole text: DataType.build would leave what is behind a type."""
    try:
        (cast,) = sqlglot.parse(f"CAST(NULL AS {kind})", read="databricks")
    except (ParseError, TokenError, ValueError):
        cast = None
    if isinstance(cast, exp.Cast) and isinstance(cast.this, exp.Null):
        return cast.to
    raise Refused("UNSUPPORTED_DATATYPE", "0A000", f'Unsupported data type "{kind.upper()}".')


def _nested(parameter: Parameter) -> exp.Expression:
    if parameter.arguments is None:
        return exp.Null()
    values = [_value(argument) for argument in parameter.arguments]
    if parameter.kind.upper() == "ARRAY":
        return exp.Array(expressions=values)
    keys, values = (exp.Array(expressions=part) for part in (values[::2], values[1::2]))
    return exp.Map(keys=keys, values=values)


def shown_values(parameters: list[Parameter]) -> dict[str, str]:
    """By marker, the literal that a warehouse puts into the name of a column."""
    return {name: _shown(parameter) for name, parameter in _by_name(parameters).items()}


def _shown(parameter: Parameter) -> str:
    kind = parameter.kind.upper()
    if parameter.arguments is not None:
        return f"{kind.lower()}({', '.join(map(_shown, parameter.arguments))})"
    if parameter.text is None or _is_void(parameter):
        return "NULL"
    if kind in ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ"):
        return f"{kind} '{parameter.text}'"
    return parameter.text.lower() if kind == "BOOLEAN" else parameter.text
