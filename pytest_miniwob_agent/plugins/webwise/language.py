"""The language of scripts: the values, operators, functions and methods that it has of Python."""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Callable, Mapping
from typing import Any

MAX_NESTING = 60
"""Depth of statements and expressions in each other, and of lists in lists."""

MAX_BITS = 256
"""Bits of an integer."""

NUMBERS = (bool, int, float)
SCALARS = (type(None), str, *NUMBERS)
ITERABLES = (str, list, tuple, dict)
"""With the scalars all types of values; a value has exactly one of them."""

OPERATORS: Mapping[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow,
    ast.Not: operator.not_, ast.USub: operator.neg, ast.UAdd: operator.pos,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not,
    ast.In: lambda entry, holder: entry in holder,
    ast.NotIn: lambda entry, holder: entry not in holder,
}  # fmt: skip


def entries(value: Any) -> list[Any]:
    """List the entries of a value; a `TypeError` if it can't be looped over."""
    if type(value) not in ITERABLES:
        raise TypeError
    return list(value)


def growth(name: str, args: list[Any]) -> int:
    """Return the characters that a method may add: x.replace("", x), x.join(x)."""
    match name, args:
        case "replace", [str(text), str(old), str(new), *_]:
            return text.count(old) * len(new)
        case "join", [str(separator), str() | list() | tuple() | dict() as parts]:
            return len(separator) * len(parts)
    return 0


def _round(value: Any, ndigits: int | None = None) -> Any:
    if ndigits is not None and abs(ndigits) > MAX_BITS:
        raise ValueError
    return round(value, ndigits)


METHODS: Mapping[type, Mapping[str, Callable[..., Any]]] = {
    str: {
        "lower": str.lower, "upper": str.upper, "title": str.title, "strip": str.strip,
        "lstrip": str.lstrip, "rstrip": str.rstrip, "split": str.split,
        "splitlines": str.splitlines, "join": lambda text, parts, /: text.join(entries(parts)),
        # only some versions of Python take `count` by name
        "replace": lambda text, old, new, /, count=-1: text.replace(old, new, count),
        "startswith": str.startswith, "endswith": str.endswith, "find": str.find,
        "index": str.index, "count": str.count, "isdigit": str.isdigit, "isalpha": str.isalpha,
        "isupper": str.isupper, "islower": str.islower, "capitalize": str.capitalize,
    },
    list: {
        "append": list.append, "index": list.index, "count": list.count, "pop": list.pop,
        "insert": list.insert, "remove": list.remove, "reverse": list.reverse,
        "extend": lambda values, more: values.extend(entries(more)),
    },
    tuple: {"index": tuple.index, "count": tuple.count},
    dict: {
        "get": dict.get, "keys": list, "values": lambda holder: list(holder.values()),
        "items": lambda holder: list(holder.items()),
    },
}  # fmt: skip
"""Methods by the exact type that has them; nothing is ever looked up on an object."""

BUILT_IN: Mapping[str, Callable[..., Any]] = {
    "abs": abs, "all": lambda values, /: all(entries(values)),
    "any": lambda values, /: any(entries(values)), "bool": bool,
    "dict": lambda values=(), /: dict(entries(values) if type(values) is not dict else values),
    "enumerate": lambda values, /, start=0: list(enumerate(entries(values), start)),
    "float": float, "int": int, "len": len, "list": lambda values=(), /: entries(values),
    "max": lambda *values: max(entries(values[0]) if len(values) == 1 else values),
    "min": lambda *values: min(entries(values[0]) if len(values) == 1 else values),
    "print": lambda *values, sep=None, end=None: None, "range": range,
    "reversed": lambda values, /: entries(values)[::-1], "round": _round,
    "sorted": lambda values, /, *, reverse=False: sorted(entries(values), reverse=bool(reverse)),
    # In order, as `sum` does before Python 3.12: the same in each version.
    "str": str, "sum": lambda values, /: functools.reduce(operator.add, entries(values), 0),
    "tuple": lambda values=(), /: tuple(entries(values)),
    "zip": lambda *several: list(zip(*map(entries, several), strict=False)),
}  # fmt: skip
"""Functions of Python that every script has; `print` shows nothing."""
