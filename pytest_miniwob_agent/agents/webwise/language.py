"""The language of programs: what it has of Python, and the check that a program uses no more."""

from __future__ import annotations

import ast
import operator
import warnings
from collections.abc import Callable, Mapping
from typing import Any

MAX_SOURCE = 10_000
"""Characters of a program."""

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

_NODES = (
    ast.Expr, ast.Assign, ast.AugAssign, ast.If, ast.For, ast.While, ast.Break, ast.Continue,
    ast.Pass, ast.Constant, ast.Name, ast.Call, ast.JoinedStr, ast.FormattedValue, ast.BinOp,
    ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Subscript, ast.Slice, ast.List, ast.Tuple,
    ast.Dict, ast.ListComp, ast.GeneratorExp, ast.Module, ast.comprehension, ast.keyword,
    ast.expr_context, ast.boolop, *OPERATORS,
)  # fmt: skip

_UNREADABLE = "this is no valid Python"


class ProgramError(Exception):
    """The program is not in the language, failed, or asked for too much.

    A function that a program is given may raise it too; `interpret` says in which line.
    """


def parse(source: str, functions: Mapping[str, Any]) -> list[ast.stmt]:
    """Read a program, which may call these functions, into its statements.

    Raises:
        ProgramError: it is not Python, or a part of it is not in the language.
    """
    if len(source) > MAX_SOURCE:
        raise ProgramError(f"the program has {len(source)} characters; {MAX_SOURCE} are allowed")
    try:
        with warnings.catch_warnings():  # of escapes that Python is going to refuse, and the like
            warnings.simplefilter("ignore")
            tree = ast.parse(source, feature_version=(3, 11))  # the same under all versions
    except (MemoryError, RecursionError):
        raise ProgramError("the program is nested too deep") from None
    except (SyntaxError, ValueError, OverflowError):
        raise ProgramError(_UNREADABLE) from None
    waiting: list[tuple[ast.AST, int, int, bool]] = [(tree, 0, 1, False)]
    while waiting:
        node, depth, line, in_loop = waiting.pop()
        line = getattr(node, "lineno", line)
        if depth > MAX_NESTING:
            raise ProgramError("the program is nested too deep")
        if problem := _problem(node, functions, in_loop):
            raise ProgramError(f"line {line}: {problem}")
        depth += 1 + len(getattr(node, "generators", ()))
        for child in reversed(list(ast.iter_child_nodes(node))):
            if isinstance(node, ast.Call) and child is node.func:  # which is checked with the call
                if not isinstance(child, ast.Attribute):
                    continue
                child = child.value
            loops = isinstance(node, ast.For | ast.While) and child not in node.orelse
            waiting.append((child, depth, line, in_loop or loops))
    return tree.body


def _problem(node: ast.AST, functions: Mapping[str, Any], in_loop: bool) -> str | None:
    """Say why a node is not in the language; the nodes below it are checked separately."""
    match node:
        case ast.Call(func=ast.Name(id=name)) if name not in functions:
            return f"there is no function {name}()"
        case ast.Call(func=func) if not isinstance(func, ast.Name | ast.Attribute):
            return "only a function can be called by its name"
        case ast.Name(id=name, ctx=context) if name in functions:
            how = "called" if isinstance(context, ast.Load) else "left as it is"
            return f"{name} is a function: it can only be {how}"
        case ast.Constant(value=value) if type(value) not in SCALARS:
            return f"a value of the type {type(value).__name__} can't be used"
        case ast.Constant(value=int(number)) if number.bit_length() > MAX_BITS:
            return "the number is too big"
        case ast.FormattedValue(value=value, format_spec=spec, conversion=conversion):
            if any(
                isinstance(inner, ast.JoinedStr) or _is_text(inner) for inner in ast.walk(value)
            ):
                raise ProgramError(_UNREADABLE)  # which quotes it may have is up to the version
            if spec is not None or conversion not in (-1, ord("s")):
                return "a format in an f-string can't be used here"
        case ast.keyword(arg=None) | ast.comprehension(is_async=1):
            return "** and async can't be used here"
        case ast.Dict(keys=keys) if None in keys:
            return "** and async can't be used here"
        case ast.Break() | ast.Continue() if not in_loop:
            return "break and continue belong in a loop"
        case _ if not isinstance(node, _NODES):
            return f"{type(node).__name__} can't be used here"
    return None


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
