"""States and names of statements that were submitted: `Cursor.execute_async()`."""

from __future__ import annotations

import enum


class CommandState(enum.Enum):
    """How far a statement is."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CLOSED = "CLOSED"
    CANCELLED = "CANCELLED"


class CommandId:
    """What names a statement to the server. `handle` is a text that can be kept, and made into a
    CommandId again. Whoever has it and may open a session can read the rows: what is printed
    of it is the query id alone."""

    def __init__(self, handle: str) -> None:
        self.handle = handle

    def to_hex_guid(self) -> str:
        """The query id."""
        digits = self.handle.partition(".")[0].replace("-", "")
        if len(digits) != 32:
            return digits
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))

    def __str__(self) -> str:
        return self.to_hex_guid()

    def __repr__(self) -> str:
        return f"<CommandId {self}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CommandId) and other.handle == self.handle

    def __hash__(self) -> int:
        return hash(self.handle)
