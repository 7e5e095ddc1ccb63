"""Structure of the package: the sizes of functions and modules."""

import ast

from projects import ROOT

PACKAGE = ROOT / "pytest_miniwob_agent"
MODULES = sorted(PACKAGE.rglob("*.py"))
SCRIPTS = sorted(PACKAGE.rglob("*.js"))

FUNCTION_LINES = 60
MODULE_LINES = 450


def test_no_function_has_more_than_60_lines():
    assert [
        f"{module.relative_to(ROOT)}: {node.name}"
        for module in MODULES
        for node in ast.walk(ast.parse(module.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno - node.lineno >= FUNCTION_LINES
    ] == []


def test_no_module_has_more_than_450_lines():
    assert [
        str(module.relative_to(ROOT))
        for module in [*MODULES, *SCRIPTS]
        if len((text := module.read_text("utf-8")).splitlines()) > MODULE_LINES
        and "In one file because" not in text
    ] == []
