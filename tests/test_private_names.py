"""Private names of other packages: which are used, each in one place, and that they still exist."""

import ast
import asyncio
import inspect
import re
from types import SimpleNamespace

import pytest
from support.projects import ROOT

from pytest_miniwob_agent.models.http import httpx
from pytest_miniwob_agent.models.requests import async_openai_client

PACKAGE = ROOT / "pytest_miniwob_agent"


def finds_fixtures(request):
    return "monkeypatch" in request.node._fixtureinfo.name2fixturedefs


def finds_ini_files(request):
    from _pytest.config.findpaths import determine_setup

    given = ("inifile", "override_ini", "args", "rootdir_cmd_arg", "invocation_dir")
    return not set(given) ^ inspect.signature(determine_setup).parameters.keys()


def names_platform(request):
    return async_openai_client(None, "m").platform_headers()["X-Stainless-OS"] == "Unknown"


def keeps_loop(request):
    from playwright._impl._sync_base import SyncBase

    loop = object()
    return SyncBase(SimpleNamespace(_loop=loop, _dispatcher_fiber=None))._loop is loop


def chooses_transport(request):
    with httpx.Client() as client:
        return isinstance(client._transport_for_url(httpx.URL("http://a")), httpx.HTTPTransport)


def exported(name):
    """Asyncio documents it, for those who implement loops and tasks."""
    return lambda request: name in asyncio.__all__


KNOWN = {
    "_fixtureinfo": ("plugin/collection.py", "pytest", finds_fixtures),
    "_pytest": ("plugin/reading.py", "pytest, with determine_setup", finds_ini_files),
    "_platform": ("models/requests.py", "openai's asynchronous client", names_platform),
    "_transport_for_url": ("models/http.py", "the client of httpx2, as respx", chooses_transport),
    "_loop": ("episode/__init__.py", "an object of Playwright", keeps_loop),
    **{
        name: ("episode/__init__.py", "asyncio", exported(name))
        for name in ("_enter_task", "_leave_task", "_get_running_loop", "_set_running_loop")
    },
}
"""Who uses a name, whose it is, and how that is tried."""


@pytest.mark.parametrize("name", KNOWN)
def test_a_private_name_is_still_there(request, monkeypatch, name):
    user, owner, tries = KNOWN[name]
    try:
        found = tries(request)
    except (AttributeError, ImportError, TypeError) as error:
        found = error
    assert found is True, f"{user} needs {name} of {owner}, which has changed: find another way"


def names_in(node):
    """The private names that a node of Python uses, and those that it defines."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [], [name]
        case ast.Attribute(ast.Name("self" | "cls"), name, ast.Store()):
            return [], [name]
        case ast.Name(name, ast.Store()):
            return [], [name]
        case ast.JoinedStr(parts):  # comes before its parts, of which the text may begin with _
            for part in parts:
                if isinstance(part, ast.Constant):
                    part.value = None
        case ast.Attribute(attr=name) | ast.Constant(str(name)):
            return [name], []
        case ast.ImportFrom(str(module), names):
            return [*module.split("."), *(each.name for each in names)], []
        case ast.Import(names):
            return [part for each in names for part in each.name.split(".")], []
    return [], []


def test_no_other_private_name_of_other_packages_is_used():
    used, defined = set(), {"_replace": set()}  # of named tuples, whose names are public
    for path in PACKAGE.rglob("*.py"):
        file = str(path.relative_to(PACKAGE))
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            uses, defines = names_in(node)
            used.update((name, file) for name in uses if re.fullmatch("_[a-z]\\w*", name))
            for name in defines:
                defined.setdefault(name, set()).add(file)
    foreign = {
        (name, file)
        for name, file in used
        if name not in defined or (name in KNOWN and file not in defined[name])
    }
    assert foreign == {(name, user) for name, (user, *_) in KNOWN.items()}
