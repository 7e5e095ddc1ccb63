"""Operators: arithmetic, comparisons, and entries of texts, lists and dicts."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any, cast

from pytest_miniwob_agent.agents.webwise.interpreter.costs import Meter
from pytest_miniwob_agent.agents.webwise.interpreter.values import (
    ITERABLES,
    MAX_BITS,
    NUMBERS,
    Value,
    kind_of,
)

_COMPARISONS: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge, ast.In: lambda entry, holder: entry in holder,
    ast.NotIn: lambda entry, holder: entry not in holder, ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}  # fmt: skip
_ARITHMETIC: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow,
}  # fmt: skip
_IN_PLACE: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.iadd, ast.Mult: operator.imul,
}  # fmt: skip
"""`+=` and `*=` of a list: every name of that list sees the change, as in Python."""

_UNARY: Mapping[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.Not: operator.not_, ast.USub: operator.neg, ast.UAdd: operator.pos,
}  # fmt: skip


def binary(
    meter: Meter, op: ast.operator, left: Value, right: Value, *, in_place: bool = False
) -> Value:
    """Compute a binary operator; `in_place` as by `+=`, which changes a list itself."""
    numbers = type(left) in NUMBERS and type(right) in NUMBERS
    match op:
        case ast.Pow() if numbers:
            _check_power(meter, left, right)
        case ast.Mult() if not numbers:
            times = next((each for each in (left, right) if type(each) is int), 0)
            meter.charge(
                max(0, times) * (meter.charge_for_reading(left) + meter.charge_for_reading(right))
            )
        case ast.Add():
            meter.charge(sum(len(each) for each in (left, right) if isinstance(each, ITERABLES)))
        case ast.Mod() if not numbers:  # '%999999999d' % 1
            meter.fail(f"{kind_of(left)} can't be formatted with %")
    operation = _ARITHMETIC[type(op)]
    if in_place and type(left) is list:
        operation = _IN_PLACE.get(type(op), operation)
    result = meter.apply(operation, left, right)
    if type(result) is int and result.bit_length() > MAX_BITS:
        meter.fail("the number is too big")
    if type(result) is complex:
        meter.fail("the result is no real number")
    return cast("Value", result)


def _check_power(meter: Meter, base: Any, exponent: Any) -> None:
    """Refuse a power of integers that is too big before it is computed."""
    if type(exponent) is float or type(base) is float:
        return
    if abs(exponent) * max(1, abs(base).bit_length() - 1) > MAX_BITS and abs(base) > 1:
        meter.fail("the number is too big")


def unary(meter: Meter, op: ast.unaryop, operand: Value) -> Value:
    """Compute `not`, `-` or `+`."""
    return cast("Value", meter.apply(_UNARY[type(op)], operand))


def compare(meter: Meter, op: ast.cmpop, left: Value, right: Value) -> bool:
    """Compare two values."""
    if isinstance(op, ast.Is | ast.IsNot):
        if not any(each is None or type(each) is bool for each in (left, right)):
            meter.fail("'is' can only ask for None, True or False; use == instead")
    else:
        meter.charge_for_reading(left, right)
    return bool(meter.apply(_COMPARISONS[type(op)], left, right))


def get_entry(meter: Meter, holder: Value, at: Value | slice) -> Value:
    """Return an entry of a text, list, tuple or dict, or a slice of it."""
    if not isinstance(holder, str | list | tuple | dict):
        meter.fail(f"{kind_of(holder)} has no entries")
    if isinstance(at, slice):
        meter.charge(len(holder))
    else:
        meter.charge_for_reading(at)
    return cast("Value", meter.apply(operator.getitem, holder, at))


def set_entry(meter: Meter, holder: Value, at: Value, value: Value) -> None:
    """Set an entry of a list or dict."""
    if not isinstance(holder, list | dict):
        meter.fail(f"an entry of {kind_of(holder)} can't be set")
    meter.charge_for_reading(at)
    meter.apply(operator.setitem, holder, at, value)
