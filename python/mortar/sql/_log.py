"""Where the lines of the C library's log go: to the logger `mortar.sql`, and the texts of statements
to `mortar.sql.unsafe`, which is silent until its own level is set."""

from __future__ import annotations

import logging
import threading

logger = logging.getLogger("mortar.sql")
unsafe = logging.getLogger("mortar.sql.unsafe")

# The C library's levels, from 1 on.
_TARGETS = [
    (logger, logging.WARNING),
    (logger, logging.INFO),
    (logger, logging.DEBUG),
    (unsafe, logging.DEBUG),
]

_this_thread = threading.local()


def _is_wanted(level: int) -> bool:
    target, number = _TARGETS[level - 1]
    # A level that is inherited, say the root's, does not open up the texts.
    return target.isEnabledFor(number) and (target is logger or target.level != logging.NOTSET)


def wanted() -> int:
    """Bit n is set when lines of level n are wanted."""
    return sum(1 << level for level in range(1, len(_TARGETS) + 1) if _is_wanted(level))


def write(level: int, line: str, session_id: str | None) -> None:
    """Called with the interpreter's lock, by a call of the connection. What a handler does with a
    connection of its own is not logged, lest it go on for ever."""
    if getattr(_this_thread, "writes", False) or not _is_wanted(level):
        return
    target, number = _TARGETS[level - 1]
    _this_thread.writes = True
    try:
        target.log(number, line, extra={"session_id": session_id}, stacklevel=2)
    finally:
        _this_thread.writes = False
