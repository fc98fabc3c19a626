"""Small rewrites of a statement's tree, each with what would go wrong without it.

They stand in REWRITES in the order in which they run, after the columns have their names. A rewrite
that depends on a value's type calls a macro of setup.sql that has one form for each type: the tree
does not know types of columns, DuckDB does.
"""

from __future__ import annotations

from typing import Callable

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.annotate_types import annotate_types

from .catalogs import text_literal
from .naming import CAST_FUNCTIONS
from .plan import Refused

Names = tuple[str, str]

USER = "kiln"
_WHOLE = ("TINYINT", "SMALLINT", "INT", "BIGINT")


def macro(name: str, *arguments: exp.Expression) -> exp.Expression:
    """A call of one of Kiln's macros, by its full name."""
    call = exp.Anonymous(this=name, expressions=list(arguments))
    return exp.Dot.build([exp.to_identifier("kiln"), exp.to_identifier("main"), call])


def _cast(value: exp.Expression, kind: str) -> exp.Cast:
    """A cast that no other rewrite looks at."""
    cast = exp.Cast(this=value, to=exp.DataType.build(kind, dialect="duckdb"))
    cast.meta["kiln"] = True
    return cast


def _each(tree: exp.Expression, *kinds: type[exp.Expression]) -> list[exp.Expression]:
    """Innermost first, so that what is replaced holds what was replaced before."""
    return list(reversed(list(tree.find_all(*kinds))))


def _replace(node: exp.Expression, build: Callable[..., exp.Expression]) -> None:
    """Puts build(a copy of node) in the place of node."""
    node.replace(build(node.copy()))


# ---- The session ---------------------------------------------------------------------------------


def _session_functions(tree: exp.Expression, names: Names) -> None:
    """DuckDB would answer with its own names for them."""
    values = {
        exp.CurrentCatalog: names[0],
        exp.CurrentSchema: names[1],
        exp.CurrentDatabase: names[1],
        exp.CurrentUser: USER,
        exp.SessionUser: USER,
    }
    for node in _each(tree, *values):
        node.replace(exp.Literal.string(values[type(node)]))
    anonymous = {"user": USER, "current_namespace": names[1]}
    for node in _each(tree, exp.Anonymous):
        value = anonymous.get(node.name.lower())
        if value and not node.expressions:
            node.replace(exp.Literal.string(value))


# ---- Dates and times -----------------------------------------------------------------------------


def _timestamps(tree: exp.Expression, names: Names) -> None:
    """A warehouse's TIMESTAMP has a time zone, DuckDB's has none."""
    for node in tree.find_all(exp.DataType):
        if node.this == exp.DataType.Type.TIMESTAMP:
            node.set("this", exp.DataType.Type.TIMESTAMPTZ)
    for node in _each(tree, exp.StrToTime, exp.TimestampFromParts):
        _replace(node, lambda copy: _cast(copy, "TIMESTAMPTZ"))


def _date_arithmetic(tree: exp.Expression, names: Names) -> None:
    """DuckDB makes a timestamp of every date that something is added to."""
    for node in _each(tree, exp.TsOrDsAdd, exp.DateFromUnixDate):
        _replace(node, lambda copy: _cast(copy, "DATE"))
    for node in _each(tree, exp.Add, exp.Sub):
        interval = node.expression
        if isinstance(interval, exp.Interval) and _has_whole_days(interval):
            name = "add_interval" if isinstance(node, exp.Add) else "subtract_interval"
            node.replace(macro(name, node.this, interval))


def _has_whole_days(interval: exp.Interval) -> bool:
    return str(interval.args.get("unit") or "DAY").upper().rstrip("S") in (
        "DAY", "WEEK", "MONTH", "QUARTER", "YEAR",
    )  # fmt: skip


def _intervals(tree: exp.Expression, names: Names) -> None:
    """DuckDB takes no units from one to another."""
    for node in tree.find_all(exp.Interval):
        span = node.args.get("unit")
        if not isinstance(span, exp.IntervalSpan):
            continue
        text, first, last = node.this.name, span.this.name.upper(), span.expression.name.upper()
        if (first, last) == ("YEAR", "MONTH"):
            sign = -1 if text.startswith("-") else 1
            years, _, months = text.lstrip("+-").partition("-")
            total = sign * (int(years) * 12 + int(months or 0))
            node.set("this", exp.Literal.string(str(total)))
            node.set("unit", exp.var("MONTH"))
        elif first == "DAY":
            days, _, rest = text.partition(" ")
            node.set("this", exp.Literal.string(f"{days} days {rest}"))
            node.set("unit", None)
        else:
            node.set("this", exp.Literal.string(text))
            node.set("unit", None)


def _unix_times(tree: exp.Expression, names: Names) -> None:
    """unix_timestamp and date_format take a text or a time; DuckDB's functions only one of them."""
    for node in _each(tree, exp.StrToUnix):
        form = node.args.get("format")
        if form is None or "strict" in form.name or form.name == "%Y-%m-%d %H:%M:%S":
            node.replace(macro("unix_seconds", node.this))


_TRUNC_UNITS = {"MM": "MONTH", "MON": "MONTH", "YY": "YEAR", "YYYY": "YEAR", "Q": "QUARTER"}


def _truncated_dates(tree: exp.Expression, names: Names) -> None:
    """trunc() has short names of units, and makes a date."""
    for node in _each(tree, exp.DateTrunc):
        unit = node.args["unit"].name.upper()
        node.set("unit", exp.Literal.string(_TRUNC_UNITS.get(unit, unit)))
        _replace(node, lambda copy: _cast(copy, "DATE"))


# ---- Numbers -------------------------------------------------------------------------------------

# These are INT in a warehouse and BIGINT in DuckDB.
_INT_FUNCTIONS = (
    exp.Year, exp.Month, exp.Day, exp.DayOfMonth, exp.DayOfYear, exp.Quarter, exp.WeekOfYear,
    exp.Hour, exp.Minute, exp.Second, exp.Length, exp.ArraySize, exp.StrPosition, exp.DateDiff,
    exp.Unicode, exp.Levenshtein, exp.Sign, exp.TsOrDsDiff, exp.ByteLength, exp.BitLength,
)  # fmt: skip
_INT_WINDOWS = (exp.RowNumber, exp.Rank, exp.DenseRank, exp.Ntile)


def _int_functions(tree: exp.Expression, names: Names) -> None:
    for node in _each(tree, *_INT_FUNCTIONS):
        kind = "DOUBLE" if isinstance(node, exp.Sign) else "INT"
        _replace(node, lambda copy: _cast(copy, kind))
    for node in _each(tree, exp.Func):
        if _called(node) in ("regexp_count", "unix_date", "json_array_length"):
            _replace(node, lambda copy: _cast(copy, "INT"))
        elif _called(node) == "array_position":
            _replace(node, lambda copy: _cast(copy, "BIGINT"))
    for node in _each(tree, exp.Extract):
        if node.name.upper() not in ("SECOND", "SECONDS", "EPOCH"):
            _replace(node, lambda copy: _cast(copy, "INT"))
    for node in _each(tree, exp.Window):
        if isinstance(node.this, _INT_WINDOWS):
            _replace(node, lambda copy: _cast(copy, "INT"))


def _cast_functions(tree: exp.Expression, names: Names) -> None:
    """sqlglot knows some of them as casts and leaves the others as they are."""
    for node in _each(tree, exp.Anonymous):
        kind = CAST_FUNCTIONS.get(node.name.lower())
        if kind and len(node.expressions) == 1:
            node.replace(exp.cast(node.expressions[0], kind, dialect="databricks"))


def _casts(tree: exp.Expression, names: Names) -> None:
    """DuckDB rounds where a warehouse cuts off, and writes a time zone behind times."""
    for node in _each(tree, exp.Cast):
        kind = node.to.this.name if isinstance(node.to, exp.DataType) else ""
        if node.meta.get("kiln") or isinstance(node.this, exp.Placeholder):
            continue
        plain = isinstance(node.this, exp.Null) or node.this.is_int
        if kind in _WHOLE and not plain:
            refused = exp.Null() if isinstance(node, exp.TryCast) else exp.Literal.string(kind)
            node.set("this", macro("whole", node.this, refused))
        elif kind in ("TEXT", "VARCHAR") and not isinstance(node.this, exp.Literal):
            node.set("this", macro("as_text", node.this))
        elif kind == "NULL":
            node.replace(exp.Null())


_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.IntDiv)


def _texts_as_numbers(tree: exp.Expression, names: Names) -> None:
    """A text that is reckoned with becomes a number, which DuckDB leaves to the writer: a BIGINT
    beside whole numbers, a DOUBLE beside others and beside texts."""
    for node in _each(tree, exp.Neg):
        if node.this.is_string:
            node.this.replace(exp.cast(node.this.copy(), "DOUBLE"))
    for node in _each(tree, *_ARITHMETIC):
        for text, other in ((node.this, node.expression), (node.expression, node.this)):
            if not text.is_string or isinstance(other, exp.Interval):
                continue
            if isinstance(other, exp.Literal):
                text.replace(exp.cast(text.copy(), "BIGINT" if other.is_int else "DOUBLE"))
            else:
                text.replace(macro("number_beside", text.copy(), other.copy()))


def _large_literals(tree: exp.Expression, names: Names) -> None:
    """What is too long for a BIGINT is a DECIMAL. The lowest INT is one, with its sign."""
    for node in _each(tree, exp.Literal):
        if node.name == "2147483648" and isinstance(node.parent, exp.Neg):
            _replace(node.parent, lambda copy: _cast(copy, "INT"))
        if not node.is_int or len(node.name) < 19:
            continue
        value = int(node.name)
        lowest = value == 1 << 63 and isinstance(node.parent, exp.Neg)
        digits = str(value)
        if value >= 1 << 63 and not lowest and len(digits) <= 38:
            node.replace(_cast(exp.Literal.string(digits), f"DECIMAL({len(digits)}, 0)"))


def _division(tree: exp.Expression, names: Names) -> None:
    """DuckDB divides by zero without complaint; a warehouse in ANSI mode refuses. A divisor that
    is a number other than zero needs no check."""
    macros = {exp.Div: "checked_divide", exp.Mod: "checked_remainder", exp.IntDiv: "checked_div"}
    for node in _each(tree, *macros):
        divisor = node.expression.unnest()
        if divisor.is_number and float(divisor.to_py() or 0) != 0:
            if isinstance(node, exp.IntDiv):
                _replace(node, lambda copy: _cast(copy, "BIGINT"))
            continue
        node.replace(macro(macros[type(node)], node.this, node.expression))


def _map_keys(tree: exp.Expression, names: Names) -> None:
    """sqlglot looks for the map in its key."""
    for node in _each(tree, exp.MapContainsKey):
        keys = exp.Anonymous(this="map_keys", expressions=[node.this])
        node.replace(exp.Anonymous(this="list_contains", expressions=[keys, node.args["key"]]))


def _formats(tree: exp.Expression, names: Names) -> None:
    """format_string has C's marks, DuckDB's format() Python's."""
    for node in _each(tree, exp.Format):
        node.replace(exp.Anonymous(this="printf", expressions=[node.this, *node.expressions]))


def _number_formats(tree: exp.Expression, names: Names) -> None:
    """sqlglot drops the format and says nothing."""
    for node in tree.find_all(exp.ToChar, exp.ToNumber):
        text = f"Kiln does not know {_called(node)} with a format."
        raise Refused("UNSUPPORTED_FEATURE", "0A000", text)


def _percentiles(tree: exp.Expression, names: Names) -> None:
    """percentile() lies between two values where DuckDB's quantile takes one of them."""
    for node in _each(tree, exp.Quantile):
        arguments = [node.this, node.args["quantile"]]
        node.replace(exp.Anonymous(this="quantile_cont", expressions=arguments))


def _nul_characters(tree: exp.Expression, names: Names) -> None:
    """DuckDB's texts of statements end with NUL, so a literal can hold none."""
    for node in tree.find_all(exp.Literal):
        if node.is_string and "\0" in node.name:
            node.replace(sqlglot.parse_one(text_literal(node.name), dialect="duckdb"))


def _tries(tree: exp.Expression, names: Names) -> None:
    operators = {exp.SafeAdd: exp.Add, exp.SafeSubtract: exp.Sub, exp.SafeMultiply: exp.Mul}
    for node in _each(tree, *operators):
        operation = operators[type(node)](this=node.this, expression=node.expression)
        node.replace(exp.Anonymous(this="try", expressions=[operation]))


# Macros with several forms, and functions that are such macros.
_BY_TYPE = {
    "add_interval", "as_text", "cardinality", "ceil", "floor", "number_beside", "subtract_interval",
    "unix_seconds", "whole",
}  # fmt: skip


def _forms_of_aggregates(tree: exp.Expression, names: Names) -> None:
    """DuckDB does not know the type of an aggregate when it looks for a macro's form. Of each there
    is one that gets the value first."""
    for node in _each(tree, exp.Ceil, exp.Floor, exp.Anonymous):
        name = _called(node)
        if name not in _BY_TYPE or not any(_has_aggregate(item) for item in _arguments(node)):
            continue
        if isinstance(node, exp.Anonymous):
            node.set("this", f"{name}_of_aggregate")
        elif node.args.get("decimals") is None:
            node.replace(macro(f"{name}_of_aggregate", node.this))


def _has_aggregate(node: exp.Expression) -> bool:
    found = node.walk(prune=lambda inner: isinstance(inner, exp.Query))
    return any(isinstance(inner, (exp.AggFunc, exp.Window)) for inner in found) or any(
        inner.name.lower() == "quantile_cont" for inner in node.find_all(exp.Anonymous)
    )


# ---- Arrays, maps, structs -----------------------------------------------------------------------


def _brackets(tree: exp.Expression, names: Names) -> None:
    """Arrays count from 0 here and from 1 in DuckDB, which sqlglot knows of numbers only; and a
    place behind the end of what is surely an array is an error."""
    for node in _each(tree, exp.Bracket):
        if len(node.expressions) != 1 or isinstance(node.expressions[0], exp.Slice):
            continue
        index = node.expressions[0]
        if node.args.get("offset") is not None:  # element_at and the like, which count from 1
            if node.args.get("safe") is False and _is_array(node.this):
                node.replace(macro("array_element_at", node.this, index))
            continue
        if index.is_string:
            continue
        if _is_array(node.this):
            node.replace(macro("array_at", node.this, index))
        elif not index.is_number:
            node.set("expressions", [macro("place", index)])
            node.set("offset", 1)


def _is_array(node: exp.Expression) -> bool:
    if isinstance(node, exp.Column):
        return False
    kind = annotate_types(node.copy(), dialect="databricks").type
    return kind is not None and kind.this == exp.DataType.Type.ARRAY


def _lambdas(tree: exp.Expression, names: Names) -> None:
    """sqlglot leaves the function of exists() out."""
    for node in _each(tree, exp.Exists):
        function = node.args.get("expression")
        if function is not None:
            found = exp.ArrayFilter(this=node.this, expression=function)
            count = exp.Anonymous(this="len", expressions=[found])
            node.replace(exp.Paren(this=exp.GT(this=count, expression=exp.Literal.number(0))))


def _from_json(tree: exp.Expression, names: Names) -> None:
    """A warehouse's schema text is not DuckDB's; a text that does not fit gives NULL."""
    for node in _each(tree, exp.Func):
        arguments = _arguments(node)
        if _called(node) != "from_json" or len(arguments) < 2 or not arguments[1].is_string:
            continue
        kind = _type_of(arguments[1].name)
        json = exp.TryCast(this=arguments[0], to=exp.DataType.build("JSON"))
        node.replace(exp.TryCast(this=json, to=kind))


def _type_of(text: str) -> exp.DataType:
    for form in (text, f"STRUCT<{text}>"):
        try:
            return exp.DataType.build(form, dialect="databricks")
        except (SqlglotError, ValueError):
            continue
    raise Refused("PARSE_SYNTAX_ERROR", "42601", f"Syntax error in the schema '{text}'.")


_HOLDS_STRUCTS = (exp.Array, exp.Map, exp.VarMap, exp.Paren, exp.Alias)


def _structs_by_place(tree: exp.Expression, names: Names) -> None:
    """A struct that is written to a column fits it by place; DuckDB looks for equal names unless
    the struct has none."""
    for node in tree.find_all(exp.Insert, exp.Update):
        for value in _written_values(node):
            _forget_fields(value)


def _written_values(node: exp.Insert | exp.Update) -> list[exp.Expression]:
    if isinstance(node, exp.Update):
        return [item.expression for item in node.expressions if isinstance(item, exp.EQ)]
    source = node.expression
    if isinstance(source, exp.Values):
        return [value for row in source.expressions for value in row.expressions or [row]]
    by_place = isinstance(source, (exp.Select, exp.Tuple)) and not node.args.get("by_name")
    return list(source.expressions) if by_place else []


def _forget_fields(node: exp.Expression) -> None:
    if isinstance(node, exp.Struct):
        values = [item.expression if isinstance(item, exp.PropertyEQ) else item.unalias()
                  for item in node.expressions]  # fmt: skip
        node.replace(row := exp.Anonymous(this="row", expressions=values))
        node = row
    elif not isinstance(node, _HOLDS_STRUCTS):
        return
    for inner in list(node.iter_expressions()):
        _forget_fields(inner)


# ---- Rows out of values --------------------------------------------------------------------------


def _rows_of(node: exp.Expression, keys: bool) -> str | None:
    """DuckDB's SELECT for a function that makes rows; keys: of a map's keys and values. None when
    it is a plain list's UNNEST, which sqlglot writes."""
    if isinstance(node, exp.Posexplode):
        text = _duck(node.this)
        places = f"CAST(unnest(generate_series(0, len({text}) - 1)) AS INTEGER)"
        return f"SELECT {places} AS pos, unnest({text}) AS col"
    if isinstance(node, exp.Explode) and keys:
        text = _duck(node.this)
        return f"SELECT unnest(map_keys({text})) AS key, unnest(map_values({text})) AS value"
    if _called(node) == "inline":
        return f"SELECT unnest({_duck(_arguments(node)[0])}, recursive := true)"
    if _called(node) == "stack":
        return f"SELECT {_stacked(node)}"
    return None


def _duck(node: exp.Expression) -> str:
    return node.sql("duckdb", comments=False)


def _called(node: exp.Expression) -> str:
    """The name of a function, whether sqlglot knows it or not."""
    if isinstance(node, exp.Anonymous):
        return node.name.lower()
    return node.sql_name().lower() if isinstance(node, exp.Func) else ""


def _arguments(node: exp.Expression) -> list[exp.Expression]:
    first = [] if isinstance(node, exp.Anonymous) else [node.this, node.args.get("expression")]
    return [*(argument for argument in first if argument is not None), *node.expressions]


def _stacked(node: exp.Expression) -> str:
    """stack(2, a, b, c) as a list of two structs, unnested into columns."""
    count, *values = _arguments(node)
    lines = int(count.name)
    width = -(-len(values) // lines)
    texts = [_duck(value) for value in values]
    texts += ["NULL"] * (lines * width - len(texts))
    structs = (
        ", ".join(f"'col{k}': {text}" for k, text in enumerate(texts[at : at + width]))
        for at in range(0, len(texts), width)
    )
    return "unnest([" + ", ".join(f"{{{struct}}}" for struct in structs) + "], recursive := true)"


def _is_map(node: exp.Expression) -> bool:
    if isinstance(node, (exp.Map, exp.VarMap, exp.ToMap, exp.MapFromEntries)):
        return True
    return _called(node) in ("map", "map_from_arrays", "map_from_entries", "str_to_map")


def _lateral_views(tree: exp.Expression, names: Names) -> None:
    """sqlglot makes UNNEST of a LATERAL VIEW, which takes no map and no OUTER."""
    for select in tree.find_all(exp.Select):
        laterals = select.args.get("laterals") or []
        joins = [_lateral_join(lateral) for lateral in laterals]
        if laterals and all(joins):
            select.set("laterals", None)
            select.set("joins", [*(select.args.get("joins") or []), *joins])


def _lateral_join(lateral: exp.Lateral) -> exp.Join | None:
    alias, function = lateral.args.get("alias"), lateral.this
    columns = alias.columns if alias else []
    keys = isinstance(function, exp.Explode) and (len(columns) == 2 or _is_map(function.this))
    query = _rows_of(function, keys)
    outer = lateral.args.get("outer")
    if query is None and isinstance(function, exp.Explode):
        query = f"SELECT unnest({_or_null(function.this) if outer else _duck(function.this)})"
    if query is None:
        return None
    shown = _duck(alias) if alias and alias.this else "kiln_rows"
    text = f"SELECT 1 FROM a CROSS JOIN LATERAL ({query}) AS {shown}"
    return sqlglot.parse_one(text, dialect="duckdb").args["joins"][0]


def _or_null(array: exp.Expression) -> str:
    """OUTER has a row of NULL for an array without any. A left join would lose the order."""
    text = _duck(array)
    return f"CASE WHEN len({text}) > 0 THEN {text} ELSE [NULL] END"


def _selected_rows(tree: exp.Expression, names: Names) -> None:
    """The same functions in a SELECT list."""
    for select in tree.find_all(exp.Select):
        items = [made for item in select.expressions for made in _selected(item)]
        select.set("expressions", items)


def _selected(item: exp.Expression) -> list[exp.Expression]:
    function = item.unalias() if isinstance(item, exp.Alias) else item
    function = function.this if isinstance(function, exp.Aliases) else function
    keys = isinstance(function, exp.Explode) and _is_map(function.this)
    query = _rows_of(function, keys)
    if query is None:
        return [item]
    made = sqlglot.parse_one(query, dialect="duckdb").expressions
    if isinstance(item, exp.Aliases) and len(item.expressions) == len(made):
        pairs = zip(made, item.expressions)
        return [exp.alias_(part.unalias(), name.name, quoted=True) for part, name in pairs]
    return made


# ---- Queries -------------------------------------------------------------------------------------


def _name_values(tree: exp.Expression, names: Names) -> None:
    """Columns of VALUES are called col1, col2 and so on."""
    for values in tree.find_all(exp.Values):
        alias = values.args.get("alias")
        first = values.expressions[0] if values.expressions else None
        if isinstance(values.parent, exp.Insert) or first is None or (alias and alias.columns):
            continue
        width = len(first.expressions) if isinstance(first, exp.Tuple) else 1
        named = [exp.to_identifier(f"col{i + 1}") for i in range(width)]
        table = alias.this if alias else exp.to_identifier("values_list")
        values.set("alias", exp.TableAlias(this=table, columns=named))


def _groupings(tree: exp.Expression, names: Names) -> None:
    """DuckDB has ROLLUP(x) and no `x WITH ROLLUP`."""
    for group in tree.find_all(exp.Group):
        for word, kind in (("rollup", exp.Rollup), ("cube", exp.Cube)):
            given = group.args.get(word) or []
            if given and not given[0].expressions and group.expressions:
                group.set(word, [kind(expressions=group.expressions)])
                group.set("expressions", None)


def _versions(tree: exp.Expression, names: Names) -> None:
    """Kiln keeps the latest version of a table only."""
    for table in tree.find_all(exp.Table):
        table.set("version", None)
        table.set("when", None)


def _named_tables(tree: exp.Expression, names: Names) -> None:
    """IDENTIFIER('a.b') names a table."""
    for node in _each(tree, exp.Table):
        call = node.this
        if isinstance(call, exp.Anonymous) and call.name.upper() == "IDENTIFIER":
            if len(call.expressions) == 1 and call.expressions[0].is_string:
                table = exp.to_table(call.expressions[0].name, dialect="databricks")
                table.set("alias", node.args.get("alias"))
                node.replace(table)


def _targets(tree: exp.Expression, names: Names) -> None:
    """DuckDB takes no table name before the column that UPDATE SET or MERGE assigns to."""
    for update in tree.find_all(exp.Update):
        for assignment in update.expressions:
            if isinstance(assignment, exp.EQ) and isinstance(assignment.this, exp.Column):
                assignment.this.replace(exp.column(assignment.this.this.copy()))


def _databases(tree: exp.Expression, names: Names) -> None:
    """DATABASE is another word for SCHEMA, but sqlglot takes what follows for a table."""
    if not isinstance(tree, (exp.Create, exp.Drop)) or (tree.args.get("kind") or "") != "DATABASE":
        return
    tree.set("kind", "SCHEMA")
    table = tree.find(exp.Table)
    if table is not None and table.this is not None:
        schema = exp.Table(db=table.this.copy(), catalog=table.args.get("db"))
        table.replace(schema)


# Before names of tables are looked at.
EARLY = (_named_tables, _versions, _databases)

REWRITES = (
    _session_functions, _number_formats, _large_literals, _texts_as_numbers, _cast_functions, _timestamps, _intervals, _unix_times, _truncated_dates,
    _date_arithmetic, _percentiles, _formats, _map_keys, _tries, _lambdas, _from_json, _brackets,
    _int_functions, _casts, _division, _structs_by_place, _nul_characters, _name_values, _groupings,
    _targets, _lateral_views, _selected_rows, _forms_of_aggregates,
)  # fmt: skip
