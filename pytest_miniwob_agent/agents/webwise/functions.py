"""The values of programs, and the functions and methods of Python that programs can call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

Value = None | bool | int | float | str | list[Any] | tuple[Any, ...] | dict[Any, Any]
"""The data that a program computes with, of exactly these types."""

MAX_BITS = 256
"""Bits of an integer."""

NUMBERS = (bool, int, float)
SCALARS = (type(None), str, *NUMBERS)
ITERABLES = (str, list, tuple, dict)


def entries(value: Value) -> list[Any]:
    """List the entries of a value.

    Raises:
        TypeError: it can't be looped over.
    """
    if type(value) not in ITERABLES:
        raise TypeError
    return list(cast("list[Any]", value))


def kind_of(value: object) -> str:
    """Name the type of a value as error messages do."""
    names = {"NoneType": "None", "str": "a text", "int": "a number", "float": "a number"}
    return names.get(type(value).__name__, f"a {type(value).__name__}")


def growth(name: str, args: list[Value]) -> int:
    """Return the characters that a method may add: x.replace("", x), x.join(x)."""
    match name, args:
        case "replace", [str(text), str(old), str(new), *_]:
            return text.count(old) * len(new)
        case "join", [str(separator), str() | list() | tuple() | dict() as parts]:
            return len(separator) * len(parts)
    return 0


def _text_index(text: str, part: Value) -> int:
    if type(part) is not str:
        raise TypeError
    return text.index(part)


def _replace(text: str, old: str, new: str, count: int = -1) -> str:
    return text.replace(old, new, count)  # only some versions of Python take `count` by name


def _sorted(values: Value, *, reverse: bool = False) -> list[Any]:
    return sorted(entries(values), reverse=bool(reverse))


def _int(value: Any = 0) -> int:
    if type(value) is str and len(value) > MAX_BITS:
        raise ValueError
    return int(value)


def _round(value: Any, ndigits: int | None = None) -> Any:
    if ndigits is not None and abs(ndigits) > MAX_BITS:
        raise ValueError
    return round(value, ndigits)


METHODS: Mapping[type, Mapping[str, Callable[..., Any]]] = {
    str: {
        "lower": str.lower, "upper": str.upper, "title": str.title, "strip": str.strip,
        "lstrip": str.lstrip, "rstrip": str.rstrip, "split": str.split,
        "splitlines": str.splitlines, "join": lambda text, parts: text.join(entries(parts)),
        "replace": _replace, "startswith": str.startswith, "endswith": str.endswith,
        "find": str.find, "index": _text_index, "count": str.count, "isdigit": str.isdigit,
        "isalpha": str.isalpha, "isupper": str.isupper, "islower": str.islower,
        "capitalize": str.capitalize,
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
    "abs": abs, "all": lambda values: all(entries(values)),
    "any": lambda values: any(entries(values)), "bool": bool,
    "dict": lambda values=(): dict(entries(values) if type(values) is not dict else values),
    "enumerate": lambda values, start=0: list(enumerate(entries(values), start)),
    "float": float, "int": _int, "len": len, "list": lambda values=(): entries(values),
    "max": lambda *values: max(entries(values[0]) if len(values) == 1 else values),
    "min": lambda *values: min(entries(values[0]) if len(values) == 1 else values),
    "print": lambda *values, sep=None, end=None: None, "range": range,
    "reversed": lambda values: entries(values)[::-1], "round": _round, "sorted": _sorted,
    "str": str, "sum": lambda values: sum(entries(values)),
    "tuple": lambda values=(): tuple(entries(values)),
    "zip": lambda *several: list(zip(*map(entries, several), strict=False)),
}  # fmt: skip
"""Functions of Python that every program has; `print` shows nothing."""

KEYWORDS: Mapping[str, frozenset[str]] = {
    "enumerate": frozenset({"start"}), "print": frozenset({"sep", "end"}),
    "replace": frozenset({"count"}), "round": frozenset({"ndigits"}),
    "sorted": frozenset({"reverse"}), "split": frozenset({"sep", "maxsplit"}),
    "splitlines": frozenset({"keepends"}),
}  # fmt: skip
"""Arguments that these take by name. Those that decide the length of a result are not among them:
`growth` finds them by position."""
