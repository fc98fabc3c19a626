"""Names of columns that the statement does not name: the expression's text, as Spark prints it."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.dialects.databricks import Databricks


class _SparkText(Databricks.Generator):
    """Writes an expression as Spark names its column: operators in parentheses, the writer's own
    parentheses and quotes left out, columns without their table."""

    def binary(self, expression: exp.Binary, op: str) -> str:
        return f"({self.sql(expression, 'this')} {op} {self.sql(expression, 'expression')})"

    def connector_sql(self, expression: exp.Connector, op: str, stack: object = None) -> str:
        return self.binary(expression, op)

    def mod_sql(self, expression: exp.Mod) -> str:
        return self.binary(expression, "%")

    def not_sql(self, expression: exp.Not) -> str:
        return f"(NOT {self.sql(expression, 'this')})"

    def in_sql(self, expression: exp.In) -> str:
        return f"({super().in_sql(expression)})"

    def like_sql(self, expression: exp.Like) -> str:
        return self.binary(expression, "LIKE")[1:-1]

    def paren_sql(self, expression: exp.Paren) -> str:
        return self.sql(expression, "this")

    def column_sql(self, expression: exp.Column) -> str:
        return expression.name

    def literal_sql(self, expression: exp.Literal) -> str:
        return expression.name

    def boolean_sql(self, expression: exp.Boolean) -> str:
        return "true" if expression.this else "false"

    def subquery_sql(self, expression: exp.Subquery, sep: str = " AS ") -> str:
        return "scalarsubquery()"


def spark_text(item: exp.Expression) -> str:
    if isinstance(item, exp.CurrentDate):
        return "current_date()"
    item = item.copy()
    for star in item.find_all(exp.Star):
        if isinstance(star.parent, exp.Count):
            star.replace(exp.Literal.number(1))
    generator = _SparkText(dialect="databricks", normalize_functions="lower", comments=False)
    return generator.generate(item)


def name_columns(tree: exp.Expression) -> None:
    """Gives every unnamed expression of a SELECT list the alias that a warehouse would show."""
    for select in tree.find_all(exp.Select):
        select.set("expressions", [_named(item) for item in select.expressions])


def _named(item: exp.Expression) -> exp.Expression:
    if isinstance(item, (exp.Alias, exp.Aliases, exp.Star, exp.Column, exp.Explode)):
        return item
    return exp.alias_(item, spark_text(item), quoted=True)
