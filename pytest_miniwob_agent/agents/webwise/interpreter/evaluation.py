"""The run of a program that has been checked: its statements and expressions."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from pytest_miniwob_agent.agents.webwise.interpreter.costs import Meter
from pytest_miniwob_agent.agents.webwise.interpreter.errors import ProgramError
from pytest_miniwob_agent.agents.webwise.interpreter.functions import (
    call_built_in,
    call_given,
    call_method,
)
from pytest_miniwob_agent.agents.webwise.interpreter.operators import (
    binary,
    compare,
    get_entry,
    set_entry,
    unary,
)
from pytest_miniwob_agent.agents.webwise.interpreter.values import Value, entries


class _Break(Exception):
    """A `break` statement."""


class _Continue(Exception):
    """A `continue` statement."""


class Evaluation:
    """One run of one program.

    Args:
        functions: the functions that the program can call, by name.
        work: the units of work that it may do.
    """

    def __init__(self, functions: Mapping[str, Callable[..., Any]], work: int) -> None:
        self.variables: dict[str, Value] = {}
        self._functions = functions
        self._meter = Meter(work)

    def run(self, statements: list[ast.stmt]) -> None:
        """Run the statements of a program.

        Raises:
            ProgramError: it failed, or asked for too much.
        """
        self._block(statements)

    def _block(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        self._meter.visit(node.lineno)
        match node:
            case ast.Expr(value=value):
                self._value(value)
            case ast.Assign(targets=targets, value=value):
                result = self._value(value)
                for target in targets:
                    self._assign(target, result)
            case ast.AugAssign(target=target, op=op, value=value):
                self._assign_in_place(target, op, value)
            case ast.If(test=test, body=body, orelse=orelse):
                self._block(body if self._value(test) else orelse)
            case ast.While(test=test, body=body, orelse=orelse):
                if self._loop(body, iter(lambda: bool(self._value(test)), False)):
                    self._block(orelse)
            case ast.For(target=target, iter=iterated, body=body, orelse=orelse):
                if self._loop(body, self._assignments(target, iterated)):
                    self._block(orelse)
            case ast.Break():
                raise _Break
            case ast.Continue():
                raise _Continue

    def _loop(self, body: list[ast.stmt], rounds: Iterator[object]) -> bool:
        """Run the body once a round; returns True if no `break` ended the loop."""
        try:
            for _ in rounds:
                self._meter.charge(1)
                try:
                    self._block(body)
                except _Continue:
                    continue
        except _Break:
            return False
        return True

    def _assignments(self, target: ast.expr, iterated: ast.expr) -> Iterator[None]:
        """Assign one entry after the other to the target; a list may change meanwhile."""
        value = self._value(iterated)
        values = value if isinstance(value, list) else self._entries(value)
        at = 0
        while at < len(values):
            self._meter.charge(1)
            self._assign(target, values[at])
            at += 1
            yield

    def _entries(self, value: Value) -> list[Any]:
        if isinstance(value, str | list | tuple | dict):
            self._meter.charge(len(value))
        return cast("list[Any]", self._meter.apply(entries, value))

    def _assign(self, target: ast.expr, value: Value) -> None:
        match target:
            case ast.Name(id=name):
                self.variables[name] = value
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                values = self._entries(value)
                if len(values) != len(targets):
                    self._meter.fail(f"{len(targets)} values were expected, not {len(values)}")
                for each, entry in zip(targets, values, strict=True):
                    self._assign(each, entry)
            case ast.Subscript(value=holder, slice=index) if not isinstance(index, ast.Slice):
                set_entry(self._meter, self._value(holder), self._value(index), value)
            case _:
                self._meter.fail("this can't be given a value")

    def _assign_in_place(self, target: ast.expr, op: ast.operator, operand: ast.expr) -> None:
        """Run `target += operand` or the like; what is called in the target is called once."""
        match target:
            case ast.Subscript(value=held, slice=index) if not isinstance(index, ast.Slice):
                holder, at = self._value(held), self._value(index)
                old = get_entry(self._meter, holder, at)
                new = binary(self._meter, op, old, self._value(operand), in_place=True)
                set_entry(self._meter, holder, at, new)
            case _:
                old = self._value(target)
                new = binary(self._meter, op, old, self._value(operand), in_place=True)
                self._assign(target, new)

    def _value(self, node: ast.expr) -> Value:
        self._meter.visit(node.lineno)
        match node:
            case ast.Constant(value=value):
                self._meter.charge(len(value) if isinstance(value, str) else 0)
                return cast("Value", value)
            case ast.Name(id=name):
                if name not in self.variables:
                    self._meter.fail(f"the name {name!r} has no value")
                return self.variables[name]
            case ast.Call():
                return self._call(node)
            case ast.List(elts=elements):
                return [self._value(each) for each in elements]
            case ast.Tuple(elts=elements):
                return tuple(self._value(each) for each in elements)
            case ast.Dict(keys=keys, values=values):
                return self._dict(keys, values)
            case ast.ListComp(elt=element, generators=generators):
                return self._comprehension(element, generators)
            case ast.GeneratorExp(elt=element, generators=generators):
                return self._comprehension(element, generators)
            case ast.JoinedStr(values=values):
                return "".join([self._part_of_text(each) for each in values])
            case ast.BinOp(left=left, op=op, right=right):
                return binary(self._meter, op, self._value(left), self._value(right))
            case ast.UnaryOp(op=sign, operand=operand):
                return unary(self._meter, sign, self._value(operand))
            case ast.BoolOp(op=ast.And(), values=values):
                return self._first(values, stop=False)
            case ast.BoolOp(values=values):
                return self._first(values, stop=True)
            case ast.Compare():
                return self._comparison(node)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self._value(body if self._value(test) else orelse)
            case ast.Subscript(value=holder, slice=index):
                return get_entry(self._meter, self._value(holder), self._index(index))
        raise ProgramError("a slice can't be used here", self._meter.line)

    def _first(self, operands: list[ast.expr], *, stop: bool) -> Value:
        """Return the operand of an `and` or `or` that decides it, or the last."""
        for operand in operands[:-1]:
            value = self._value(operand)
            if bool(value) is stop:
                return value
        return self._value(operands[-1])

    def _dict(self, keys: list[ast.expr | None], values: list[ast.expr]) -> dict[Any, Any]:
        result: dict[Any, Any] = {}
        for key, value in zip(keys, values, strict=True):
            name = self._value(cast("ast.expr", key))
            self._meter.charge_for_reading(name)
            self._meter.apply(operator.setitem, result, name, self._value(value))
        return result

    def _comprehension(self, element: ast.expr, generators: list[ast.comprehension]) -> list[Value]:
        outside = dict(self.variables)
        self._meter.charge(len(outside))
        result: list[Value] = []

        def fill(rest: list[ast.comprehension]) -> None:
            if not rest:
                result.append(self._value(element))
                return
            for _ in self._assignments(rest[0].target, rest[0].iter):
                if all(self._value(test) for test in rest[0].ifs):
                    fill(rest[1:])

        fill(generators)
        self.variables = outside
        return result

    def _part_of_text(self, node: ast.expr) -> str:
        """Evaluate a part of an f-string."""
        if not isinstance(node, ast.FormattedValue):
            return cast("str", self._value(node))
        value = self._value(node.value)
        self._meter.charge_for_reading(value)
        text = self._meter.apply(str, value)
        self._meter.charge(len(text))
        return cast("str", text)

    def _comparison(self, node: ast.Compare) -> bool:
        left = self._value(node.left)
        for op, operand in zip(node.ops, node.comparators, strict=True):
            right = self._value(operand)
            if not compare(self._meter, op, left, right):
                return False
            left = right
        return True

    def _index(self, node: ast.expr) -> Value | slice:
        if not isinstance(node, ast.Slice):
            return self._value(node)
        bounds = (node.lower, node.upper, node.step)
        return slice(*(None if each is None else self._value(each) for each in bounds))

    def _call(self, node: ast.Call) -> Value:
        line, called = node.lineno, node.func
        holder = self._value(called.value) if isinstance(called, ast.Attribute) else None
        args = [self._value(each) for each in node.args]
        kwargs = {str(each.arg): self._value(each.value) for each in node.keywords}
        self._meter.line = line
        if isinstance(called, ast.Attribute):
            return call_method(self._meter, called.attr, holder, args, kwargs)
        name = cast("ast.Name", called).id
        if name in self._functions:
            return call_given(self._meter, name, self._functions[name], args, kwargs)
        return call_built_in(self._meter, name, args, kwargs)
