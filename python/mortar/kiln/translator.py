"""A translator process: reads statements from standard input, answers with plans.

Kiln starts a few of these, because parsing holds the interpreter lock and may take long. It ends
a translator that is too slow and starts another. The process ends when its input does.
"""

from __future__ import annotations

import itertools
import logging
import os
import sys
from collections.abc import Iterator

from . import samples, session_words
from .frames import read_message, write_message
from .literal_rows import literal_insert
from .plan import Plan, Refused
from .parameters import Parameter
from .translate import translate


def _read_parameters(fields: Iterator[str]) -> list[Parameter]:
    """Each parameter is name, type, shape and text; the shape is "null", or how many arguments of a
    nested value follow, which are the same without names. All are numbered as they come."""
    numbers = itertools.count()

    def read(name: str) -> Parameter:
        kind, number, shape, text = next(fields), next(numbers), next(fields), next(fields)
        arguments = [read("") for _ in range(int(shape))] if shape.isdigit() else None
        return Parameter(name, kind, number, None if shape == "null" else text, arguments)

    return [read(name) for name in fields]


def plan_statement(sql: str, catalog: str, schema: str, *parameters: str) -> Plan:
    """Session words first, then long INSERTs, then what needs a parser."""
    plan = session_words.answer(sql, catalog, schema)
    if plan is None and not parameters:
        plan = literal_insert(sql, (catalog, schema))
    return plan or translate(sql, (catalog, schema), _read_parameters(iter(parameters)))


def reply(fields: list[str]) -> list[str]:
    """The answer to one message: a plan, or why there is none."""
    kind, *rest = fields
    try:
        plan = samples.load_plan(rest[0]) if kind == "samples" else plan_statement(*rest)
        return plan.fields()
    except Refused as refused:
        return ["refused", refused.sqlstate, str(refused)]
    except RecursionError:
        return ["refused", "54001", "[PARSE_SYNTAX_ERROR] The statement is nested too deeply."]
    except Exception as error:  # a defect of a translation must not end the process
        text = f"[INTERNAL_ERROR] Kiln could not translate the statement: {error!r}"
        return ["refused", "XX000", text]


def main() -> None:
    # What the messages travel on is kept from anything that prints.
    incoming = os.fdopen(os.dup(0), "rb")
    outgoing = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)
    while (fields := read_message(incoming)) is not None:
        try:
            write_message(outgoing, reply(fields))
        except BrokenPipeError:
            break
    sys.stderr.flush()
    os._exit(0)  # nothing is left to do, and a broken pipe must not be reported


if __name__ == "__main__":
    main()
