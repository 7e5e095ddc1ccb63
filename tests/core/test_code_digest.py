"""The digest of a function, by which a recording knows the judge that judged it."""

import importlib
import sys

import pytest

from pytest_miniwob_agent.core.code_digest import code_digest

HELPERS = """
    LIMIT = 3
    UNUSED = 4

    class Shop:
        def open(self):
            return LIMIT

    def check(name):
        return len(name) < LIMIT
"""

JUDGES = """
    import functools
    import helpers
    from helpers import Shop, check

    NOTES = []
    WANTED = ["tea"]

    def has(name):
        return name in NOTES

    def judge(app, trial, *, most=3):
        f"{app!r:>{most}}"
        return has("tea") and helpers.check("tea") and WANTED

    def only(judge):
        return lambda app, trial: judge() if has("user") else -1

    class Callable:
        def __call__(self, app, trial):
            return Shop().open()

    FUNCTIONS = {
        "function": judge,
        "partial": functools.partial(judge, most=4),
        "closure": only(lambda: has("a")),
        "other closure": only(lambda: has("b")),
        "object": Callable(),
    }
"""

SAME_EVERYWHERE = {
    "function": "e34ec81969cb", "partial": "a68c71b82dee", "closure": "5e9edebbf2d6",
    "other closure": "db6b2331529b", "object": "25850a6d589c",
}  # fmt: skip
"""As every version of Python has them; tapes hold such digests."""


@pytest.fixture
def digests(pytester, monkeypatch):
    """Return the digests of the functions, after a text was replaced in a module."""
    monkeypatch.syspath_prepend(pytester.path)

    def read(module="judges", before="", after=""):
        sources = {"judges": JUDGES, "helpers": HELPERS}
        assert before in sources[module]
        sources[module] = sources[module].replace(before, after)
        pytester.makepyfile(**sources)
        for name in sources:
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "dont_write_bytecode", True)
            found = importlib.import_module("judges").FUNCTIONS
        return {name: code_digest(function) for name, function in found.items()}

    yield read
    for name in ("judges", "helpers"):
        sys.modules.pop(name, None)


def test_they_are_the_same_with_every_python_and_wherever_the_code_stands(digests):
    assert digests() == SAME_EVERYWHERE
    assert (
        digests(before="NOTES = []", after="\n    # A comment\n    NOTES = []") == SAME_EVERYWHERE
    )
    assert digests("helpers", "UNUSED = 4", "UNUSED = 5") == SAME_EVERYWHERE


@pytest.mark.parametrize(("module", "before", "after", "changed"), [
    ("judges", 'has("tea")', 'has("rice")', {"function", "partial"}),
    ("judges", "most=3", "most=2", {"function", "partial"}),
    ("judges", "most=4", "most=5", {"partial"}),
    ("judges", '["tea"]', '["tea", ""]', {"function", "partial"}),
    ("judges", 'has("a")', 'has("c")', {"closure"}),
    ("judges", "else -1", "else 0", {"closure", "other closure"}),
    ("judges", "in NOTES", "not in NOTES", {"function", "partial", "closure", "other closure"}),
    ("helpers", "len(name) < LIMIT", "True", {"function", "partial"}),
    ("helpers", "LIMIT = 3", "LIMIT = 4", {"function", "partial", "object"}),
])  # fmt: skip
def test_what_a_function_does_and_uses_changes_its_digest(digests, module, before, after, changed):
    then, now = digests(), digests(module, before, after)
    assert {name for name in then if then[name] != now[name]} == changed


def test_a_function_without_a_source_has_none():
    assert code_digest(len) == code_digest(eval("lambda: 1")) == ""
