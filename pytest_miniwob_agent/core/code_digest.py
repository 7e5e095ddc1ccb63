"""A digest of what a function does: of its syntax, and of what it uses of the user's project.

It is the same with every version of Python and at any place in the file: bytecode, `ast.dump` and
line numbers don't go into it. Values of modules are taken as they are written, as they may change
while tests run.
"""

from __future__ import annotations

import ast
import functools
import importlib.util
import site
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from pytest_miniwob_agent.core.data import digest

# The names of a module.
_Names = Mapping[str, Any]

_INSTALLED = (
    *(Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
    *map(Path, site.getsitepackages()),
    Path(__file__).parents[1],
)


def code_digest(function: Callable[..., Any]) -> str:
    """Return the digest of a function; empty if its source can't be found.

    It covers the function's own lines, its defaults, closure and bound arguments, and what it uses
    of its module and of others of the project: functions, classes and values.
    """
    seen: set[object] = set()
    try:
        found = digest("\n".join(_parts(function, seen)))
        return found if seen else ""
    except (OSError, ValueError, SyntaxError, LookupError):
        return ""


def _parts(value: Any, seen: set[object]) -> Iterator[str]:
    """Yield what makes up a value; what is neither code nor plain has the name of its type.

    `seen` are the definitions so far, as they may use each other.
    """
    if isinstance(value, functools.partial):
        yield from _parts((value.func, *value.args, *sorted(value.keywords.items())), seen)
    elif isinstance(value, MethodType):
        yield from _parts(value.__func__, seen)
    elif isinstance(value, FunctionType):
        yield from _parts_of_function(value, seen)
    elif isinstance(value, tuple | frozenset):
        found = ["\n".join(_parts(part, seen)) for part in value]
        yield from found if isinstance(value, tuple) else sorted(found)
    elif isinstance(value, str | bytes | int | float | None):
        yield repr(value)
    else:
        kind = value if isinstance(value, type) else type(value)
        yield kind.__qualname__
        if isinstance(call := getattr(kind, "__call__", None), FunctionType):  # noqa: B004
            yield from _parts_of_function(call, seen)


def _parts_of_function(function: FunctionType, seen: set[object]) -> Iterator[str]:
    code, names = function.__code__, function.__globals__
    if not is_of_project(names):
        yield f"{function.__module__}.{function.__qualname__}"
    elif code not in seen:
        seen.add(code)
        yield from _parts_of_node(_find_node(code), names, seen, code.co_freevars)
        kept = (cell.cell_contents for cell in function.__closure__ or ())
        keywords = sorted((function.__kwdefaults__ or {}).items())
        yield from _parts((*kept, *(function.__defaults__ or ()), *keywords), seen)


def _parts_of_node(
    node: ast.AST, names: _Names, seen: set[object], free: Sequence[str] = ()
) -> Iterator[str]:
    """Yield a tree, and what it uses of the module that has these names.

    Its own names, and those that are `free` in it, are no names of the module.
    """
    yield from _syntax(node)
    own = {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)}.union(free)
    for each in ast.walk(node):
        if isinstance(each, ast.Name) and each.id not in own:
            yield from _parts_of_name(each.id, names, seen)
        elif isinstance(each, ast.Attribute):
            module = names.get(getattr(each.value, "id", ""))
            if isinstance(module, ModuleType):
                yield from _parts_of_name(each.attr, vars(module), seen)


def _parts_of_name(name: str, names: _Names, seen: set[object]) -> Iterator[str]:
    key = names.get("__file__"), name
    if key in seen or not is_of_project(names):
        return
    seen.add(key)
    for node in _tree(str(names["__file__"])).body:
        match node:
            case ast.FunctionDef() | ast.ClassDef() if node.name == name:
                yield from _parts_of_node(node, names, seen)
            case ast.Assign() if any(_is_named(target, name) for target in node.targets):
                yield from _parts_of_node(node, names, seen)
            case ast.AnnAssign() if _is_named(node.target, name):
                yield from _parts_of_node(node, names, seen)
            case ast.ImportFrom():
                for alias in node.names:
                    if (alias.asname or alias.name) == name:
                        relative = "." * node.level + (node.module or "")
                        full = importlib.util.resolve_name(relative, names["__package__"])
                        yield from _parts_of_name(alias.name, vars(sys.modules[full]), seen)


def _is_named(target: ast.AST, name: str) -> bool:
    return any(isinstance(each, ast.Name) and each.id == name for each in ast.walk(target))


def is_of_project(names: _Names) -> bool:
    """True if a module with these names is the user's, and not installed."""
    file = names.get("__file__")
    return bool(file) and not any(Path(str(file)).is_relative_to(one) for one in _INSTALLED)


def _tree(file: str) -> ast.Module:
    return _parse(Path(file).read_text(encoding="utf-8"))


@lru_cache(maxsize=64)
def _parse(text: str) -> ast.Module:
    return ast.parse(text)


def _find_node(code: CodeType) -> ast.AST:
    places = [
        (line, column)
        for line, _, column, end in code.co_positions()
        if line is not None and column is not None and end
    ]
    found = []
    for node in ast.walk(_tree(code.co_filename)):
        # There may be several lambdas in a line: columns tell them apart.
        if isinstance(node, ast.Lambda) and code.co_name == "<lambda>":
            body = node.body
            first, last = (body.lineno, body.col_offset), (body.end_lineno, body.end_col_offset)
            if all(first <= place < last for place in places):
                found.append(node)
        elif isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            lines = [node.lineno, *(one.lineno for one in node.decorator_list)]
            if min(lines) == code.co_firstlineno:
                return node
    return found[-1]  # the innermost, as `walk` goes inwards


def _syntax(node: Any) -> Iterator[str]:
    if isinstance(node, ast.AST):
        yield type(node).__name__
        for name, part in ast.iter_fields(node):
            if isinstance(node, ast.JoinedStr):  # Python 3.12 has empty parts here
                part = [one for one in part if getattr(one, "value", None) != ""]
            # Newer versions of Python have further fields, which are empty here.
            if part not in (None, []) and name not in ("ctx", "kind"):
                yield name
                yield from _syntax(part)
    elif isinstance(node, list):
        for part in node:
            yield from _syntax(part)
        yield "]"
    else:
        yield repr(node)
