"""Functions and methods that a program can call, and what their calls cost."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, cast

from pytest_miniwob_agent.agents.webwise.interpreter.costs import CALL_WORK, Meter
from pytest_miniwob_agent.agents.webwise.interpreter.errors import ProgramError
from pytest_miniwob_agent.agents.webwise.interpreter.values import (
    MAX_BITS,
    SCALARS,
    Value,
    entries,
    kind_of,
)


def call_method(
    meter: Meter, name: str, holder: Value, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """Call a method of a text, list, tuple or dict."""
    method = METHODS.get(type(holder), {}).get(name)
    if method is None:
        meter.fail(f"{kind_of(holder)} has no method .{name}()")
    _check_keywords(meter, name, kwargs)
    if name not in ("append", "pop"):  # they look at one entry only
        meter.charge_for_reading(holder, *args, *kwargs.values())
    if name in ("replace", "join"):
        _charge_for_growth(meter, cast("str", holder), args)
    return _returned(meter, meter.apply(method, holder, *args, **kwargs))


def call_built_in(meter: Meter, name: str, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Call one of Python's functions that every program has."""
    _check_keywords(meter, name, kwargs)
    cost = meter.charge_for_reading(*args, *kwargs.values())
    if name == "sorted":
        meter.charge(cost * cost.bit_length())
    result = meter.apply(BUILT_IN[name], *args, **kwargs)
    if type(result) is range:
        meter.charge(meter.apply(len, result))
        return list(result)
    return _returned(meter, result)


def call_given(
    meter: Meter,
    name: str,
    function: Callable[..., Any],
    args: list[Value],
    kwargs: dict[str, Value],
) -> Value:
    """Call a function that the program was given."""
    meter.charge(CALL_WORK)
    meter.charge_for_reading(*args, *kwargs.values())
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError:
        meter.fail(f"{name}() takes other arguments")
    try:
        result = function(*args, **kwargs)
    except ProgramError as error:
        raise ProgramError(error.reason, error.line or meter.line) from None
    meter.charge_for_reading(result)
    return cast("Value", result)


def _check_keywords(meter: Meter, name: str, kwargs: dict[str, Value]) -> None:
    if not kwargs.keys() <= _KEYWORDS.get(name, frozenset()):
        meter.fail(f"{name}() takes other arguments")


def _charge_for_growth(meter: Meter, text: str, args: list[Value]) -> None:
    """Charge for texts that get many times as long: x.replace("", x), x.join(x)."""
    match args:
        case [str(old), str(new), *_]:
            meter.charge(text.count(old) * len(new))
        case [str() | list() | tuple() | dict() as parts]:
            meter.charge(len(text) * len(parts))


def _returned(meter: Meter, result: Any) -> Value:
    """Charge for the result of a function of Python; entries of a list were paid for before."""
    if type(result) in SCALARS:
        meter.charge_for_reading(result)
    return cast("Value", result)


def _text_index(text: str, part: Value) -> int:
    if type(part) is not str:
        raise TypeError
    return text.index(part)


def _join(separator: str, parts: Value) -> str:
    return separator.join(entries(parts))


def _replace(text: str, old: str, new: str, count: int = -1) -> str:
    return text.replace(old, new, count)  # only some versions of Python know its name


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
        "splitlines": str.splitlines, "join": _join, "replace": _replace,
        "startswith": str.startswith, "endswith": str.endswith, "find": str.find,
        "index": _text_index, "count": str.count, "isdigit": str.isdigit, "isalpha": str.isalpha,
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

_KEYWORDS: Mapping[str, frozenset[str]] = {
    "enumerate": frozenset({"start"}), "print": frozenset({"sep", "end"}),
    "replace": frozenset({"count"}), "round": frozenset({"ndigits"}),
    "sorted": frozenset({"reverse"}), "split": frozenset({"sep", "maxsplit"}),
    "splitlines": frozenset({"keepends"}),
}  # fmt: skip
"""Arguments that can be given by name to the methods and functions above, as Python calls them.

Those that decide the length of a result are not among them: they are paid for by position.
"""
