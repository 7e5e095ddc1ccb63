"""Structure of the package: its layers, the maps of packages, and declared libraries."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from support.projects import ROOT

PACKAGE = ROOT / "pytest_miniwob_agent"
MODULES = {path: path.read_text("utf-8") for path in PACKAGE.rglob("*.py")}

OF_OTHERS = {"allure", "pytest_html", "httpx2", "playwright", "django"}
"""What comes with plugins of others that we report to, with a version of openai, with
pytest-playwright, which runs the tests that `show --as playwright` prints, and with pytest-django,
whose `live_server` we prepare."""


def test_how_it_works_lists_the_layers():
    config = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    layers = [set(re.findall(r"\w+", each)) for each in config["contracts"][0]["layers"]]
    text = (ROOT / "docs" / "how-it-works.md").read_text("utf-8")
    listed = re.search(r"Imports go downward only: (.*?)\.", text, re.S)[1].split(";")
    assert [set(re.findall(r"`(\w+)`", each)) for each in listed] == layers[1:]  # but __main__


def test_the_docstring_of_a_package_names_its_modules_and_packages():
    """Not that of the whole, which is for users: docs/how-it-works.md has the map."""
    left_out = []
    for path in PACKAGE.rglob("*/__init__.py"):
        docstring = ast.get_docstring(ast.parse(MODULES[path])) or ""
        names = [each.stem for each in path.parent.glob("*.py") if each != path]
        names += [each.parent.name for each in path.parent.glob("*/__init__.py")]
        left_out += [f"{path}: {name}" for name in names if f"`{name}`" not in docstring]
    assert left_out == []


def declared(*groups):
    """The distributions that pyproject.toml names: those of the package, and of these extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lines = [*project["dependencies"]]
    for group in groups:
        lines += project["optional-dependencies"][group]
    return {canonicalize_name(Requirement(each).name) for each in lines}


def test_each_library_that_is_imported_is_declared():
    """Not in `dev`, which users don't install."""
    imported = set()
    for text in MODULES.values():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                imported.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                imported.add(node.module)
    libraries = {name.split(".")[0] for name in imported} - {PACKAGE.name, *OF_OTHERS}
    projects = packages_distributions()
    assert [
        name
        for name in sorted(libraries - sys.stdlib_module_names)
        if declared("amazon", "otel", "mcp").isdisjoint(
            map(canonicalize_name, projects.get(name, []))
        )
    ] == []


def test_each_library_that_is_declared_is_used():
    """Imported, or found by the name of its module, as fonts are; pytest loads the plugin xdist."""
    used = set()
    for text in MODULES.values():
        used.update(*re.findall(r"(?:import|from) (\w+)|\"(\w+)\"", text))
    unused = declared()
    for name, projects in packages_distributions().items():
        if name in used:
            unused -= set(map(canonicalize_name, projects))
    assert unused == {"pytest-xdist"}
