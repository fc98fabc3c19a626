"""From a warehouse's SQL to DuckDB's: one statement, parsed and rewritten with sqlglot.

What has to differ is a list of small rewrites of the tree; each says what would go wrong without
it. Statements that change more than rows and tables are session_words' business.
"""

from __future__ import annotations

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokens import TokenType

from . import catalogs
from .naming import name_columns
from .plan import Plan, Refused

_QUERIES = (exp.Query, exp.Subquery)
_DEFINITIONS = (exp.Create, exp.Drop, exp.Alter, exp.TruncateTable, exp.Comment)


Parameter = tuple[str, str]
"""Name, empty when it is told by its place, and type."""

_MARK = "kiln_mark_"
"""With a number behind it, the name of a parameter that is told by its place."""


def translate(sql: str, catalog: str, parameters: list[Parameter]) -> Plan:
    """The plan for one statement run with this current catalog. Raises Refused."""
    if any(not name for name, _ in parameters):
        sql = _name_marks(sql)
    tree = _parse(sql)
    name_columns(tree)
    _cast_parameters(tree, parameters)
    _qualify(tree, catalog)
    for rewrite in (_check_divisors, _name_values, _strip_targets):
        rewrite(tree)
    plan = _plan(tree, sql)
    plan.samples = catalogs.SAMPLES == catalog.lower() or _uses_samples(tree)
    return plan


def _name_marks(sql: str) -> str:
    """Gives each `?` its number, which the tree would not tell."""
    try:
        tokens = sqlglot.tokenize(sql, read="databricks")
    except TokenError:
        return sql  # the parser says what is wrong
    marks = [token for token in tokens if token.token_type == TokenType.PLACEHOLDER]
    for number, mark in reversed(list(enumerate(marks))):
        sql = f"{sql[: mark.start]}:{_MARK}{number}{sql[mark.end + 1 :]}"
    return sql


def _cast_parameters(tree: exp.Expression, parameters: list[Parameter]) -> None:
    """The engine binds text under the names k0, k1...; the types are the client's."""
    for mark in list(tree.find_all(exp.Placeholder)):
        name = mark.name
        number = _number_of(name, parameters)
        kind = parameters[number][1]
        if kind.upper() in ("VOID", "NULL"):
            mark.replace(exp.Null())
            continue
        value = exp.Placeholder(this=f"k{number}")
        mark.replace(exp.cast(value, exp.DataType.build(kind, dialect="databricks")))


def _number_of(name: str, parameters: list[Parameter]) -> int:
    for number, (given, _) in enumerate(parameters):
        if given == name or (not given and name == f"{_MARK}{number}"):
            return number
    shown = "?" if not name or name.startswith(_MARK) else name
    raise Refused(
        "UNBOUND_SQL_PARAMETER",
        "42P02",
        f"Found the unbound parameter: {shown}. Please, fix `args` and provide a mapping of the "
        "parameter to a SQL literal.",
    )


def _parse(sql: str) -> exp.Expression:
    try:
        trees = [tree for tree in sqlglot.parse(sql, read="databricks") if tree]
    except ParseError as error:
        raise _syntax_error(sql, error) from None
    except TokenError as error:
        raise Refused("PARSE_SYNTAX_ERROR", "42601", f"Syntax error: {error}.") from None
    if not trees:
        raise Refused("PARSE_EMPTY_STATEMENT", "42617", "Syntax error, unexpected empty statement.")
    if len(trees) > 1:
        raise Refused("PARSE_SYNTAX_ERROR", "42601", "Syntax error at or near ';': extra input.")
    return trees[0]


def _syntax_error(sql: str, error: ParseError) -> Refused:
    """Spark's form: the offending word, its line and column, and the text with a mark under it."""
    first = error.errors[0] if error.errors else {}
    word = first.get("highlight") or "end of input"
    line = first.get("line") or 1
    column = max((first.get("col") or 1) - len(word), 0)
    return _near(sql, word, line, column)


def _near(sql: str, word: str, line: int, column: int) -> Refused:
    lines = sql.splitlines() or [""]
    shown = [*lines[:line], "-" * column + "^^^", *lines[line:]]
    return Refused(
        "PARSE_SYNTAX_ERROR",
        "42601",
        f"Syntax error at or near '{word}'.",
        f" (line {line}, pos {column})\n\n== SQL ==\n" + "\n".join(shown),
    )


def _plan(tree: exp.Expression, sql: str) -> Plan:
    if isinstance(tree, _QUERIES):
        return Plan("rows", [_duck(tree)])
    if isinstance(tree, exp.Insert):
        return _plan_insert(tree)
    if isinstance(tree, (exp.Update, exp.Delete)):
        return Plan("change", [_duck(tree)])
    if isinstance(tree, exp.Merge):
        tree.set("returning", exp.Returning(expressions=[exp.column("merge_action")]))
        return Plan("merge", [_duck(tree)])
    if isinstance(tree, _DEFINITIONS):
        return Plan("none", [_duck(tree)])
    word = (sql.split() or [""])[0]
    if isinstance(tree, (exp.Command, exp.Set, exp.Use, exp.Describe, exp.Show)):
        text = f"Kiln does not answer {word.upper()} statements of this form."
        raise Refused("UNSUPPORTED_FEATURE", "0A000", text)
    raise _near(sql, word, 1, 0)


def _plan_insert(tree: exp.Insert) -> Plan:
    statements = []
    if tree.args.get("overwrite"):
        target = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
        statements.append(_duck(exp.Delete(this=target.copy())))
        tree.set("overwrite", False)
    return Plan("insert", [*statements, _duck(tree)])


def _duck(tree: exp.Expression) -> str:
    return tree.sql("duckdb", comments=False)


def _qualify(tree: exp.Expression, catalog: str) -> None:
    """Catalogs have other names inside DuckDB. A schema without a catalog gets the current one:
    DuckDB would take `schema.table` for `catalog.table` where a catalog is called so."""
    for table in tree.find_all(exp.Table):
        if table.catalog:
            table.set("catalog", catalogs.identifier(table.catalog))
        elif table.db:
            table.set("catalog", catalogs.identifier(catalog))
    for column in tree.find_all(exp.Column):
        if column.catalog:
            column.set("catalog", catalogs.identifier(column.catalog))


def _uses_samples(tree: exp.Expression) -> bool:
    name = catalogs.inner(catalogs.SAMPLES)
    return any(table.catalog == name for table in tree.find_all(exp.Table))


def _check_divisors(tree: exp.Expression) -> None:
    """DuckDB divides by zero without complaint; a warehouse in ANSI mode refuses. A divisor that
    is a number other than zero needs no check."""
    names = {exp.Div: "checked_divide", exp.Mod: "checked_remainder"}
    for node in list(tree.find_all(exp.Div, exp.Mod)):
        divisor = node.expression.unnest()
        if divisor.is_number and float(divisor.to_py() or 0) != 0:
            continue
        call = exp.Anonymous(this=names[type(node)], expressions=[node.this, node.expression])
        node.replace(exp.Dot.build([exp.to_identifier("kiln"), exp.to_identifier("main"), call]))


def _name_values(tree: exp.Expression) -> None:
    """Columns of VALUES are called col1, col2 and so on."""
    for values in tree.find_all(exp.Values):
        alias = values.args.get("alias")
        first = values.expressions[0] if values.expressions else None
        if isinstance(values.parent, exp.Insert) or first is None or (alias and alias.columns):
            continue
        width = len(first.expressions) if isinstance(first, exp.Tuple) else 1
        names = [exp.to_identifier(f"col{i + 1}") for i in range(width)]
        table = alias.this if alias else exp.to_identifier("values_list")
        values.set("alias", exp.TableAlias(this=table, columns=names))


def _strip_targets(tree: exp.Expression) -> None:
    """DuckDB takes no table name before the column that UPDATE SET or MERGE assigns to."""
    for update in tree.find_all(exp.Update):
        for assignment in update.expressions:
            if isinstance(assignment, exp.EQ) and isinstance(assignment.this, exp.Column):
                assignment.this.replace(exp.column(assignment.this.this.copy()))
