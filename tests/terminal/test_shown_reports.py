"""Errors that are shown once for each cause."""

import pytest
from projects import FAKE_PAGE


def test_missing_cassettes_are_one_error_with_the_command_that_records_all(project):
    result = project.runpytest("--junitxml=junit.xml")
    assert result.parseoutcomes() == {"errors": 12}
    result.stdout.fnmatch_lines(
        [
            "there is no cassette cassettes/reflective/m/click-menu-2/1.yaml",
            "12 items with this error:",
            "    1-screen-1-step/click-tab/1",
            "    and 9 more (all with -v)",
            "Record them with: pytest *--miniwob-record=new_episodes",
        ]
    )
    assert len([line for line in result.outlines if line.startswith("ERROR ")]) == 1
    assert len(result.outlines) < 40
    assert (project.path / "junit.xml").read_text().count("Record it with: ") == 12


def test_every_cause_is_shown_and_all_its_items_with_v(project):
    project.makeconftest(
        FAKE_PAGE
        + """
    class Buggy:
        name = "buggy"

        def solve(self, env, llm, note):
            1 / 0

    @pytest.fixture
    def miniwob_agent(miniwob_agent, miniwob_case):
        return Buggy() if miniwob_case.seed == 2 else miniwob_agent
"""
    )
    result = project.runpytest("-v")
    assert result.parseoutcomes() == {"errors": 12}
    result.stdout.fnmatch_lines_random(
        ["there is no cassette*", "E * ZeroDivisionError: division by zero"]
    )
    assert result.outlines.count("6 items with this error:") == 2
    assert [line for line in result.outlines if line == "    other/click-tab-2-medium/2"]


def test_tb_line_is_one_line_an_unsolved_item(project):
    project.makeconftest(
        FAKE_PAGE
        + """
    from pytest_miniwob_agent.testing import ScriptedLLM

    @pytest.fixture
    def miniwob_llm():
        return ScriptedLLM(["click id=1", "Opened.", "click id=3"])
"""
    )
    result = project.runpytest("--tb=line", "--miniwob-trials=1", "-k", "click-menu-2")
    begin = next(n for n, line in enumerate(result.outlines) if "= FAILURES =" in line)
    first, second, after = result.outlines[begin + 1 : begin + 4]
    assert first.endswith(": FAILED in trial 1, best reward -1")
    assert second.endswith(": FAILED in trial 1, best reward -1")
    assert after.startswith("====")


def test_drift_without_tracebacks_is_shown_and_the_last_line_is_red(record):
    record.makeconftest(FAKE_PAGE.replace('"Menu"', '"Menus"'))
    result = record.runpytest("-k", "click-menu-2/1", "--color=yes", "--tb=no")
    text = result.stdout.str()
    assert "1 item no longer fits the recorded model calls:" in text
    assert "\x1b[31m\x1b[1m1 drifted\x1b[0m\x1b[31m in " in result.outlines[-1]
    assert "\x1b[32m" not in result.outlines[-1]


def test_the_last_line_of_a_failed_gate_is_red_and_names_it(record):
    run = ["--color=yes", "-k", "click-menu-2"]
    record.runpytest(*run, "--miniwob-results=base.jsonl")
    base = record.path / "base.jsonl"
    base.write_text(base.read_text().replace("click-menu-2", "click-menu"))
    result = record.runpytest(*run, "--miniwob-baseline=base.jsonl")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert result.outlines[-1].startswith("\x1b[31m===")
    assert "\x1b[31m\x1b[1mgate failed\x1b[0m\x1b[31m in " in result.outlines[-1]
