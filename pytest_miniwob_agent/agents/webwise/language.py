"""The language of programs: what it has of Python, and the check that a program uses no more."""

from __future__ import annotations

import ast
import operator
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from pytest_miniwob_agent.agents.webwise.functions import BUILT_IN, MAX_BITS, METHODS, SCALARS

MAX_SOURCE = 10_000
"""Characters of a program."""

MAX_NESTING = 60
"""Depth of statements and expressions in each other, and of lists in lists."""

MAX_LOOPS = 4
"""Loops of one comprehension."""

_UNREADABLE = "this is no valid Python"
_DEEP = "the program is nested too deep"
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
_OTHER_WORDS = {
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


class ProgramError(Exception):
    """The program is not in the language, failed, or asked for too much.

    A function that a program is given may raise it too; the line is then filled in.
    """

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason if len(reason) <= 300 else reason[:300] + "…"
        self.line = line

    def __str__(self) -> str:
        return self.reason if self.line is None else f"line {self.line}: {self.reason}"


def parse(source: str, functions: Mapping[str, Any]) -> list[ast.stmt]:
    """Read a program into its statements.

    Raises:
        ProgramError: it is not Python, or a part of it is not in the language.
    """
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
    waiting: list[tuple[ast.AST, int, int, bool]] = [(tree, 0, 1, False)]
    while waiting:
        node, depth, line, in_loop = waiting.pop()
        line = getattr(node, "lineno", line)
        if depth > MAX_NESTING:
            raise ProgramError(_DEEP)
        if isinstance(node, ast.Break | ast.Continue) and not in_loop:
            raise ProgramError("break and continue belong into a loop")
        _check(node, line, functions)
        for child in reversed(list(ast.iter_child_nodes(node))):
            if isinstance(node, ast.Call) and child is node.func:  # which is checked with the call
                if not isinstance(child, ast.Attribute):
                    continue
                child = child.value
            loops = isinstance(node, ast.For | ast.While) and child not in node.orelse
            waiting.append((child, depth + 1, line, in_loop or loops))
    return tree.body


def _check(node: ast.AST, line: int, functions: Mapping[str, Any]) -> None:
    """Refuse a node that is not in the language; the nodes below it are checked separately."""
    match node:
        case ast.Attribute(attr=name):
            raise ProgramError(f"the attribute .{name} can't be used here", line)
        case _ if type(node) in _OTHER_WORDS:
            raise ProgramError(f"{_OTHER_WORDS[type(node)]} can't be used here", line)
        case _ if not isinstance(node, _NODES):
            raise ProgramError(_UNREADABLE)  # what only some versions of Python can read
        case ast.Call(func=ast.Name(id=name)):
            if name not in functions and name not in BUILT_IN:
                raise ProgramError(f"there is no function {name}()", line)
        case ast.Call(func=ast.Attribute(attr=name)):
            if not any(name in methods for methods in METHODS.values()):
                raise ProgramError(f"there is no method .{name}()", line)
        case ast.Call():
            raise ProgramError("only a function can be called by its name", line)
        case ast.Name(id=name, ctx=context):
            if name.startswith("__"):
                raise ProgramError(f"the name {name} can't be used here", line)
            if name in functions or name in BUILT_IN:
                how = "called" if isinstance(context, ast.Load) else "left as it is"
                raise ProgramError(f"{name} is a function: it can only be {how}", line)
        case ast.Constant(value=value) if type(value) not in SCALARS:
            raise ProgramError(f"a value of the type {type(value).__name__} can't be used", line)
        case ast.Constant(value=int(number)) if number.bit_length() > MAX_BITS:
            raise ProgramError("the number is too big", line)
        case ast.FormattedValue(value=value, format_spec=spec, conversion=conversion):
            if any(
                isinstance(inner, ast.JoinedStr) or _is_text(inner) for inner in ast.walk(value)
            ):
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


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
