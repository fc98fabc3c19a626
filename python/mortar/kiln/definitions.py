"""CREATE, ALTER, DROP, TRUNCATE and COMMENT: what DuckDB's own forms of them leave out.

A warehouse puts comments and properties into the statement that makes a table, adds several columns
at once and has temporary views of a session; DuckDB wants a statement for each.
"""

from __future__ import annotations

from sqlglot import exp

from .catalogs import PREFIX, identifier, literal, quoted
from .plan import Plan, Refused
from .rewrites import macro
from .words import remember, same

Names = tuple[str, str]

_LIMITED = (exp.DataType.Type.VARCHAR, exp.DataType.Type.CHAR)


def define(tree: exp.Expression, names: Names) -> Plan:
    """The plan for a definition. Raises Refused."""
    if isinstance(tree, exp.Create):
        return _create(tree, names)
    if isinstance(tree, exp.Alter):
        return _alter(tree, names)
    if isinstance(tree, exp.Drop):
        return _drop(tree, names)
    return Plan("none", [_duck(tree)])


def _duck(tree: exp.Expression) -> str:
    return tree.sql("duckdb", comments=False)


def targets(tree: exp.Expression) -> list[exp.Expression]:
    """What a statement changes, makes or drops. Where DROP's
    are depends on sqlglot's version."""
    if isinstance(tree, exp.TruncateTable):
        return tree.expressions
    found = tree.args.get("tables") or [tree.this]
    return [item.this if isinstance(item, (exp.Schema, exp.UserDefinedFunction)) else item
            for item in found]  # fmt: skip


def _target(tree: exp.Expression) -> exp.Table | None:
    found = targets(tree)[0]
    return found if isinstance(found, exp.Table) else None


def _parts(table: exp.Table, names: Names) -> tuple[str, str, str]:
    """The outer names of a table."""
    catalog = table.catalog.removeprefix(PREFIX) if table.catalog else names[0]
    return catalog, table.db or names[1], table.name


def _settle(table: exp.Table, names: Names) -> None:
    """Something new goes into the current schema, also where a session has a schema of its own."""
    if not table.db:
        table.set("db", exp.to_identifier(names[1], quoted=True))
        table.set("catalog", identifier(names[0]))


# ---- CREATE --------------------------------------------------------------------------------------


def _create(tree: exp.Create, names: Names) -> Plan:
    table, kind = _target(tree), (tree.kind or "").upper()
    if table is None or kind not in ("TABLE", "VIEW", "SCHEMA", "FUNCTION"):
        return Plan("none", [_duck(tree)])
    if kind == "SCHEMA":
        return _create_schema(tree, table, names)
    properties = _take_properties(tree)
    own = any(isinstance(item, exp.TemporaryProperty) for item in properties)
    if not own:
        _settle(table, names)
        if kind == "VIEW":
            _settle_view(tree, names)
    comments = _take_comments(tree, table, kind, properties)
    _take_source(tree, properties)
    _parenthesise(tree)
    _limit_lengths(tree)
    before = _identities(tree, table)
    after = [] if own else _keep_properties(table, names, properties)
    return Plan("none", [*before, _duck(tree), *comments, *after], own=own)


def _create_schema(tree: exp.Create, table: exp.Table, names: Names) -> Plan:
    properties = _take_properties(tree)
    if not table.catalog:
        table.set("catalog", identifier(names[0]))
    schema = (table.catalog.removeprefix(PREFIX), table.db, "")
    comment = _comment_in(properties)
    after = remember(schema, {"comment": comment.name}) if comment else []
    return Plan("none", [_duck(tree), *after])


def _take_properties(tree: exp.Create) -> list[exp.Expression]:
    """DuckDB knows none of a warehouse's: where files lie and in which format is nothing to it."""
    properties = tree.args.get("properties")
    tree.set("properties", None)
    return properties.expressions if properties else []


def _comment_in(properties: list[exp.Expression]) -> exp.Expression | None:
    found = [item.this for item in properties if isinstance(item, exp.SchemaCommentProperty)]
    return found[0] if found else None


def _take_comments(
    tree: exp.Create, table: exp.Table, kind: str, properties: list[exp.Expression]
) -> list[str]:
    """Comments of the table and its columns, as statements of their own."""
    statements, name = [], _duck(_bare(table))
    comment = _comment_in(properties)
    if comment is not None:
        statements.append(f"COMMENT ON {kind} {name} IS {literal(comment.name)}")
    columns = tree.this.expressions if isinstance(tree.this, exp.Schema) else []
    for column in columns:
        for constraint in column.args.get("constraints") or []:
            if isinstance(constraint.kind, exp.CommentColumnConstraint):
                text = literal(constraint.kind.this.name)
                statements.append(f"COMMENT ON COLUMN {name}.{_duck(column.this)} IS {text}")
                constraint.pop()
    return statements


def _bare(table: exp.Table) -> exp.Table:
    return exp.table_(table.this.copy(), db=table.args.get("db"), catalog=table.args.get("catalog"))


def _settle_view(tree: exp.Create, names: Names) -> None:
    """A view means the tables of the schema that it was made in, whatever USE says later."""
    query = tree.expression
    hidden = {cte.alias.lower() for cte in query.find_all(exp.CTE)} if query else set()
    for table in query.find_all(exp.Table) if query else ():
        if isinstance(table.this, exp.Identifier) and table.name.lower() not in hidden:
            _settle(table, names)


def _take_source(tree: exp.Create, properties: list[exp.Expression]) -> None:
    """A table that another one is the pattern of. A shallow clone is a copy like any other."""
    for pattern in properties:
        if isinstance(pattern, exp.LikeProperty):
            tree.set("expression", exp.select("*").from_(pattern.this.copy()).limit(0))
    clone = tree.args.get("clone")
    if clone is not None:
        tree.set("clone", None)
        tree.set("expression", exp.select("*").from_(clone.this.copy()))


def _parenthesise(tree: exp.Create) -> None:
    """DuckDB wants generated columns in parentheses."""
    for column in tree.find_all(exp.ComputedColumnConstraint):
        if not isinstance(column.this, exp.Paren):
            column.set("this", exp.Paren(this=column.this.copy()))


def _limit_lengths(tree: exp.Create) -> None:
    """DuckDB takes VARCHAR(n) and CHAR(n) for STRING."""
    for column in tree.find_all(exp.ColumnDef):
        kind = column.args.get("kind")
        if isinstance(kind, exp.DataType) and kind.this in _LIMITED and kind.expressions:
            fits = macro("fits", exp.column(column.this.copy()), kind.expressions[0].copy())
            check = exp.CheckColumnConstraint(this=fits)
            column.append("constraints", exp.ColumnConstraint(kind=check))


def _identities(tree: exp.Create, table: exp.Table) -> list[str]:
    """A sequence for every IDENTITY column: its values must not come again after a DELETE."""
    statements = []
    for constraint in list(tree.find_all(exp.GeneratedAsIdentityColumnConstraint)):
        if constraint.expression is not None:
            continue
        column = constraint.find_ancestor(exp.ColumnDef)
        sequence = _bare(table)
        sequence.set("this", exp.to_identifier(f"{table.name}_{column.name}_ids", quoted=True))
        name = _duck(sequence)
        start = _number(constraint.args.get("start"))
        step = _number(constraint.args.get("increment"))
        statements.append(
            f"CREATE OR REPLACE SEQUENCE {name} START WITH {start} INCREMENT BY {step}"
        )
        default = exp.Anonymous(this="nextval", expressions=[exp.Literal.string(name)])
        constraint.replace(exp.DefaultColumnConstraint(this=default))
    return statements


def _number(value: exp.Expression | None) -> int:
    return int(value.name) if value is not None and value.is_int else 1


def _keep_properties(table: exp.Table, names: Names, properties: list[exp.Expression]) -> list[str]:
    pairs = {
        item.name: item.args["value"].name
        for item in properties
        if type(item) is exp.Property and isinstance(item.args.get("value"), exp.Expression)
    }
    return remember(_parts(table, names), pairs)


# ---- ALTER, DROP ---------------------------------------------------------------------------------


def _alter(tree: exp.Alter, names: Names) -> Plan:
    """DuckDB takes one action in a statement."""
    table = tree.this
    if (tree.args.get("kind") or "").upper() == "VIEW" and tree.find(exp.Query):
        return _alter_view(tree, names)
    statements = []
    for action in tree.args.get("actions") or []:
        statements += _action(tree, table, action, names)
    return Plan("none", statements or [_duck(tree)])


def _alter_view(tree: exp.Alter, names: Names) -> Plan:
    query = next(tree.find_all(exp.Query))
    view = exp.Create(this=tree.this.copy(), kind="VIEW", replace=True, expression=query.copy())
    return _create(view, names)


def _action(tree: exp.Alter, table: exp.Table, action: exp.Expression, names: Names) -> list[str]:
    name = _duck(table)
    if isinstance(action, (exp.Schema, exp.ColumnDef)):
        columns = action.expressions if isinstance(action, exp.Schema) else [action]
        # DuckDB says of a column that is there what it says of two of one name in CREATE TABLE.
        checks = [_is_new_column(name, column.name) for column in columns]
        return [*checks, *(text for column in columns for text in _add_column(name, column))]
    if isinstance(action, exp.Drop):
        return [f"ALTER TABLE {name} DROP COLUMN {column}" for column in _dropped(action)]
    if isinstance(action, exp.AlterColumn):
        return [_alter_column(name, action)]
    if isinstance(action, exp.AlterRename):
        kind = tree.args.get("kind") or "TABLE"
        moved = _move(_parts(table, names), action.this.name)
        return [f"ALTER {kind} {name} RENAME TO {_duck(action.this.this)}", moved]
    single = tree.copy()
    single.set("actions", [action.copy()])
    return [_duck(single)]


def _dropped(action: exp.Drop) -> list[str]:
    """The columns of DROP COLUMN a or DROP COLUMNS (a, b)."""
    found = [action.this, *action.args.get("tables", ()), *action.expressions]
    items = [item for item in found if item is not None]
    columns = [part for item in items for part in (item.expressions or [item])]
    return [quoted(column.name) for column in columns]


def _move(table: tuple[str, str, str], name: str) -> str:
    """Properties follow a table that gets another name."""
    where = " AND ".join(same(c, v) for c, v in zip(("catalog", "schema", "name"), table))
    return f"UPDATE kiln.main.properties SET name = {literal(name)} WHERE {where}"


def _is_new_column(table: str, name: str) -> str:
    """A statement that fails where the table has this column."""
    text = f"[FIELD_ALREADY_EXISTS] Cannot add column, because `{name}` already exists. SQLSTATE: 42710"
    return (
        f"SELECT kiln.main.require(count(*) = 0, {literal(text)}) FROM (DESCRIBE {table}) "
        f"WHERE {same('column_name', name)}"
    )


def _add_column(table: str, column: exp.Expression) -> list[str]:
    """DuckDB takes no comment, no place and no NOT NULL with a new column."""
    comments = [
        f"COMMENT ON COLUMN {table}.{_duck(column.this)} IS {literal(constraint.kind.this.name)}"
        for constraint in column.args.get("constraints") or []
        if isinstance(constraint.kind, exp.CommentColumnConstraint)
    ]
    bare = exp.ColumnDef(this=column.this.copy(), kind=column.args["kind"].copy())
    return [f"ALTER TABLE {table} ADD COLUMN {_duck(bare)}", *comments]


def _alter_column(table: str, action: exp.AlterColumn) -> str:
    column = _duck(action.this)
    head = f"ALTER TABLE {table} ALTER COLUMN {column}"
    if action.args.get("comment") is not None:
        return f"COMMENT ON COLUMN {table}.{column} IS {literal(action.args['comment'].name)}"
    if action.args.get("allow_null") is not None:
        return f"{head} {'DROP' if action.args['allow_null'] else 'SET'} NOT NULL"
    if action.args.get("dtype") is not None:
        return f"{head} TYPE {_duck(action.args['dtype'])}"
    value = action.args.get("default")
    return f"{head} DROP DEFAULT" if value is None else f"{head} SET DEFAULT {_duck(value)}"


def _drop(tree: exp.Drop, names: Names) -> Plan:
    """What Kiln remembers of a table goes with it."""
    table, kind = _target(tree), (tree.args.get("kind") or "").upper()
    if table is None or kind not in ("TABLE", "VIEW", "SCHEMA"):
        return Plan("none", [_duck(tree)])
    if kind == "SCHEMA" and not table.catalog:
        table.set("catalog", identifier(names[0]))
    if kind == "SCHEMA" and table.db.lower() == "information_schema":
        raise Refused("INSUFFICIENT_PERMISSIONS", "42501", "information_schema can't be dropped.")
    catalog, schema, name = _parts(table, names)
    where = f"{same('catalog', catalog)} AND {same('schema', schema)}"
    if kind != "SCHEMA":
        where += f" AND {same('name', name)}"
    tree.set("purge", None)
    return Plan("none", [_duck(tree), f"DELETE FROM kiln.main.properties WHERE {where}"])
