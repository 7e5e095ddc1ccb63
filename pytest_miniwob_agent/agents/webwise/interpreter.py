"""Programs that a model wrote, interpreted: a small part of Python, and nothing beyond it.

A program is read with `ast`, checked as a whole, and walked. It is never compiled or handed to
`exec`. It can call the functions that it is given and a few of Python's; it has no attributes,
imports, definitions or exceptions. Values are plain data of exactly the types in `Value`, so that
no operator ever runs code of somebody else's. There are no sets: their order would not be the same
in every process.

Whatever a program does is paid for in units of work before it is done: one for each node that is
visited, and for each character or entry that an operation reads or makes. Work is never paid back,
so one number bounds time and memory alike, and is the same on every machine.

Errors are told in words of our own, the same under every version of Python: they go into prompts,
which have to be equal when they are replayed.
"""

from __future__ import annotations

import ast
import inspect
import operator
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn, cast

Value = None | bool | int | float | str | list[Any] | tuple[Any, ...] | dict[Any, Any]
"""What a program computes with."""

MAX_SOURCE = 10_000
"""Characters of a program."""

MAX_NESTING = 60
"""How deep statements and expressions may be nested, and lists in lists."""

MAX_BITS = 256
"""Bits of an integer."""

MAX_LOOPS = 4
"""Loops of one comprehension."""

MAX_WORK = 250_000
"""Units of work of one run."""

CALL_WORK = 100
"""What calling one of the given functions costs, whatever it does."""


class ProgramError(Exception):
    """The program is not in the language, went wrong, or asked for too much.

    A function that a program is given may raise it too; the line is then filled in.
    """

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason if len(reason) <= 300 else reason[:300] + "…"
        self.line = line

    def __str__(self) -> str:
        return self.reason if self.line is None else f"line {self.line}: {self.reason}"


def interpret(
    source: str, functions: Mapping[str, Callable[..., Any]], *, work: int = MAX_WORK
) -> dict[str, Value]:
    """Run a program; returns what its variables hold at the end.

    Nothing of it is run unless all of it is in the language. What the functions raise passes
    through.

    Raises:
        ProgramError: anything that is wrong with the program.
    """
    run = _Run(functions, work)
    try:
        run.block(_parse(source, functions))
    except (_Break, _Continue):
        raise ProgramError("break and continue belong into a loop") from None
    return run.names


# --- Reading ---

_STATEMENTS = (
    ast.Expr, ast.Assign, ast.AugAssign, ast.If, ast.For, ast.While, ast.Break, ast.Continue,
    ast.Pass,
)  # fmt: skip
_EXPRESSIONS = (
    ast.Constant, ast.Name, ast.Call, ast.JoinedStr, ast.FormattedValue, ast.BinOp, ast.UnaryOp,
    ast.BoolOp, ast.Compare, ast.IfExp, ast.Subscript, ast.Slice, ast.List, ast.Tuple, ast.Dict,
    ast.ListComp, ast.GeneratorExp,
)  # fmt: skip
_PARTS = (
    ast.Module, ast.comprehension, ast.keyword, ast.expr_context, ast.boolop, ast.cmpop,
    ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.Not, ast.USub,
    ast.UAdd,
)  # fmt: skip
_WORDS = {
    ast.Import: "import", ast.ImportFrom: "import", ast.FunctionDef: "def", ast.Lambda: "lambda",
    ast.AsyncFunctionDef: "async", ast.ClassDef: "class", ast.Try: "try", ast.With: "with",
    ast.Raise: "raise", ast.Assert: "assert", ast.Delete: "del", ast.Global: "global",
    ast.Nonlocal: "nonlocal", ast.Return: "return", ast.Yield: "yield", ast.Await: "await",
    ast.NamedExpr: ":=", ast.Starred: "*", ast.Set: "a set", ast.SetComp: "a set",
    ast.AnnAssign: "an annotation", ast.Match: "match", ast.AsyncFor: "async",
    ast.AsyncWith: "async", ast.YieldFrom: "yield", ast.DictComp: "a comprehension of a dict",
    ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
    ast.MatMult: "@", ast.Invert: "~",
}  # fmt: skip


_UNREADABLE = "this is no valid Python"
_DEEP = "the program is nested too deep"


def _parse(source: str, functions: Mapping[str, Any]) -> list[ast.stmt]:
    """The statements of a program that is in the language throughout."""
    if len(source) > MAX_SOURCE:
        raise ProgramError(f"the program has {len(source)} characters; {MAX_SOURCE} are allowed")
    try:
        with warnings.catch_warnings():  # of escapes that Python is going to refuse, and the like
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (MemoryError, RecursionError):
        raise ProgramError(_DEEP) from None
    except (SyntaxError, ValueError, OverflowError):
        raise ProgramError(_UNREADABLE) from None
    waiting: list[tuple[ast.AST, int, int]] = [(tree, 0, 1)]
    while waiting:
        node, depth, line = waiting.pop()
        line = getattr(node, "lineno", line)
        if depth > MAX_NESTING:
            raise ProgramError(_DEEP)
        _check(node, line, functions)
        for child in reversed(list(ast.iter_child_nodes(node))):
            # What is called, and the method of a text or a list, is looked at with the call.
            if not (isinstance(node, ast.Call) and child is node.func):
                waiting.append((child, depth + 1, line))
            elif isinstance(child, ast.Attribute):
                waiting.append((child.value, depth + 1, line))
    return tree.body


def _check(node: ast.AST, line: int, functions: Mapping[str, Any]) -> None:
    """Whether a node is in the language; those below it are checked for themselves."""
    match node:
        case ast.Attribute(attr=name):
            raise ProgramError(f"the attribute .{name} can't be used here", line)
        case _ if type(node) in _WORDS:
            raise ProgramError(f"{_WORDS[type(node)]} can't be used here", line)
        case _ if not isinstance(node, _STATEMENTS + _EXPRESSIONS + _PARTS):
            raise ProgramError(_UNREADABLE)  # what only some versions of Python can read
        case ast.Call(func=ast.Name(id=name)):
            if name not in functions and name not in _BUILT_IN:
                raise ProgramError(f"there is no function {name}()", line)
        case ast.Call(func=ast.Attribute(attr=name)):
            if not any(name in methods for methods in _METHODS.values()):
                raise ProgramError(f"there is no method .{name}()", line)
        case ast.Call():
            raise ProgramError("only a function can be called by its name", line)
        case ast.Name(id=name, ctx=context):
            if name.startswith("__"):
                raise ProgramError(f"the name {name} can't be used here", line)
            if name in functions or name in _BUILT_IN:
                how = "called" if isinstance(context, ast.Load) else "left as it is"
                raise ProgramError(f"{name} is a function: it can only be {how}", line)
        case ast.Constant(value=value) if type(value) not in _SCALARS:
            raise ProgramError(f"a value of the type {type(value).__name__} can't be used", line)
        case ast.Constant(value=int(number)) if number.bit_length() > MAX_BITS:
            raise ProgramError("the number is too big", line)
        case ast.FormattedValue(value=value, format_spec=spec, conversion=conversion):
            if any(_texts(value)):
                raise ProgramError(_UNREADABLE)  # which quotes it may have is up to the version
            if spec is not None or conversion not in (-1, ord("s")):
                raise ProgramError("a format in an f-string can't be used here", line)
        case ast.keyword(arg=None):
            raise ProgramError("** can't be used here", line)
        case ast.Dict(keys=keys) if None in keys:
            raise ProgramError("** can't be used here", line)
        case ast.comprehension(is_async=1):
            raise ProgramError("async can't be used here", line)
        case ast.ListComp(generators=loops) | ast.GeneratorExp(generators=loops) if (
            len(loops) > MAX_LOOPS
        ):
            raise ProgramError("a comprehension has too many loops", line)


def _texts(node: ast.expr) -> Iterator[ast.AST]:
    """The literal texts in an expression."""
    for each in ast.walk(node):
        if isinstance(each, ast.JoinedStr) or (
            isinstance(each, ast.Constant) and isinstance(each.value, str)
        ):
            yield each


# --- Values ---

_SCALARS = (type(None), bool, int, float, str)
_NUMBERS = (bool, int, float)
_LOOPED = (str, list, tuple, dict)
_MISTAKES = (ArithmeticError, LookupError, TypeError, ValueError, RecursionError)
"""What Python's own operators raise on plain data."""


def _str_index(text: str, part: str) -> int:
    return text.index(_text(part))


def _text(value: Value) -> str:
    if type(value) is not str:
        raise TypeError
    return value


def _join(separator: str, parts: Value) -> str:
    return separator.join(_listed(parts))


def _replace(text: str, old: str, new: str, count: int = -1) -> str:
    return text.replace(old, new, count)  # only some versions of Python know its name


def _listed(value: Value) -> list[Any]:
    """The entries of anything that can be looped over."""
    if type(value) not in _LOOPED:
        raise TypeError
    return list(cast("list[Any]", value))


def _kind(value: object) -> str:
    names = {"NoneType": "None", "str": "a text", "int": "a number", "float": "a number"}
    return names.get(type(value).__name__, f"a {type(value).__name__}")


_METHODS: Mapping[type, Mapping[str, Callable[..., Any]]] = {
    str: {
        "lower": str.lower, "upper": str.upper, "title": str.title, "strip": str.strip,
        "lstrip": str.lstrip, "rstrip": str.rstrip, "split": str.split,
        "splitlines": str.splitlines, "join": _join, "replace": _replace,
        "startswith": str.startswith, "endswith": str.endswith, "find": str.find,
        "index": _str_index, "count": str.count, "isdigit": str.isdigit, "isalpha": str.isalpha,
        "isupper": str.isupper, "islower": str.islower, "capitalize": str.capitalize,
    },
    list: {
        "append": list.append, "index": list.index, "count": list.count, "pop": list.pop,
        "insert": list.insert, "remove": list.remove, "reverse": list.reverse,
        "extend": lambda one, other: one.extend(_listed(other)),
    },
    tuple: {"index": tuple.index, "count": tuple.count},
    dict: {
        "get": dict.get, "keys": list, "values": lambda one: list(one.values()),
        "items": lambda one: list(one.items()),
    },
}  # fmt: skip
"""Methods by the exact type that has them; nothing is ever looked up on an object."""


def _sorted(values: Value, reverse: bool = False) -> list[Any]:
    return sorted(_listed(values), reverse=bool(reverse))


def _int(value: Any = 0) -> int:
    if type(value) is str and len(value) > MAX_BITS:
        raise ValueError
    return int(value)


def _round(value: Any, ndigits: int | None = None) -> Any:
    if ndigits is not None and abs(ndigits) > MAX_BITS:
        raise ValueError
    return round(value, ndigits)


_BUILT_IN: Mapping[str, Callable[..., Any]] = {
    "abs": abs, "all": lambda values: all(_listed(values)),
    "any": lambda values: any(_listed(values)), "bool": bool,
    "dict": lambda values=(): dict(_listed(values) if type(values) is not dict else values),
    "enumerate": lambda values, start=0: list(enumerate(_listed(values), start)),
    "float": float, "int": _int, "len": len, "list": lambda values=(): _listed(values),
    "max": lambda *values: max(_listed(values[0]) if len(values) == 1 else values),
    "min": lambda *values: min(_listed(values[0]) if len(values) == 1 else values),
    "print": lambda *values, sep=None, end=None: None, "range": range,
    "reversed": lambda values: _listed(values)[::-1], "round": _round, "sorted": _sorted,
    "str": str, "sum": lambda values: sum(_listed(values)),
    "tuple": lambda values=(): tuple(_listed(values)),
    "zip": lambda *several: list(zip(*map(_listed, several), strict=False)),
}  # fmt: skip
"""Functions of Python's that every program has; `print` shows nothing."""

_KEYWORDS: Mapping[str, frozenset[str]] = {
    "enumerate": frozenset({"start"}), "print": frozenset({"sep", "end"}),
    "replace": frozenset({"count"}), "round": frozenset({"ndigits"}),
    "sorted": frozenset({"reverse"}), "split": frozenset({"sep", "maxsplit"}),
    "splitlines": frozenset({"keepends"}),
}  # fmt: skip
"""All that can be given by name to the methods and functions above, as Python calls it.

What decides how long a result gets is not among them: it is paid for by its position.
"""

_COMPARE: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge, ast.In: lambda one, other: one in other,
    ast.NotIn: lambda one, other: one not in other, ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}  # fmt: skip
_ARITHMETIC: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow,
}  # fmt: skip
_IN_PLACE: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.iadd, ast.Mult: operator.imul,
}  # fmt: skip
"""What `+=` and `*=` do to a list: whoever else holds it sees it change, as in Python."""

_UNARY: Mapping[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.Not: operator.not_, ast.USub: operator.neg, ast.UAdd: operator.pos,
}  # fmt: skip


# --- Running ---


class _Break(Exception):
    """A loop is left."""


class _Continue(Exception):
    """A loop goes on with its next round."""


class _Run:
    """One run of one program that has been checked."""

    def __init__(self, functions: Mapping[str, Callable[..., Any]], work: int) -> None:
        self.names: dict[str, Value] = {}
        self._functions = functions
        self._left = work
        self._line = 1

    # Paying and failing

    def _fail(self, reason: str) -> NoReturn:
        raise ProgramError(reason, self._line)

    def _pay(self, units: int) -> None:
        self._left -= units
        if self._left < 0:
            self._left = 0
            self._fail("the program does too much: too many steps, or too large values")

    def _weigh(self, *values: Value) -> int:
        """Pay for reading values to their last entry; returns what that cost."""
        before = self._left
        waiting: list[tuple[Value, int]] = [(value, 0) for value in values]
        while waiting:
            value, depth = waiting.pop()
            kind = type(value)
            if kind is str:
                self._pay(1 + len(cast("str", value)))
            elif kind in _SCALARS:
                self._pay(1)
                if kind is int and cast("int", value).bit_length() > MAX_BITS:
                    self._fail("the number is too big")
            elif kind in (list, tuple, dict):
                if depth > MAX_NESTING:
                    self._fail("a list is nested too deep")
                inner = cast("dict[Any, Any]", value)
                self._pay(1 + len(inner))
                waiting += [(one, depth + 1) for one in inner]
                if kind is dict:
                    waiting += [(one, depth + 1) for one in inner.values()]
            else:
                self._fail(f"a value of the type {kind.__name__} can't be used here")
        return before - self._left

    def _apply(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call one of Python's own operations on plain data that has been paid for."""
        try:
            return function(*args, **kwargs)
        except ZeroDivisionError:
            self._fail("this divides by zero")
        except LookupError:
            self._fail("there is no such entry")
        except _MISTAKES:
            given = " and ".join(_kind(each) for each in (*args, *kwargs.values()))
            self._fail(f"this can't be done with {given or 'nothing'}")

    # Statements

    def block(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        self._line = node.lineno
        self._pay(1)
        match node:
            case ast.Expr(value=value):
                self._value(value)
            case ast.Assign(targets=targets, value=value):
                result = self._value(value)
                for target in targets:
                    self._assign(target, result)
            case ast.AugAssign(
                target=ast.Subscript(value=holder, slice=index), op=op, value=value
            ) if not isinstance(index, ast.Slice):  # what is called in it is called once
                place, at = self._value(holder), self._value(index)
                old = self._entry(place, at)
                self._set_entry(place, at, self._binary(op, old, self._value(value), True))
            case ast.AugAssign(target=target, op=op, value=value):
                old = self._value(target)
                self._assign(target, self._binary(op, old, self._value(value), True))
            case ast.If(test=test, body=body, orelse=orelse):
                self.block(body if self._value(test) else orelse)
            case ast.While(test=test, body=body, orelse=orelse):
                if self._loop(body, iter(lambda: bool(self._value(test)), False)):
                    self.block(orelse)
            case ast.For(target=target, iter=iterated, body=body, orelse=orelse):
                if self._loop(body, self._assignments(target, iterated)):
                    self.block(orelse)
            case ast.Break():
                raise _Break
            case ast.Continue():
                raise _Continue

    def _loop(self, body: list[ast.stmt], rounds: Iterator[object]) -> bool:
        """Run the body once a round; whether all rounds were begun."""
        try:
            for _ in rounds:
                self._pay(1)
                try:
                    self.block(body)
                except _Continue:
                    continue
        except _Break:
            return False
        return True

    def _assignments(self, target: ast.expr, iterated: ast.expr) -> Iterator[None]:
        """Give the target one entry after the other; a list may change meanwhile."""
        value = self._value(iterated)
        entries = value if isinstance(value, list) else self._entries(value)
        at = 0
        while at < len(entries):
            self._pay(1)
            self._assign(target, entries[at])
            at += 1
            yield

    def _entries(self, value: Value) -> list[Any]:
        if isinstance(value, str | list | tuple | dict):
            self._pay(len(value))
        return cast("list[Any]", self._apply(_listed, value))

    def _assign(self, target: ast.expr, value: Value) -> None:
        match target:
            case ast.Name(id=name):
                self.names[name] = value
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                values = self._entries(value)
                if len(values) != len(targets):
                    self._fail(f"{len(targets)} values were expected, not {len(values)}")
                for each, one in zip(targets, values, strict=True):
                    self._assign(each, one)
            case ast.Subscript(value=holder, slice=index) if not isinstance(index, ast.Slice):
                self._set_entry(self._value(holder), self._value(index), value)
            case _:
                self._fail("this can't be given a value")

    def _set_entry(self, place: Value, at: Value, value: Value) -> None:
        if not isinstance(place, list | dict):
            self._fail(f"an entry of {_kind(place)} can't be set")
        self._weigh(at)
        self._apply(operator.setitem, place, at, value)

    # Expressions

    def _value(self, node: ast.expr) -> Value:
        self._line = node.lineno
        self._pay(1)
        match node:
            case ast.Constant(value=value):
                self._pay(len(value) if isinstance(value, str) else 0)
                return cast("Value", value)
            case ast.Name(id=name):
                if name not in self.names:
                    self._fail(f"the name {name!r} has no value")
                return self.names[name]
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
                return "".join([self._piece(each) for each in values])
            case ast.BinOp(left=left, op=op, right=right):
                return self._binary(op, self._value(left), self._value(right))
            case ast.UnaryOp(op=unary, operand=operand):
                return cast("Value", self._apply(_UNARY[type(unary)], self._value(operand)))
            case ast.BoolOp(op=ast.And(), values=values):
                return self._first(values, stop=False)
            case ast.BoolOp(values=values):
                return self._first(values, stop=True)
            case ast.Compare():
                return self._compare(node)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self._value(body if self._value(test) else orelse)
            case ast.Subscript(value=holder, slice=index):
                return self._entry(self._value(holder), self._index(index))
        raise ProgramError("a slice can't be used here", self._line)

    def _first(self, operands: list[ast.expr], *, stop: bool) -> Value:
        """`and` and `or`: the first operand that decides, or the last."""
        for operand in operands[:-1]:
            value = self._value(operand)
            if bool(value) is stop:
                return value
        return self._value(operands[-1])

    def _dict(self, keys: list[ast.expr | None], values: list[ast.expr]) -> dict[Any, Any]:
        made: dict[Any, Any] = {}
        for key, value in zip(keys, values, strict=True):
            name = self._value(cast("ast.expr", key))
            self._weigh(name)
            self._apply(operator.setitem, made, name, self._value(value))
        return made

    def _comprehension(self, element: ast.expr, generators: list[ast.comprehension]) -> list[Value]:
        outside = dict(self.names)
        self._pay(len(outside))
        made: list[Value] = []

        def fill(rest: list[ast.comprehension]) -> None:
            if not rest:
                made.append(self._value(element))
                return
            for _ in self._assignments(rest[0].target, rest[0].iter):
                if all(self._value(test) for test in rest[0].ifs):
                    fill(rest[1:])

        fill(generators)
        self.names = outside
        return made

    def _piece(self, node: ast.expr) -> str:
        """A part of an f-string."""
        if not isinstance(node, ast.FormattedValue):
            return cast("str", self._value(node))
        value = self._value(node.value)
        self._weigh(value)
        text = self._apply(str, value)
        self._pay(len(text))
        return cast("str", text)

    def _binary(self, op: ast.operator, left: Value, right: Value, in_place: bool = False) -> Value:
        """What an operator makes; a list may be changed in place, as by `+=`."""
        numbers = type(left) in _NUMBERS and type(right) in _NUMBERS
        match op:
            case ast.Pow() if numbers:
                self._check_power(left, right)
            case ast.Mult() if not numbers:
                times = next((one for one in (left, right) if type(one) is int), 0)
                self._pay(max(0, times) * (self._weigh(left) + self._weigh(right)))
            case ast.Add():
                self._pay(sum(len(one) for one in (left, right) if isinstance(one, _LOOPED)))
            case ast.Mod() if not numbers:  # '%999999999d' % 1
                self._fail(f"{_kind(left)} can't be formatted with %")
        operation = _ARITHMETIC[type(op)]
        if in_place and type(left) is list:
            operation = _IN_PLACE.get(type(op), operation)
        result = self._apply(operation, left, right)
        if type(result) is int and result.bit_length() > MAX_BITS:
            self._fail("the number is too big")
        if type(result) is complex:
            self._fail("the result is no real number")
        return cast("Value", result)

    def _check_power(self, base: Any, exponent: Any) -> None:
        """A power of integers must not even be begun if it is too big."""
        if type(exponent) is float or type(base) is float:
            return
        if abs(exponent) * max(1, abs(base).bit_length() - 1) > MAX_BITS and abs(base) > 1:
            self._fail("the number is too big")

    def _compare(self, node: ast.Compare) -> bool:
        left = self._value(node.left)
        for op, operand in zip(node.ops, node.comparators, strict=True):
            right = self._value(operand)
            if isinstance(op, ast.Is | ast.IsNot):
                if not any(one is None or type(one) is bool for one in (left, right)):
                    self._fail("'is' can only ask for None, True or False; use == instead")
            else:
                self._weigh(left, right)
            if not self._apply(_COMPARE[type(op)], left, right):
                return False
            left = right
        return True

    def _index(self, node: ast.expr) -> Value | slice:
        if not isinstance(node, ast.Slice):
            return self._value(node)
        bounds = (node.lower, node.upper, node.step)
        return slice(*(None if each is None else self._value(each) for each in bounds))

    def _entry(self, holder: Value, at: Value | slice) -> Value:
        if not isinstance(holder, str | list | tuple | dict):
            self._fail(f"{_kind(holder)} has no entries")
        if isinstance(at, slice):
            self._pay(len(holder))
        else:
            self._weigh(at)
        return cast("Value", self._apply(operator.getitem, holder, at))

    # Calls

    def _call(self, node: ast.Call) -> Value:
        line, called = node.lineno, node.func
        holder = self._value(called.value) if isinstance(called, ast.Attribute) else None
        args = [self._value(each) for each in node.args]
        kwargs = {str(each.arg): self._value(each.value) for each in node.keywords}
        self._line = line
        if isinstance(called, ast.Attribute):
            return self._call_method(called.attr, holder, args, kwargs)
        name = cast("ast.Name", called).id
        if name in self._functions:
            return self._call_given(name, args, kwargs)
        return self._call_built_in(name, args, kwargs)

    def _call_method(
        self, name: str, holder: Value, args: list[Value], kwargs: dict[str, Value]
    ) -> Value:
        method = _METHODS.get(type(holder), {}).get(name)
        if method is None:
            self._fail(f"{_kind(holder)} has no method .{name}()")
        self._check_keywords(name, kwargs)
        if name not in ("append", "pop"):  # they look at one entry only
            self._weigh(holder, *args, *kwargs.values())
        if name in ("replace", "join"):
            self._pay_for_growth(cast("str", holder), args)
        return self._made(self._apply(method, holder, *args, **kwargs))

    def _call_built_in(self, name: str, args: list[Value], kwargs: dict[str, Value]) -> Value:
        self._check_keywords(name, kwargs)
        weight = self._weigh(*args, *kwargs.values())
        if name == "sorted":
            self._pay(weight * weight.bit_length())
        result = self._apply(_BUILT_IN[name], *args, **kwargs)
        if type(result) is range:
            self._pay(self._apply(len, result))
            return list(result)
        return self._made(result)

    def _check_keywords(self, name: str, kwargs: dict[str, Value]) -> None:
        if not kwargs.keys() <= _KEYWORDS.get(name, frozenset()):
            self._fail(f"{name}() takes other arguments")

    def _made(self, result: Any) -> Value:
        """What one of Python's functions returned; the entries of a list were paid for before."""
        if type(result) in _SCALARS:
            self._weigh(result)
        return cast("Value", result)

    def _call_given(self, name: str, args: list[Value], kwargs: dict[str, Value]) -> Value:
        function = self._functions[name]
        self._pay(CALL_WORK)
        self._weigh(*args, *kwargs.values())
        try:
            inspect.signature(function).bind(*args, **kwargs)
        except TypeError:
            self._fail(f"{name}() takes other arguments")
        try:
            result = function(*args, **kwargs)
        except ProgramError as error:
            raise ProgramError(error.reason, error.line or self._line) from None
        self._weigh(result)
        return cast("Value", result)

    def _pay_for_growth(self, text: str, args: list[Value]) -> None:
        """`replace` and `join` can make a text many times as long: x.replace("", x), x.join(x)."""
        match args:
            case [str(old), str(new), *_]:
                self._pay(text.count(old) * len(new))
            case [str() | list() | tuple() | dict() as parts]:
                self._pay(len(text) * len(parts))
