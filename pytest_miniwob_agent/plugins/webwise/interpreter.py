"""Scripts that a model wrote, interpreted: a small part of Python, and nothing beyond it.

A script is read with `ast`, checked as a whole, and walked; it is never compiled or handed to
`exec`. It can call the functions that it is given and a few of Python's (`language`). It has no
attributes, imports, definitions, exceptions or sets, whose order would differ between processes.
Values are plain data, so that no operator runs foreign code.

Everything that a script does costs units of work, which are paid before it is done: one for each
node, and for each character or entry that an operation reads or makes. One number thus bounds time
and memory, and is the same on every machine. Error messages go into prompts, so they are our own,
the same under every version of Python.
"""

from __future__ import annotations

import ast
import inspect
import operator
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pytest_miniwob_agent.plugins.webwise.language import (
    BUILT_IN,
    ITERABLES,
    MAX_BITS,
    MAX_NESTING,
    METHODS,
    NUMBERS,
    OPERATORS,
    SCALARS,
    entries,
    growth,
)

MAX_SOURCE = 10_000
"""Characters of a script."""

MAX_WORK = 250_000
"""Units of work of one run."""

CALL_WORK = 100
"""The cost of a call of a given function, whatever the function does."""

_NODES = (
    ast.Module, ast.Expr, ast.Assign, ast.AugAssign, ast.If, ast.For, ast.While, ast.Break,
    ast.Continue, ast.Pass, ast.Constant, ast.Name, ast.Call, ast.Attribute, ast.keyword,
    ast.JoinedStr, ast.FormattedValue, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.boolop, ast.Compare,
    ast.IfExp, ast.Subscript, ast.Slice, ast.List, ast.Tuple, ast.Dict, ast.ListComp,
    ast.GeneratorExp, ast.comprehension, ast.expr_context, *OPERATORS,
)  # fmt: skip


class ScriptError(Exception):
    """The script is not in the language, failed, or asked for too much.

    A function that a program is given may raise it too.
    """


def interpret(
    source: str, functions: Mapping[str, Callable[..., Any]], *, work: int = MAX_WORK
) -> dict[str, Any]:
    """Run a script and return the values of its variables at the end.

    Other exceptions of the functions than `ScriptError` pass through.

    Raises:
        ScriptError: anything that is wrong with the script.
    """
    run = _Run(functions, work)
    statements = _parse(source)
    try:
        run.block(statements)
    except ScriptError as error:
        raise ScriptError(f"line {run.line}: {error}") from None
    except _Jump:
        raise ScriptError(f"line {run.line}: break and continue belong in a loop") from None
    return run.variables


def _parse(source: str) -> list[ast.stmt]:
    """Read a script whose statements and expressions are all in the language."""
    if len(source) > MAX_SOURCE:
        raise ScriptError(f"the program has {len(source)} characters; {MAX_SOURCE} are allowed")
    try:
        with warnings.catch_warnings():  # of escapes that Python is going to refuse, and the like
            warnings.simplefilter("ignore")
            tree = ast.parse(source, feature_version=(3, 11))  # the same under all versions
    except (MemoryError, RecursionError):
        raise ScriptError("the program is nested too deep") from None
    except (SyntaxError, ValueError, OverflowError):
        raise ScriptError("this is no valid Python") from None
    waiting: list[tuple[ast.AST, int, int]] = [(tree, 0, 1)]
    while waiting:
        node, depth, line = waiting.pop()
        line = getattr(node, "lineno", line)
        if depth > MAX_NESTING:
            raise ScriptError("the program is nested too deep")
        if not isinstance(node, _NODES):
            raise ScriptError(f"line {line}: {type(node).__name__} can't be used here")
        if isinstance(node, ast.FormattedValue):
            parts = [getattr(inner, "value", inner) for inner in ast.walk(node.value)]
            if any(isinstance(part, str | ast.JoinedStr) for part in parts):
                raise ScriptError("this is no valid Python")  # in some versions, by its quotes
        depth += 1 + len(getattr(node, "generators", ()))
        children = list(ast.iter_child_nodes(node))
        waiting += [(child, depth, line) for child in reversed(children)]
    return tree.body


class _Jump(Exception):
    """A `break` or `continue` statement: its node."""


class _Run:
    """One run of a script."""

    def __init__(self, functions: Mapping[str, Callable[..., Any]], work: int) -> None:
        self.variables: dict[str, Any] = {}
        self._functions = functions
        self._left = work
        self.line = 1

    def _charge(self, units: int) -> None:
        self._left -= units
        if self._left < 0:
            self._left = 0
            raise ScriptError("the program does too much: too many steps, or too large values")

    def _read(self, *values: Any) -> int:
        """Charge for reading values to their last entry; returns the cost."""
        before = self._left
        waiting = [(value, 0) for value in values]
        while waiting:
            value, depth = waiting.pop()
            if type(value) not in SCALARS + ITERABLES:
                raise ScriptError(f"a value of the type {type(value).__name__} can't be used here")
            if depth > MAX_NESTING:
                raise ScriptError("a list is nested too deep")
            self._charge(1 + (len(value) if type(value) in ITERABLES else 0))
            if type(value) in (list, tuple, dict):
                inner = (*value, *value.values()) if type(value) is dict else value
                waiting += [(entry, depth + 1) for entry in inner]
        return before - self._left

    def _apply(self, operation: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call one of Python's own operations, which has been paid for, with our error messages."""
        try:
            result = operation(*args, **kwargs)
        except ZeroDivisionError:
            raise ScriptError("this divides by zero") from None
        except LookupError:
            raise ScriptError("there is no such entry") from None
        except (ArithmeticError, TypeError, ValueError, RecursionError):
            given = " and ".join(type(value).__name__ for value in (*args, *kwargs.values()))
            raise ScriptError(f"this can't be done with {given or 'nothing'}") from None
        if type(result) is complex or (type(result) is int and result.bit_length() > MAX_BITS):
            raise ScriptError("the number is too big, or not a real one")
        return result

    def block(self, statements: list[ast.stmt]) -> None:
        for node in statements:
            self.line = node.lineno
            self._charge(1)
            match node:
                case ast.Expr(value=value):
                    self._value(value)
                case ast.Assign(targets=targets, value=value):
                    result = self._value(value)
                    for target in targets:
                        self._assign(target, result)
                case ast.AugAssign(target=target, op=op, value=operand):
                    old = self._value(target)
                    self._assign(target, self._binary(op, old, self._value(operand), True))
                case ast.If(test=test, body=body, orelse=orelse):
                    self.block(body if self._value(test) else orelse)
                case ast.While(test=test, body=body, orelse=orelse):
                    self._loop(iter(lambda: bool(self._value(test)), False), body, orelse)
                case ast.For(target=target, iter=iterated, body=body, orelse=orelse):
                    self._loop(self._assignments(target, iterated), body, orelse)
                case ast.Break() | ast.Continue():
                    raise _Jump(node)

    def _loop(self, rounds: Iterator[object], body: list[ast.stmt], orelse: list[ast.stmt]) -> None:
        for _ in rounds:
            self._charge(1)
            try:
                self.block(body)
            except _Jump as jump:
                if isinstance(jump.args[0], ast.Break):
                    return
        self.block(orelse)

    def _assignments(self, target: ast.expr, iterated: ast.expr) -> Iterator[None]:
        # A list may change meanwhile.
        value = self._value(iterated)
        for entry in value if isinstance(value, list) else self._entries(value):
            self._charge(1)
            self._assign(target, entry)
            yield

    def _entries(self, value: Any) -> list[Any]:
        if isinstance(value, ITERABLES):
            self._charge(len(value))
        listed: list[Any] = self._apply(entries, value)
        return listed

    def _assign(self, target: ast.expr, value: Any) -> None:
        match target:
            case ast.Name(id=name) if name not in self._functions.keys() | BUILT_IN.keys():
                self.variables[name] = value
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                values = self._entries(value)
                if len(values) != len(targets):
                    raise ScriptError(f"{len(targets)} values were expected, not {len(values)}")
                for inner, entry in zip(targets, values, strict=True):
                    self._assign(inner, entry)
            case ast.Subscript(value=holder, slice=index):
                self._set(self._value(holder), self._index(index), value)
            case _:
                raise ScriptError("this can't be given a value")

    def _value(self, node: ast.expr) -> Any:
        self.line = node.lineno
        self._charge(1)
        match node:
            case ast.Constant(value=value) if type(value) in SCALARS:
                self._charge(len(value) if isinstance(value, str) else 0)
                if isinstance(value, int) and value.bit_length() > MAX_BITS:
                    raise ScriptError("the number is too big")
                return value
            case ast.Name(id=name):
                if name not in self.variables:
                    raise ScriptError(f"the name {name!r} has no value")
                return self.variables[name]
            case ast.Call():
                return self._call(node)
            case ast.List(elts=elements):
                return [self._value(element) for element in elements]
            case ast.Tuple(elts=elements):
                return tuple(self._value(element) for element in elements)
            case ast.Dict(keys=keys, values=values) if None not in keys:
                result: dict[Any, Any] = {}
                for key, item in zip(filter(None, keys), values, strict=True):
                    self._set(result, self._value(key), self._value(item))
                return result
            case ast.ListComp() | ast.GeneratorExp():
                return self._comprehension(node.elt, node.generators)
            case ast.JoinedStr(values=parts):
                return "".join([self._value(part) for part in parts])
            case ast.FormattedValue(value=inner, format_spec=None, conversion=-1):
                return self._call_python("str", str, [self._value(inner)], {})
            case ast.BinOp(left=left, op=op, right=right):
                return self._binary(op, self._value(left), self._value(right))
            case ast.UnaryOp(op=op, operand=operand):
                return self._apply(OPERATORS[type(op)], self._value(operand))
            case ast.BoolOp(op=op, values=operands):
                for operand in operands[:-1]:
                    side = self._value(operand)
                    if bool(side) is isinstance(op, ast.Or):
                        return side
                return self._value(operands[-1])
            case ast.Compare(left=left, ops=ops, comparators=operands):
                return self._comparison(self._value(left), ops, operands)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self._value(body if self._value(test) else orelse)
            case ast.Subscript(value=holder, slice=index):
                return self._entry(self._value(holder), self._index(index))
        raise ScriptError(f"{type(node).__name__} can't be used here")

    def _comprehension(self, element: ast.expr, loops: list[ast.comprehension]) -> list[Any]:
        # The names of a comprehension are its own, as in Python.
        outside = dict(self.variables)
        self._charge(len(outside))
        result: list[Any] = []

        def fill(loops: list[ast.comprehension]) -> None:
            if not loops:
                result.append(self._value(element))
                return
            for _ in self._assignments(loops[0].target, loops[0].iter):
                if all(self._value(test) for test in loops[0].ifs):
                    fill(loops[1:])

        fill(loops)
        self.variables = outside
        return result

    def _comparison(self, left: Any, ops: list[ast.cmpop], operands: list[ast.expr]) -> bool:
        for op, operand in zip(ops, operands, strict=True):
            right = self._value(operand)
            if not isinstance(op, ast.Is | ast.IsNot):
                self._read(left, right)
            elif not any(side is None or type(side) is bool for side in (left, right)):
                raise ScriptError("'is' can only ask for None, True or False; use == instead")
            if not self._apply(OPERATORS[type(op)], left, right):
                return False
            left = right
        return True

    def _binary(self, op: ast.operator, left: Any, right: Any, in_place: bool = False) -> Any:
        """Compute a binary operator; `in_place` as by `+=`, which changes a list itself."""
        numbers = type(left) in NUMBERS and type(right) in NUMBERS
        match op:
            case ast.Pow() if isinstance(left, int) and isinstance(right, int) and abs(left) > 1:
                if abs(right) * (abs(left).bit_length() - 1) > MAX_BITS:
                    raise ScriptError("the number is too big")
            case ast.Mult() if not numbers:
                times = next((side for side in (left, right) if type(side) is int), 0)
                self._charge(max(0, times) * self._read(left, right))
            case ast.Add():
                sides = [side for side in (left, right) if isinstance(side, ITERABLES)]
                self._charge(sum(map(len, sides)))
            case ast.Mod() if not numbers:  # '%999999999d' % 1
                raise ScriptError(f"{type(left).__name__} can't be formatted with %")
        operation = OPERATORS[type(op)]
        if in_place:
            operation = {ast.Add: operator.iadd, ast.Mult: operator.imul}.get(type(op), operation)
        return self._apply(operation, left, right)

    def _index(self, node: ast.expr) -> Any:
        if not isinstance(node, ast.Slice):
            return self._value(node)
        bounds = (node.lower, node.upper, node.step)
        return slice(*(None if bound is None else self._value(bound) for bound in bounds))

    def _entry(self, holder: Any, at: Any) -> Any:
        if isinstance(at, slice) and isinstance(holder, ITERABLES):
            self._charge(len(holder))
        elif not isinstance(at, slice):
            self._read(at)
        return self._apply(operator.getitem, holder, at)

    def _set(self, holder: Any, at: Any, value: Any) -> None:
        if isinstance(at, slice):
            raise ScriptError("this can't be given a value")
        self._read(at)
        self._apply(operator.setitem, holder, at, value)

    def _call(self, node: ast.Call) -> Any:
        line, called = node.lineno, node.func
        holder = [self._value(called.value)] if isinstance(called, ast.Attribute) else []
        args = [*holder, *(self._value(argument) for argument in node.args)]
        kwargs = {str(keyword.arg): self._value(keyword.value) for keyword in node.keywords}
        self.line = line
        if isinstance(called, ast.Attribute):
            method = METHODS.get(type(args[0]), {}).get(called.attr)
            if method is None:
                raise ScriptError(f"{type(args[0]).__name__} has no method .{called.attr}()")
            return self._call_python(called.attr, method, args, kwargs)
        if not isinstance(called, ast.Name):
            raise ScriptError("only a function can be called by its name")
        if called.id in self._functions:
            return self._call_given(called.id, args, kwargs)
        if called.id not in BUILT_IN:
            raise ScriptError(f"there is no function {called.id}()")
        return self._call_python(called.id, BUILT_IN[called.id], args, kwargs)

    def _call_python(
        self, name: str, function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]
    ) -> Any:
        if name not in ("append", "pop"):  # they look at one entry only
            cost = self._read(*args, *kwargs.values())
            self._charge(cost * cost.bit_length() if name == "sorted" else growth(name, args))
        result = self._apply(function, *args, **kwargs)
        if type(result) is range:
            self._charge(self._apply(len, result))
            return list(result)
        if type(result) in SCALARS:  # the entries of others were paid for before
            self._read(result)
        return result

    def _call_given(self, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        function = self._functions[name]
        self._charge(CALL_WORK)
        self._read(*args, *kwargs.values())
        try:
            inspect.signature(function).bind(*args, **kwargs)
        except TypeError:
            raise ScriptError(f"{name}() takes other arguments") from None
        result = function(*args, **kwargs)
        self._read(result)
        return result
