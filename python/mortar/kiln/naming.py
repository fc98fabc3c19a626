"""Names of columns that the statement does not name: the expression's text, as Spark prints it.

sqlglot's tree has lost what the names are made of: it calls `instr` `locate`, and `DATE '...'` a
cast. So the statement is parsed once more by a parser that leaves functions as they are written,
and its SELECT lists lend their names to those of the tree that is translated.
"""

from __future__ import annotations

import sqlglot
from sqlglot import exp
from sqlglot.dialects.databricks import Databricks
from sqlglot.errors import SqlglotError


_CALLED = "kiln_called"
"""Marks a cast that is written as CAST(...); others are literals such as DATE '...' and 1L."""


def _parse_cast(parser: Databricks.Parser, strict: bool) -> exp.Expression:
    cast = parser._parse_cast(strict)
    cast.meta[_CALLED] = True
    return cast


CAST_FUNCTIONS = {
    "bigint": "BIGINT", "binary": "BINARY", "boolean": "BOOLEAN", "date": "DATE",
    "decimal": "DECIMAL(10,0)", "double": "DOUBLE", "float": "FLOAT", "int": "INT",
    "smallint": "SMALLINT", "string": "STRING", "timestamp": "TIMESTAMP", "tinyint": "TINYINT",
}  # fmt: skip
"""Functions of one argument that are casts, and are named like CAST(...)."""


class _AsWritten(Databricks):
    class Parser(Databricks.Parser):
        FUNCTIONS: dict = {}
        NO_PAREN_FUNCTIONS: dict = {}
        ARRAY_CONSTRUCTORS: dict = {}
        FUNCTION_PARSERS = {
            "CAST": lambda self: _parse_cast(self, True),
            "TRY_CAST": lambda self: _parse_cast(self, False),
            "EXTRACT": Databricks.Parser.FUNCTION_PARSERS["EXTRACT"],
        }


class _SparkText(Databricks.Generator):
    """Writes an expression as Spark names its column: operators in parentheses, the writer's own
    parentheses and quotes left out, columns without their table."""

    TRANSFORMS = {
        **Databricks.Generator.TRANSFORMS,
        exp.RegexpLike: lambda self, expression: self.regexplike_sql(expression),
        exp.IntDiv: lambda self, expression: self.binary(expression, "div"),
    }

    def binary(self, expression: exp.Binary, op: str) -> str:
        return f"({self.sql(expression, 'this')} {op} {self.sql(expression, 'expression')})"

    def connector_sql(self, expression: exp.Connector, op: str, stack: object = None) -> str:
        return self.binary(expression, op)

    def mod_sql(self, expression: exp.Mod) -> str:
        return self.binary(expression, "%")

    def neq_sql(self, expression: exp.NEQ) -> str:
        return f"(NOT {self.binary(expression, '=')})"

    def nullsafeeq_sql(self, expression: exp.NullSafeEQ) -> str:
        return self.binary(expression, "<=>")

    def dpipe_sql(self, expression: exp.DPipe) -> str:
        return f"concat({self.sql(expression, 'this')}, {self.sql(expression, 'expression')})"

    def not_sql(self, expression: exp.Not) -> str:
        inner = expression.this
        if isinstance(inner, exp.Is) and isinstance(inner.expression, exp.Null):
            return f"({self.sql(inner, 'this')} IS NOT NULL)"
        return f"(NOT {self.sql(expression, 'this')})"

    def neg_sql(self, expression: exp.Neg) -> str:
        inner = self.sql(expression, "this")
        return f"-{inner}" if isinstance(expression.this, exp.Literal) else f"(- {inner})"

    def in_sql(self, expression: exp.In) -> str:
        return f"({super().in_sql(expression)})"

    def between_sql(self, expression: exp.Between) -> str:
        parts = (self.sql(expression, part) for part in ("this", "low", "high"))
        return f"between({', '.join(parts)})"

    def like_sql(self, expression: exp.Like) -> str:
        text = self.binary(expression, "LIKE")[1:-1]
        return f"(NOT {text})" if expression.args.get("negate") else text

    def ilike_sql(self, expression: exp.ILike) -> str:
        parts = (self.sql(expression, part) for part in ("this", "expression"))
        return f"ilike({', '.join(parts)})"

    def regexplike_sql(self, expression: exp.RegexpLike) -> str:
        parts = (self.sql(expression, part) for part in ("this", "expression"))
        return f"RLIKE({', '.join(parts)})"

    def paren_sql(self, expression: exp.Paren) -> str:
        return self.sql(expression, "this")

    def column_sql(self, expression: exp.Column) -> str:
        return f"{expression.name.lower()}()" if _is_call(expression) else expression.name

    def dot_sql(self, expression: exp.Dot) -> str:
        field = expression.expression
        text = self.sql(field) if isinstance(field, exp.Func) else field.name
        return f"{self.sql(expression, 'this')}.{text}"

    def literal_sql(self, expression: exp.Literal) -> str:
        is_double = not expression.is_string and "e" in expression.name.lower()
        return str(float(expression.name)) if is_double else expression.name

    def extract_sql(self, expression: exp.Extract) -> str:
        return f"extract({expression.name} FROM {self.sql(expression, 'expression')})"

    def rawstring_sql(self, expression: exp.RawString) -> str:
        return expression.name

    def boolean_sql(self, expression: exp.Boolean) -> str:
        return "true" if expression.this else "false"

    def subquery_sql(self, expression: exp.Subquery, sep: str = " AS ") -> str:
        return "scalarsubquery()"

    def if_sql(self, expression: exp.If) -> str:
        parts = (self.sql(expression, part) for part in ("this", "true", "false"))
        return f"(IF({', '.join(parts)}))"

    def exists_sql(self, expression: exp.Exists) -> str:
        return "exists()"

    def interval_sql(self, expression: exp.Interval) -> str:
        return f"INTERVAL '{expression.this.name}' {self.sql(expression, 'unit')}"

    def cast_sql(self, expression: exp.Cast, safe_prefix: str | None = None) -> str:
        value = expression.this
        kind = self.sql(expression, "to").replace(", ", ",")
        word = "TRY_CAST" if isinstance(expression, exp.TryCast) else "CAST"
        if not expression.meta.get(_CALLED) and isinstance(value, exp.Literal):
            is_number = kind.startswith("DECIMAL") or not value.is_string
            return value.name if is_number else f"{kind} '{value.name}'"
        return f"{word}({self.sql(value)} AS {kind})"

    def concat_sql(self, expression: exp.Concat) -> str:
        """Literals that follow each other: the function concat() is anonymous here."""
        return "".join(self.sql(part) for part in expression.expressions)

    def anonymous_sql(self, expression: exp.Anonymous) -> str:
        name = expression.name.lower()
        arguments = [self.sql(argument) for argument in expression.expressions]
        if name in ("isnull", "isnotnull") and len(arguments) == 1:
            return f"({arguments[0]} IS {'NOT ' if name == 'isnotnull' else ''}NULL)"
        if name in CAST_FUNCTIONS and len(arguments) == 1:
            return f"CAST({arguments[0]} AS {CAST_FUNCTIONS[name]})"
        if name == "from_json":
            arguments = arguments[:1]
        count, more = _DEFAULTS.get(name, (-1, ""))
        if len(arguments) == count:
            arguments.append(more)
        return f"{name.upper() if name in _UPPER else name}({', '.join(arguments)})"

    def lambda_sql(self, expression: exp.Lambda, arrow_sep: str = "->", wrap: bool = True) -> str:
        variables = {variable.name for variable in expression.expressions}
        body = expression.this.copy().transform(
            lambda node: _VARIABLE.copy() if _is_variable(node, variables) else node
        )
        shown = [self.sql(body), *(self.sql(_VARIABLE) for _ in variables)]
        return f"lambdafunction({', '.join(shown)})"


_VARIABLE = exp.Anonymous(this="namedlambdavariable")


def _is_variable(node: exp.Expression, variables: set[str]) -> bool:
    if isinstance(node, exp.Column):
        return not node.args.get("table") and node.name in variables
    return (
        isinstance(node, exp.Identifier)
        and node.name in variables
        and not isinstance(node.parent, (exp.Column, exp.Dot))
    )


# Functions that Spark prints in capitals.
_UPPER = {"ceil", "floor", "sqrt", "exp", "log2", "log10", "pi", "e", "power", "cbrt",
          "regexp_like", "rlike"}  # fmt: skip

# A last argument that Spark prints where it is left out: with how many arguments, and its text.
_DEFAULTS = {
    "locate": (2, "1"),
    "position": (2, "1"),
    "substr": (2, "2147483647"),
    "substring": (2, "2147483647"),
    "split": (2, "-1"),
    "regexp_replace": (3, "1"),
    "from_unixtime": (1, "yyyy-MM-dd HH:mm:ss"),
    "unix_timestamp": (1, "yyyy-MM-dd HH:mm:ss"),
    "sort_array": (1, "true"),
    "percentile": (2, "1"),
    "aggregate": (3, "lambdafunction(namedlambdavariable(), namedlambdavariable())"),
}


def _shown(item: exp.Expression, values: dict[str, str]) -> str:
    item = item.transform(  # a copy
        lambda node: exp.var(values.get(node.name, "?")) if isinstance(node, exp.Placeholder) else node
    )
    for star in item.find_all(exp.Star):
        if isinstance(star.parent, (exp.Count, exp.Anonymous)):
            star.replace(exp.Literal.number(1))
    generator = _SparkText(dialect="databricks", normalize_functions="lower", comments=False)
    # generate() would strip the blanks of a literal. DuckDB's names end with NUL, so they have none.
    return generator.sql(item).replace("\0", "")


# Functions that are written without parentheses, too.
_BARE = ("current_date", "current_timestamp", "current_user", "current_catalog", "current_schema",
         "current_database", "localtimestamp", "session_user")  # fmt: skip


def _is_call(column: exp.Expression) -> bool:
    bare = isinstance(column, exp.Column) and not column.args.get("table")
    return bare and not column.this.quoted and column.name.lower() in _BARE


def name_columns(tree: exp.Expression, sql: str, values: dict[str, str]) -> bool:
    """Gives every unnamed expression of a SELECT list the alias that a warehouse would show, with
    the values of parameters in it. Whether there are such."""
    selects = list(tree.find_all(exp.Select))
    unnamed = [i for select in selects for i in select.expressions if not _is_named(i)]
    if not unnamed:
        return False
    valued = bool(values) and any(item.find(exp.Placeholder) for item in unnamed)
    written = _selects_as_written(sql)
    for number, select in enumerate(selects):
        items = select.expressions
        other = written[number].expressions if number < len(written) else []
        if len(written) != len(selects) or len(other) != len(items):
            other = items
        pairs = zip(items, other)
        select.set("expressions", [_named(item, shown, values) for item, shown in pairs])
    return valued


def _selects_as_written(sql: str) -> list[exp.Select]:
    try:
        trees = [tree for tree in sqlglot.parse(sql, read=_AsWritten) if tree]
    except SqlglotError:
        return []
    return list(trees[0].find_all(exp.Select)) if trees else []


def _is_named(item: exp.Expression) -> bool:
    return isinstance(item, (exp.Alias, exp.Aliases, exp.Star, exp.Posexplode)) or (
        isinstance(item, exp.Column) and not _is_call(item)
    )


def _named(
    item: exp.Expression, shown: exp.Expression, values: dict[str, str]
) -> exp.Expression:
    if _is_named(item):
        return item
    if isinstance(item, exp.Explode):
        return item if _makes_columns(item) else exp.alias_(item, "col")
    if isinstance(item, exp.Func) and type(item).__name__ in ("Inline", "Stack"):
        return item
    is_field = isinstance(item, exp.Dot) and not isinstance(item.expression, exp.Func)
    if is_field and isinstance(item.this, (exp.Column, exp.Dot)):
        return exp.alias_(item, item.expression.name, quoted=True)
    name = _shown(shown, values)
    return exp.alias_(item, name, quoted=True) if name else item


def _makes_columns(item: exp.Explode) -> bool:
    """explode of a map has two columns, which are called key and value."""
    inner = item.this
    return isinstance(inner, (exp.Map, exp.VarMap)) or "map" in inner.name.lower()
