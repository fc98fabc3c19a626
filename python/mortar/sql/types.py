"""Row: a tuple whose places have names.

    row.origin, row["origin"], row[0]
    row.asDict()

Rows of a result are made in C; `Row(...)` makes one by hand, as older programs do.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from mortar import _native


class Row(_native.RowBase):
    """A tuple with names. `Row(a=1, b=2)` is a row; `Row("a", "b")` is a template that makes
    rows when it is called."""

    __slots__ = ()

    def __new__(cls, *values: Any, **fields: Any) -> Any:
        if values and fields:
            raise ValueError("Row takes values or keywords, not both")
        if fields:
            return _create_row(list(fields), list(fields.values()))
        return super().__new__(cls, values)

    def __call__(self, *values: Any) -> Any:
        """Makes a row whose names are this template's values."""
        if len(values) > len(self):
            raise ValueError(
                f"{len(self)} fields are named ({', '.join(map(str, self))}), "
                f"but {len(values)} values were given"
            )
        return _create_row(list(self), list(values))


# The C side makes one subclass of Row for each shape of result.
_native._set_row_class(Row)


@lru_cache(maxsize=256)  # a pickle of many rows names the same few lists again and again
def _row_class(names: tuple[str, ...]) -> type[Row]:
    return _native._row_class(list(names))


def _create_row(fields: list[str], values: list[Any]) -> Row:
    """A row with these names: the entry that pickles refer to."""
    row: Row = tuple.__new__(_row_class(tuple(fields)), values)
    return row
