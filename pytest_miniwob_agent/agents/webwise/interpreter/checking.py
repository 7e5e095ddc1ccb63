"""The language: its statements and expressions, and a check that a program uses no others."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Mapping
from typing import Any

from pytest_miniwob_agent.agents.webwise.interpreter.errors import ProgramError
from pytest_miniwob_agent.agents.webwise.interpreter.functions import BUILT_IN, METHODS
from pytest_miniwob_agent.agents.webwise.interpreter.values import MAX_BITS, MAX_NESTING, SCALARS

MAX_SOURCE = 10_000
"""Characters of a program."""

MAX_LOOPS = 4
"""Loops of one comprehension."""

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
    waiting: list[tuple[ast.AST, int, int]] = [(tree, 0, 1)]
    while waiting:
        node, depth, line = waiting.pop()
        line = getattr(node, "lineno", line)
        if depth > MAX_NESTING:
            raise ProgramError(_DEEP)
        _check(node, line, functions)
        for child in reversed(list(ast.iter_child_nodes(node))):
            # The name of a called function or method is checked with the call.
            if not (isinstance(node, ast.Call) and child is node.func):
                waiting.append((child, depth + 1, line))
            elif isinstance(child, ast.Attribute):
                waiting.append((child.value, depth + 1, line))
    _check_jumps(tree.body, in_loop=False)
    return tree.body


def _check_jumps(statements: list[ast.stmt], *, in_loop: bool) -> None:
    """Refuse `break` and `continue` outside loops, also where nothing reaches them."""
    for statement in statements:
        match statement:
            case ast.Break() | ast.Continue() if not in_loop:
                raise ProgramError("break and continue belong into a loop")
            case ast.For(body=body, orelse=orelse) | ast.While(body=body, orelse=orelse):
                _check_jumps(body, in_loop=True)
                _check_jumps(orelse, in_loop=in_loop)
            case ast.If(body=body, orelse=orelse):
                _check_jumps(body, in_loop=in_loop)
                _check_jumps(orelse, in_loop=in_loop)


def _check(node: ast.AST, line: int, functions: Mapping[str, Any]) -> None:
    """Refuse a node that is not in the language; the nodes below it are checked separately."""
    match node:
        case ast.Attribute(attr=name):
            raise ProgramError(f"the attribute .{name} can't be used here", line)
        case _ if type(node) in _WORDS:
            raise ProgramError(f"{_WORDS[type(node)]} can't be used here", line)
        case _ if not isinstance(node, _STATEMENTS + _EXPRESSIONS + _PARTS):
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
            if _has_text(value):
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


def _has_text(expression: ast.expr) -> bool:
    """True if an expression contains a literal text."""
    return any(
        isinstance(node, ast.JoinedStr)
        or (isinstance(node, ast.Constant) and isinstance(node.value, str))
        for node in ast.walk(expression)
    )
