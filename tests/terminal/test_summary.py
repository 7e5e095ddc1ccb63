"""The terminal of a run: the status of each item, transcripts of failures, a table at the end."""

import re

import pytest
from support.projects import FAKE_PAGE, suite_source
from support.sweeps import swept

from pytest_miniwob_agent.core.text import (
    command_lines,
    sanitize_line,
    sanitize_lines,
    shorten,
    shorten_lines,
)

HOSTILE = re.compile("\x1b|\u202e|[\ud800-\udfff]|^ *::", re.M)


@pytest.fixture
def run(project, chat_server, monkeypatch):
    """Record three items: one is solved at once, one in its second trial, one never."""
    monkeypatch.setenv("COLUMNS", "80")

    def reply(prompt):
        if "Answer with one line of this form" in prompt:
            return f"For action index=1, you should click id={2 if 'menu-2 2' in prompt else 3}."
        if "Say in one short sentence" in prompt:
            return "The menu was opened."
        if ">Save" in prompt:
            return "click id=2" if "menu-2 1" in prompt else "click id=3"
        return "click id=1"

    chat_server.reply = reply

    def run(*args):
        return project.record("-k", "click-menu-2 or click-tab/1", "--miniwob-trials=3", *args)

    return run


def steady(lines):
    lines = [re.sub(r" --miniwob-base-url=\S+", "", line) for line in lines]
    return [re.sub(r"\d+\.\d s\b", "0.0 s", line).rstrip() for line in lines]


def between(result, first, last):
    lines = steady(result.outlines)
    begin = next(number for number, line in enumerate(lines) if line.startswith(first))
    more = next(n for n, line in enumerate(lines[begin:]) if line.startswith(last))
    return lines[begin : begin + more]


def test_a_verbose_line_shows_the_outcome_of_the_item_and_its_cost(run):
    result = run("-v")
    test = "test_x.py::test_solves"
    assert between(result, test, "====")[:3] == [
        f"{test}[n-screen-n-step/click-menu-2/1] solved@1  3 calls, 2 steps, 0.0 s [ 33%]",
        f"{test}[n-screen-n-step/click-menu-2/2] solved@2  4 calls, 4 steps, 0.0 s [ 66%]",
        f"{test}[1-screen-1-step/click-tab/1] FAILED  7 calls, 6 steps, 0.0 s [100%]",
    ]
    assert result.parseoutcomes() == {"passed": 2, "failed": 1, "deselected": 9}


TABLE = [
    "category         solved   T=1   T=3  calls  steps  tokens",
    "1-screen-1-step     0/1     0     0      7      6      98",
    "n-screen-n-step     2/2    50   100      7      6      98",
    "all                 2/3  33.3  66.7     14     12     196",
]

END = [
    "=================================== FAILURES ===================================",
    "___________________ test_solves[1-screen-1-step/click-tab/1] ___________________",
    "FAILED in trial 3, best reward -1",
    "item: 1-screen-1-step/click-tab/1, reflective with m",
    "goal: Open the menu and click Save, for click-tab 1",
    "trial 1: FAILED, reward -1",
    "  reflection: action 1 should be click id=3",
    "trial 2: FAILED, reward -1",
    "  reflection: action 1 should be click id=3",
    "trial 3: FAILED, reward -1",
    "  0. click id=1",
    "  1. click id=3  -> reward -1",
    "last screen:",
    '  <button id="1" pos="top-left">Menu</button>',
    '  <a id="2" pos="top-left">Save</a>',
    '  <a id="3" pos="top-left">Quit</a>',
    "all of it: miniwob-agent show 1-screen-1-step/click-tab/1 -- test_x.py::test_solves "
    "--miniwob-trials=3",
    "============================== MiniWoB++ episodes ==============================",
    *TABLE,
    "T=n: percent of the items solved in at most n trials",
    "model calls: 0 replayed, 14 recorded",
    "tokens: 196 spent, 0 avoided",
    "money: unknown, as miniwob_prices has no m",
    "=========================== short test summary info ============================",
    "FAILED test_x.py::test_solves[1-screen-1-step/click-tab/1] - FAILED in trial ...",
]


def test_the_end_of_a_run_fits_80_columns(run):
    assert between(run("--color=no"), END[0], "================== 1 failed") == END


def test_a_narrow_terminal_lacks_the_last_column_and_the_table_is_coloured(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")
    lines = run("--miniwob-prices=m 100 1000", "--color=yes").outlines
    bold, green, yellow = "\x1b[1m", "\x1b[32m", "\x1b[33m"
    begin = next(n for n, line in enumerate(lines) if line.startswith(f"{bold}category"))
    table = zip([bold, yellow, green, yellow], TABLE, strict=True)
    assert lines[begin : begin + 8] == [
        *(f"{colour}{line[:-8].rstrip()}\x1b[0m" for colour, line in table),
        "T=n: percent of the items solved in at most n trials",
        "model calls: 0 replayed, 14 recorded",
        "tokens: 196 spent, 0 avoided",
        "money: $0.057 spent, $0.00 avoided",
    ]


def test_quiet_shows_failures_but_no_table(run):
    lines = run("-q").outlines
    assert lines[0].startswith("..F")
    assert not [line for line in lines if line.startswith(("category", "model calls"))]
    assert "FAILED in trial 3, best reward -1" in lines


def test_each_agent_has_a_table(project):
    project.makeconftest(
        FAKE_PAGE
        + """
    from pytest_miniwob_agent import Click
    from pytest_miniwob_agent.testing import ScriptedLLM

    class Plain:
        def __init__(self, name, element):
            self.name, self.element = name, element

        def solve(self, env, llm, note):
            env.reset()
            env.step(Click(1))
            env.step(Click(self.element))

    @pytest.fixture
    def miniwob_llm():
        return ScriptedLLM([])

    @pytest.fixture(params=[2, 3])
    def miniwob_agent(request):
        return Plain("\x1b[2Jgood" if request.param == 2 else "bad", request.param)
"""
    )
    lines = project.runpytest("-k", "click-menu-2", "--miniwob-trials=1").outlines
    begin = lines.index("bad with scripted")
    assert lines[begin - 3 : begin + 3] == [
        "[2Jgood with scripted",
        "category         solved  T=1  calls  steps  tokens",
        "n-screen-n-step     2/2  100      0      4       0",
        "bad with scripted",
        "category         solved  T=1  calls  steps  tokens",
        "n-screen-n-step     0/2    0      0      4       0",
    ]


def test_other_assertions_keep_their_text_and_have_a_transcript(project, run):
    project.makepyfile(
        """
        import pytest

        @pytest.mark.miniwob("click-tab", "click-menu-2", seeds=[1])
        def test_is_cheap(miniwob_episode):
            calls = miniwob_episode.calls
            assert calls < 3
        """
    )
    result = run("-v")
    lines = result.outlines
    assert "E       assert 7 < 3" in lines
    result.stdout.fnmatch_lines(["*click-menu-2/1] assertion  3 calls, 2 steps, *"])
    begun = [n for n, line in enumerate(lines) if "MiniWoB++ transcript" in line]
    verdicts = [lines[begin + 1] for begin in begun]
    assert verdicts == ["FAILED in trial 3, best reward -1", "solved in trial 1"]


def test_errors_are_shown_once_per_cause_with_the_command_that_records_all(project):
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
    result = project.runpytest("--junitxml=junit.xml")
    assert result.parseoutcomes() == {"errors": 12}
    result.stdout.fnmatch_lines(
        [
            "*= MiniWoB++ missing cassettes =*",
            "6 items have no cassette:",
            "    6 reflective with m",
            "        1-screen-1-step/click-tab/1",
            "        and 3 more (all with -v)",
            "Record them with:",
            "pytest *",
            "    *--miniwob-record=new_episodes",
            "*= MiniWoB++ errors =*",
            "ZeroDivisionError: division by zero",
            "6 items with this error:",
        ]
    )
    result.stdout.no_fnmatch_line("*there is no cassette*")
    assert (project.path / "junit.xml").read_text().count("Record it with: ") == 6
    assert "        other/click-tab-2-medium/2" in project.runpytest("-v").outlines


@pytest.mark.parametrize("args", [*swept(["-n1", "-q"]), ["-rE"]], ids=" ".join)
def test_missing_cassettes_of_several_agents_are_one_block(project, monkeypatch, args):
    agents = 'seeds=range(4), agents=["reflective", "tools"]'
    project.makepyfile(suite_source(f'"click-menu-2", "click-tab*", {agents}'))
    for model in ("claude", "gpt-5", "llama-3.3-70b-instruct", "qwen3-coder-480b-a35b-instruct"):
        (project.path / "cassettes" / "reflective" / model).mkdir(parents=True)
    monkeypatch.setenv("COLUMNS", "80")
    result = project.runpytest(*args)
    assert result.parseoutcomes() == {"errors": 48}
    block = [line for line in result.outlines if "=" not in line or "-record" in line]
    begin = block.index("48 items have no cassette:")
    assert block[begin : begin + 13] == [
        "48 items have no cassette:",
        "    24 reflective with m; recorded with claude, gpt-5, llama-3.3-70b-instruct,",
        "      qwen3-coder-480b-a35b-instruct (--miniwob-model)",
        "        reflective/m/1-screen-1-step/click-tab/0",
        "        reflective/m/1-screen-1-step/click-tab/1",
        "        reflective/m/1-screen-1-step/click-tab/2",
        "        and 21 more (all with -v)",
        "    24 tools with m",
        "        tools/m/1-screen-1-step/click-tab/0",
        "        tools/m/1-screen-1-step/click-tab/1",
        "        tools/m/1-screen-1-step/click-tab/2",
        "        and 21 more (all with -v)",
        "Record them with:",
    ]
    assert len(result.outlines) < 35


EVIL = "\\x1b[2J\\ud800\\u202e\\n::error::x"
"""Text that moves the cursor and would be a command to GitHub's runner, as Python writes it."""

EVIL_PAGE = FAKE_PAGE.replace('"Menu"', f'"Menu{EVIL}"').replace(
    "Open", EVIL.replace("\\ud800", "")
)


@pytest.mark.parametrize("workers", ["-n0", *swept("-n1")])
def test_no_text_of_a_page_or_a_model_moves_the_cursor(project, run, chat_server, workers):
    project.makeconftest(EVIL_PAGE)
    solve = chat_server.reply

    def reply(prompt):
        if "menu-2 1" in prompt:
            return "\x1b[2J\u202e\n::error::"
        if "menu-2 2" in prompt:
            return {"choices": [], "id": "\x1b[2J\u202e"}
        return solve(prompt)

    chat_server.reply = reply
    result = run(workers, "-v")
    assert {"failed": 2, "errors": 1}.items() <= result.parseoutcomes().items()
    assert between(result, "____", "all of it")
    assert not HOSTILE.search(result.stdout.str())


def test_no_text_of_a_drift_report_moves_the_cursor(project, run):
    run()
    evil = "\\x1b[2J\\u202e"
    project.makeconftest(FAKE_PAGE.replace('"Menu"', f'"Menu{evil}"'))
    result = run("--miniwob-record=none", "-v")
    assert result.parseoutcomes() == {"drifted": 3, "deselected": 9}
    result.stdout.fnmatch_lines(["3 items no longer fit the recorded model calls:"])
    assert "[2J" in result.stdout.str()
    assert not HOSTILE.search(result.stdout.str())


def test_foreign_text_is_made_harmless_and_long_text_is_shortened():
    assert sanitize_line(" a\x1b[1m\n::error:: \u202eb") == "a [1m : :error:: b"
    assert sanitize_lines("a\n  b\x07\n  ::c") == "a\n  b \n  : :c"
    assert shorten("short") == "short"
    long = "a" * 80 + " (… 1,040 characters left out …) " + "b" * 80
    assert shorten("a" * 100 + "b" * 1100) == long
    assert shorten("a" * 180) == "a" * 180  # what is said of its middle is no shorter
    command = "pytest -k 'a b' --miniwob-record=new_episodes"
    assert command_lines(command, 79) == [command]
    assert command_lines(command, 20, 2) == [
        "  pytest -k 'a b' \\",
        "      --miniwob-record=new_episodes",
    ]
    assert shorten_lines(["x"] * 20) == ["x"] * 20
    lines = [str(number) for number in range(25)]
    assert shorten_lines(lines) == [*lines[:10], "  … 5 more …", *lines[15:]]
