"""Runs without pytest's own plugins, and with those that retry, repeat or parametrize tests.

What is not installed for development has a stand-in, which does the same at the same hook.
"""

import json

import pytest
from projects import FAKE_PAGE, solve_menu

USED = ("capture", "logging", "debugging", "skipping", "terminal")
"""Plugins of pytest whose options or state we use."""

OTHERS = (
    "assertion", "cacheprovider", "doctest", "faulthandler", "junitxml", "legacypath",
    "monkeypatch", "pastebin", "recwarn", "setuponly", "setupplan", "stepwise", "subtests",
    "terminalprogress", "threadexception", "tmpdir", "unittest", "warnings", "xdist",
)  # fmt: skip


def fails_on_tabs(prompt):
    """A model that solves one task and not the other."""
    return "click id=3" if "for click-tab " in prompt and ">Save<" in prompt else solve_menu(prompt)


@pytest.mark.parametrize(
    "name", [*USED, *(pytest.param(name, marks=pytest.mark.sweep) for name in OTHERS)]
)
def test_a_run_ends_in_order_without_a_plugin_of_pytest(project, chat_server, name):
    chat_server.reply = fails_on_tabs

    def run(results, *args):
        """Return the outcomes. On the command line, the plugin's options are switched off too."""
        result = project.runpytest(
            f"-pno:{name}", "-k", "click-menu-2/ or click-tab/", "--miniwob-trials=1",
            f"--miniwob-results={results}.jsonl", *args,
        )  # fmt: skip
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        [file] = project.path.glob(f"{results}*.jsonl")
        return sorted(json.loads(line)["outcome"] for line in file.read_text().splitlines()[1:])

    recorded = run("base", "--miniwob-record=all", f"--miniwob-base-url={chat_server.url}")
    assert recorded == ["solved", "solved", "unsolved", "unsolved"]
    changed = FAKE_PAGE.replace("Open the", "{('Close', 'Open')[miniwob_case.seed % 2]} the")
    project.makeconftest(changed)
    more = ["--miniwob-seeds=1-3", "--miniwob-baseline=base.jsonl", "--miniwob-report=report"]
    found = run("new", *more)
    assert found == ["drifted", "drifted", "error", "error", "solved", "unsolved"]
    assert (project.path / "report/index.html").exists()
