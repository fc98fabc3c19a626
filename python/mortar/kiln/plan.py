"""What the engine is to do for one statement, and how a statement is refused."""

from __future__ import annotations

from dataclasses import dataclass, field


class Refused(Exception):
    """A statement that a warehouse would refuse, in a warehouse's words."""

    def __init__(self, condition: str, sqlstate: str, text: str, tail: str = "") -> None:
        self.sqlstate = sqlstate
        super().__init__(f"[{condition}] {text} SQLSTATE: {sqlstate}{tail}")


@dataclass
class Plan:
    """DuckDB statements, of which the last gives the answer.

    answer is one of ``none`` (no result set), ``rows``, ``insert``, ``change`` and ``merge``: the
    last three count rows, and several statements then run in one transaction.
    """

    answer: str
    statements: list[str] = field(default_factory=list)
    use: tuple[str, str] = ("", "")
    samples: bool = False
    own: bool = False
    """Whether it needs the session's own schema, where temporary views and settings are."""
    valued: bool = False
    """Whether names of columns show values of parameters."""
    timeout: int | None = None
    """Seconds that the session grants its statements from now on, 0: as many as they need."""

    def fields(self) -> list[str]:
        needs = [word for word in ("samples", "own", "valued") if getattr(self, word)]
        if self.timeout is not None:
            needs.append(f"timeout={self.timeout}")
        return ["plan", self.answer, *self.use, " ".join(needs), *self.statements]
