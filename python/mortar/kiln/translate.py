"""From a warehouse's SQL to DuckDB's: one statement, parsed and rewritten with sqlglot.

What has to differ in the tree is in rewrites.py, and what CREATE, ALTER and DROP need in
definitions.py. Statements that change more than rows and tables are session_words' business.
"""

from __future__ import annotations

import re

import sqlglot
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokens import Token, TokenType

from . import catalogs
from .catalogs import literal
from .definitions import define, targets
from .naming import name_columns
from .parameters import Parameter, cast_parameters, name_marks, shown_values
from .plan import Plan, Refused
from .rewrites import EARLY, REWRITES
from .words import keep_samples

_QUERIES = (exp.Query, exp.Subquery)
_CHANGES = (exp.Insert, exp.Update, exp.Delete, exp.Merge)
_DEFINITIONS = (exp.Create, exp.Drop, exp.Alter, exp.TruncateTable, exp.Comment)


Names = tuple[str, str]
"""The current catalog and schema."""


def translate(sql: str, names: Names, parameters: list[Parameter]) -> Plan:
    """The plan for one statement run with these current names. Raises Refused."""
    sql = name_marks(sql, parameters)
    tree = _parse(sql)
    valued = name_columns(tree, sql, shown_values(parameters))
    cast_parameters(tree, parameters)
    for rewrite in EARLY:
        rewrite(tree, names)
    _qualify(tree, names[0])
    _keep_samples(tree, names[0])
    for rewrite in REWRITES:
        rewrite(tree, names)
    plan = _plan(tree, sql, names)
    plan.valued = valued
    plan.samples = catalogs.SAMPLES == names[0].lower() or _uses_samples(tree)
    return plan


def _parse(sql: str) -> exp.Expression:
    dialect = Dialect.get_or_raise("databricks")
    try:
        tokens = dialect.tokenize(sql)
        _check_tokens(sql, tokens)
        parsed = dialect.parser().parse(tokens, sql)
        # A comment behind the last semicolon is a tree of its own.
        trees = [tree for tree in parsed if tree and not isinstance(tree, exp.Semicolon)]
    except ParseError as error:
        raise _syntax_error(sql, error) from None
    except TokenError:
        raise _near_place(sql, _unread(sql)) from None
    if not trees:
        raise Refused("PARSE_EMPTY_STATEMENT", "42617", "Syntax error, unexpected empty statement.")
    if len(trees) > 1:
        raise Refused("PARSE_SYNTAX_ERROR", "42601", "Syntax error at or near ';': extra input.")
    return trees[0]


_BEFORE_ITEM = {TokenType.SELECT, TokenType.L_PAREN, TokenType.COMMA}
_AFTER_ITEM = {TokenType.R_PAREN, TokenType.SEMICOLON, TokenType.FROM}


def _check_tokens(sql: str, tokens: list[Token]) -> None:
    """Refuses what sqlglot's parser lets pass: commas without an item before or behind them, `$1`
    and DISTINCT ON."""
    kinds = [None, *(token.token_type for token in tokens), TokenType.SEMICOLON]
    for token, before, behind in zip(tokens, kinds, kinds[2:]):
        kind = token.token_type
        if kind == TokenType.COMMA and before in _BEFORE_ITEM:
            raise _near_place(sql, token.start)
        if kind in _AFTER_ITEM and before == TokenType.COMMA:
            raise _near_place(sql, token.start)
        if kind == TokenType.ON and (before, behind) == (TokenType.DISTINCT, TokenType.L_PAREN):
            raise _near_place(sql, token.start)
        if kind == TokenType.PARAMETER and token.text == "$":
            raise _near_place(sql, token.start)
    if kinds[-2] == TokenType.COMMA:
        raise _near_place(sql, len(sql.rstrip()))


_READABLE = re.compile(
    r"""(?:--[^\n]*|/\*.*?\*/|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|[^'"`/-]+|[/-])*""", re.S
)


def _unread(sql: str) -> int:
    """Where the quote stands that has no end, as far as a pattern can tell."""
    return _READABLE.match(sql).end()


def _near_place(sql: str, place: int) -> Refused:
    """The syntax error at what stands at this place of the statement."""
    word = re.match(r"\w+|.?", sql[place:])[0] or "end of input"
    line_start = sql.rfind("\n", 0, place) + 1
    return _near(sql, word, sql.count("\n", 0, place) + 1, place - line_start)


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


def _plan(tree: exp.Expression, sql: str, names: Names) -> Plan:
    if isinstance(tree, _QUERIES):
        return Plan("rows", [_duck(tree)])
    if isinstance(tree, exp.Values):
        return Plan("rows", [_duck(exp.select("*").from_(tree))])
    if isinstance(tree, exp.Insert):
        return _plan_insert(tree)
    if isinstance(tree, (exp.Update, exp.Delete)):
        return Plan("change", [_duck(tree)])
    if isinstance(tree, exp.Merge):
        return _plan_merge(tree)
    if isinstance(tree, _DEFINITIONS):
        return define(tree, names)
    word = (sql.split() or [""])[0]
    if isinstance(tree, (exp.Command, exp.Set, exp.Use, exp.Describe, exp.Show)):
        text = f"Kiln does not answer {word.upper()} statements of this form."
        raise Refused("UNSUPPORTED_FEATURE", "0A000", text)
    raise _near(sql, word, 1, 0)


_SEVERAL_MATCHES = (
    "[DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE] Several rows of the source match one "
    "row of the target, which MERGE may change once only. SQLSTATE: 21506"
)


def _plan_merge(tree: exp.Merge) -> Plan:
    """DuckDB lets every row of the source change its row of the target, one after the other."""
    matched = [when for when in tree.args["whens"].expressions if when.args.get("matched")]
    conditions = [when.args.get("condition") for when in matched]
    tree.set("returning", exp.Returning(expressions=[exp.column("merge_action")]))
    if not matched or (conditions == [None] and matched[0].args["then"].name.upper() == "DELETE"):
        return Plan("merge", [_duck(tree)])
    match = tree.args["on"]
    if None not in conditions:
        match = exp.and_(match, exp.or_(*conditions))
    rows = exp.select("1").from_(tree.this.copy()).join(tree.args["using"].copy(), on=match.copy())
    rows = rows.group_by(exp.column("rowid", table=tree.this.alias_or_name)).having("count(*) > 1")
    for name in ("with", "with_"):  # it depends on sqlglot's version
        if tree.args.get(name):
            rows.set(name, tree.args[name].copy())
    several = literal(_SEVERAL_MATCHES)
    check = f"SELECT kiln.main.require(count(*) = 0, {several}) FROM ({_duck(rows)} LIMIT 1) AS several"
    return Plan("merge", [check, _duck(tree)])


def _plan_insert(tree: exp.Insert) -> Plan:
    target = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
    replaced = tree.args.get("where")
    fixed = _take_partition(tree, target)
    statements = []
    if tree.args.get("overwrite") or replaced:
        where = exp.Where(this=replaced or fixed) if replaced or fixed else None
        statements.append(_duck(exp.Delete(this=target.copy(), where=where)))
        tree.set("overwrite", False)
        tree.set("where", None)
    return Plan("insert", [*statements, _duck(tree)])


def _take_partition(tree: exp.Insert, target: exp.Expression) -> exp.Expression | None:
    """PARTITION (p = 'a') names a column, which comes last, and its value in every new row."""
    partition = target.args.get("partition") or tree.args.get("partition")
    pairs = [pair for pair in partition.expressions] if partition else []
    target.set("partition", None)
    tree.set("partition", None)
    if not pairs or not all(isinstance(pair, exp.EQ) for pair in pairs):
        return None
    rows = exp.Subquery(this=tree.expression, alias=exp.TableAlias(this=exp.to_identifier("rows")))
    values = [pair.expression.copy() for pair in pairs]
    tree.set("expression", exp.select("*", *values).from_(rows))
    return exp.and_(*pairs)


def _duck(tree: exp.Expression) -> str:
    return tree.sql("duckdb", comments=False)


_FILES = {"avro", "binaryfile", "csv", "delta", "json", "orc", "parquet", "text"}
"""Where a schema could stand, these name a file's format."""


def _qualify(tree: exp.Expression, catalog: str) -> None:
    """Catalogs have other names inside DuckDB. A schema without a catalog gets the current one:
    DuckDB would take `schema.table` for `catalog.table` where a catalog is called so."""
    for table in list(tree.find_all(exp.Table)):
        if table.db.lower() in _FILES and "/" in table.name:
            text = f"Kiln reads no files: {table.db}.`{table.name}`."
            raise Refused("UNSUPPORTED_FEATURE", "0A000", text)
        if table.db.lower() == "information_schema" and table.name:
            _qualify_information(table, table.catalog or catalog)
        elif table.catalog:
            table.set("catalog", catalogs.identifier(table.catalog))
        elif table.db:
            table.set("catalog", catalogs.identifier(catalog))
    for column in tree.find_all(exp.Column):
        if column.catalog:
            column.set("catalog", catalogs.identifier(column.catalog))
    for call in list(tree.find_all(exp.Anonymous)):
        if isinstance(call.parent, exp.Dot) and call.arg_key == "expression":
            _qualify_call(call.parent, catalog)


def _qualify_call(call: exp.Dot, catalog: str) -> None:
    """A function that is called by the name of its schema, with its catalog or without."""
    *names, function = call.flatten()
    if len(names) <= 2 and all(isinstance(name, exp.Identifier) for name in names):
        outer = names[0].name if len(names) == 2 else catalog
        parts = [catalogs.identifier(outer), names[-1], function]
        call.replace(exp.Dot.build([part.copy() for part in parts]))


def _qualify_information(table: exp.Table, catalog: str) -> None:
    """DuckDB's own views have other columns, and no catalog can have a schema of that name."""
    view = f"information_{table.name.lower()}"
    inside = exp.table_(exp.to_identifier(view), db="main", catalog="kiln")
    if catalog.lower() == "system":
        inside.set("alias", table.args.get("alias") or exp.TableAlias(this=table.this.copy()))
        table.replace(inside)
        return
    query = exp.select("*").from_(inside)
    query = query.where(exp.column("table_catalog").eq(exp.Literal.string(catalog.lower())))
    alias = table.args.get("alias") or exp.TableAlias(this=table.this.copy())
    table.replace(exp.Subquery(this=query, alias=alias))


def _keep_samples(tree: exp.Expression, catalog: str) -> None:
    """Refuses what would change the samples."""
    if not isinstance(tree, (*_CHANGES, *_DEFINITIONS)):
        return
    for target in targets(tree):
        if not isinstance(target, (exp.Table, exp.Column)):
            continue
        if target.catalog:
            keep_samples(target.catalog.removeprefix(catalogs.PREFIX))
        elif not _is_temporary(tree):
            keep_samples(catalog)


def _is_temporary(tree: exp.Expression) -> bool:
    """A temporary view is in no catalog; where there are samples, DROP VIEW can mean no other."""
    if isinstance(tree, exp.Create):
        return tree.find(exp.TemporaryProperty) is not None
    return isinstance(tree, exp.Drop) and (tree.args.get("kind") or "").upper() == "VIEW"


def _uses_samples(tree: exp.Expression) -> bool:
    name = catalogs.inner(catalogs.SAMPLES)
    return any(table.catalog == name for table in tree.find_all(exp.Table))
