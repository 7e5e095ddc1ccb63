"""Change a module in one place after the other, and print the changes that no test notices.

    make mutate MODULE=pytest_miniwob_agent/results/gate.py TESTS="tests/results -n2" COUNT=20

Only a copy of the repository is changed. TESTS are what pytest gets, without it the folder of tests
for the module's package. COUNT places are drawn at random, always the same ones; 0 takes all. What
survives shows a hole in these tests, or makes no difference that anybody could notice.

mutmut 3 is not for these tests, as it breaks each process in another folder and leaves out
functions with decorators; Cosmic Ray has no choice of places, and makes 813 changes of this module.
"""

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
OTHER = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.In: "not in", ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is",
    ast.Add: "-", ast.Sub: "+", ast.And: "or", ast.Or: "and",
}  # fmt: skip


class Changes(ast.NodeVisitor):
    """The changes of a source: where each begins and ends in its bytes, its line, old and new."""

    def __init__(self, source):
        self._source, self.found = source.encode(), []
        self._starts = [0]
        for line in self._source.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                for statement in node.body:
                    self.visit(statement)

    def visit_FunctionDef(self, node):
        """Leave out a function within another, which has its own turn."""

    visit_AsyncFunctionDef = visit_ClassDef = visit_FunctionDef
    visit_JoinedStr = visit_FunctionDef  # before Python 3.12 its parts have no places

    def generic_visit(self, node):
        """Note the change of a node, and visit what is below it."""
        new = self._changed(node)
        if new is not None and new != (old := self._text(node)):
            start, end = self._span(node)
            self.found.append((start, end, node.lineno, old, new))
        super().generic_visit(node)

    def _span(self, node):
        return (
            self._starts[node.lineno - 1] + node.col_offset,
            self._starts[node.end_lineno - 1] + node.end_col_offset,
        )

    def _text(self, node):
        return self._source[slice(*self._span(node))].decode()

    def _changed(self, node):
        match node:
            case ast.Compare(left, [operator], [right]):
                return f"{self._text(left)} {OTHER[type(operator)]} {self._text(right)}"
            case ast.BinOp(left, ast.Add() | ast.Sub() as operator, right):
                return f"{self._text(left)} {OTHER[type(operator)]} {self._text(right)}"
            case ast.BoolOp(operator, values):
                parts = f" {OTHER[type(operator)]} ".join(f"({self._text(v)})" for v in values)
                return f"({parts})"
            case ast.UnaryOp(ast.Not(), operand):
                return f"bool({self._text(operand)})"
            case ast.IfExp(body=body):
                return f"({self._text(body)})"
            case ast.Constant(bool(value)):
                return str(not value)
            case ast.Constant(int(value) | float(value)):
                return repr(value + 1)
            case ast.Expr(ast.Call()) | ast.AugAssign() | ast.Continue() | ast.Raise():
                return "pass"
            case ast.Assign([ast.Attribute() | ast.Subscript()]):
                return "pass"
            case ast.Return(ast.expr()):
                return "return None"
        return None


def copied(folder):
    """Copy what git knows or may add, and link what is large and stays as it is."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    for name in (".cache", ".venv"):
        (folder / name).symlink_to(ROOT / name)


def failure(folder, tests, seconds=None):
    """Run tests in the copy; the first that fails, None if all pass."""
    command = [sys.executable, "-m", "pytest", "-qx", "--failed-first", "-pno:randomly"]
    try:
        result = subprocess.run(
            [*command, "-m", "not sweep", "--tb=no", *tests],
            cwd=folder, env=os.environ | {"PYTHONPATH": str(folder)}, timeout=seconds,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "no end"
    lines = result.stdout.splitlines()
    named = (line for line in lines if line.startswith(("FAILED", "ERROR")))
    return next(named, "no run") if result.returncode else None


def main():
    """Print each change and what notices it, and at last those that nothing notices."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("module")
    parser.add_argument("tests", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    module = Path(given.module)
    tests = given.tests or [str(Path("tests", *module.parent.parts[1:]))]
    source = (ROOT / module).read_text("utf-8")
    places = Changes(source).found
    if given.count and given.count < len(places):
        places = sorted(random.Random(0).sample(places, given.count))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copied(folder)
        began = time.monotonic()
        if failed := failure(folder, tests):
            sys.exit(f"without a change: {failed}")
        seconds = 60 + 5 * (time.monotonic() - began)
        survived = []
        for start, end, line, old, new in places:
            content = source.encode()
            (folder / module).write_bytes(content[:start] + new.encode() + content[end:])
            failed = failure(folder, tests, seconds)
            change = " ".join(f"{module}:{line}: {old} => {new}".split())
            print(f"{failed or 'SURVIVED'} <- {change}", flush=True)
            survived += [] if failed else [change]
    print(f"{len(survived)} of {len(places)} changes survived", *survived, sep="\n")


if __name__ == "__main__":
    main()
