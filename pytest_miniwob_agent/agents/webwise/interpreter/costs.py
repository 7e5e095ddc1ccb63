"""The work that a program may do, and what it costs to read a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, cast

from pytest_miniwob_agent.agents.webwise.interpreter.errors import ProgramError
from pytest_miniwob_agent.agents.webwise.interpreter.values import (
    MAX_BITS,
    MAX_NESTING,
    SCALARS,
    Value,
    kind_of,
)

MAX_WORK = 250_000
"""Units of work of one run."""

CALL_WORK = 100
"""Cost of a call of one of the given functions, independent of what the function does."""

_MISTAKES = (ArithmeticError, LookupError, TypeError, ValueError, RecursionError)
"""Exceptions of Python's own operators on plain data."""


class Meter:
    """The units of work that a run has left, and the line that it is at, for its errors."""

    __slots__ = ("left", "line")

    def __init__(self, work: int) -> None:
        self.left = work
        self.line = 1

    def fail(self, reason: str) -> NoReturn:
        """Raise a `ProgramError` at the present line."""
        raise ProgramError(reason, self.line)

    def visit(self, line: int) -> None:
        """Charge for a node of the program, and note its line."""
        self.line = line
        self.left -= 1
        if self.left < 0:
            self.charge(0)

    def charge(self, units: int) -> None:
        """Take units from what is left.

        Raises:
            ProgramError: there are not as many left.
        """
        self.left -= units
        if self.left < 0:
            self.left = 0
            self.fail("the program does too much: too many steps, or too large values")

    def charge_for_reading(self, *values: Value) -> int:
        """Charge for reading values to their last entry; returns the cost."""
        before = self.left
        waiting: list[tuple[Value, int]] = [(value, 0) for value in values]
        while waiting:
            value, depth = waiting.pop()
            kind = type(value)
            if kind is str:
                self.charge(1 + len(cast("str", value)))
            elif kind in SCALARS:
                self.charge(1)
                if kind is int and cast("int", value).bit_length() > MAX_BITS:
                    self.fail("the number is too big")
            elif kind in (list, tuple, dict):
                if depth > MAX_NESTING:
                    self.fail("a list is nested too deep")
                inner = cast("dict[Any, Any]", value)
                self.charge(1 + len(inner))
                waiting += [(entry, depth + 1) for entry in inner]
                if kind is dict:
                    waiting += [(entry, depth + 1) for entry in inner.values()]
            else:
                self.fail(f"a value of the type {kind.__name__} can't be used here")
        return before - self.left

    def apply(self, operation: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call one of Python's own operations on plain data that has been paid for.

        Raises:
            ProgramError: in place of Python's exceptions.
        """
        try:
            return operation(*args, **kwargs)
        except ZeroDivisionError:
            self.fail("this divides by zero")
        except LookupError:
            self.fail("there is no such entry")
        except _MISTAKES:
            given = " and ".join(kind_of(each) for each in (*args, *kwargs.values()))
            self.fail(f"this can't be done with {given or 'nothing'}")
