"""The error of a program."""

from __future__ import annotations


class ProgramError(Exception):
    """The program is not in the language, failed, or asked for too much.

    A function that a program is given may raise it too; the line is then filled in.
    """

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason if len(reason) <= 300 else reason[:300] + "…"
        self.line = line

    def __str__(self) -> str:
        return self.reason if self.line is None else f"line {self.line}: {self.reason}"
