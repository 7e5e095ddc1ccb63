"""The values of programs: plain data of a few exact types."""

from __future__ import annotations

from typing import Any, cast

Value = None | bool | int | float | str | list[Any] | tuple[Any, ...] | dict[Any, Any]
"""The data that a program computes with."""

MAX_BITS = 256
"""Bits of an integer."""

MAX_NESTING = 60
"""Depth of statements and expressions in each other, and of lists in lists."""

SCALARS = (type(None), bool, int, float, str)
NUMBERS = (bool, int, float)
ITERABLES = (str, list, tuple, dict)


def entries(value: Value) -> list[Any]:
    """List the entries of a value that can be looped over.

    Raises:
        TypeError: it can't be looped over.
    """
    if type(value) not in ITERABLES:
        raise TypeError
    return list(cast("list[Any]", value))


def kind_of(value: object) -> str:
    """Name the type of a value in the words of error messages."""
    names = {"NoneType": "None", "str": "a text", "int": "a number", "float": "a number"}
    return names.get(type(value).__name__, f"a {type(value).__name__}")
