"""Plugins on the hooks: those of this package, blocked and not, and those of others."""

import sys
from functools import cache
from textwrap import dedent

import pytest
from support.projects import ROOT, SUITE_RUNS, solve_menu

from pytest_miniwob_agent import hookspec
from pytest_miniwob_agent.builtin import BUILTIN, without_pytest
from pytest_miniwob_agent.cli import main
from pytest_miniwob_agent.models import apis
from pytest_miniwob_agent.plugin.options import Option, options_in
from pytest_miniwob_agent.plugin.reading import all_options
from pytest_miniwob_agent.results.file import read_results

BLOCKED = [f"-pno:{name}" for name in BUILTIN]

MINE = """
    from dataclasses import dataclass
    from pathlib import Path
    from pytest_miniwob_agent import Observer, Step, Subcommand, option, options_of

    @dataclass(frozen=True, kw_only=True)
    class Options:
        solved: Path | None = option("a file", parse=Path, group="Mine")

    def pytest_miniwob_options():
        return Options

    class Telling(Observer):
        def after_item(self, outcome):
            print("observed", outcome.case)

    def pytest_miniwob_observer(item, agent):
        return Telling() if agent == "reflective" else None

    class Count(Step):
        title = "count"
        def __init__(self, file):
            self.file = file
        def finish(self, run):
            if run.verdict is not None:
                self.file.write_text(f"{sum(one.solved for one in run.items)}")
        def show(self, terminal):
            terminal.line(f"counted into {self.file.name}")

    def pytest_miniwob_step(config):
        file = options_of(config, Options).solved
        return file and Count(file)

    def pytest_miniwob_links(outcome):
        return {"the ticket": "T-1"}

    def pytest_miniwob_transcript(text, outcome):
        print(text, "- transcript of", outcome.case)

    def pytest_miniwob_agents():
        return {"mine": "pytest_miniwob_agent.agents.reflective:ReflectiveAgent"}

    def pytest_miniwob_scripts():
        return {"mine": "mine:Script"}

    def add_words(parser):
        parser.add_argument("word")
        parser.set_defaults(run=lambda options: print(options.word[::-1]) or 0)

    def pytest_miniwob_commands():
        return [Subcommand("words", "turn a word round", f"{__name__}:add_words")]
"""


IMPORTED = """
import sys

def pytest_unconfigure():
    names = [name for name in sys.modules if name.startswith("pytest_miniwob_agent.plugins")]
    print("plugins imported:", names)
"""


def test_the_engine_replays_alone(pytester, monkeypatch):
    pytester.makepyfile(imported=IMPORTED)
    monkeypatch.setenv("PYTHONPATH", str(pytester.path))
    monkeypatch.setenv("PYTEST_ADDOPTS", f"{SUITE_RUNS} -pno:cacheprovider")
    monkeypatch.chdir(ROOT)
    result = pytester.runpytest_subprocess(
        "tests/test_suite.py", "-k", "click-menu-2", "-pimported", *BLOCKED
    )
    result.assert_outcomes(passed=2, xfailed=1, deselected=66)
    assert "plugins imported: []" in result.stdout.str()


@pytest.mark.sweep
@pytest.mark.parametrize("name", BUILTIN)
def test_an_item_replays_without_a_plugin(shipped, name):
    shipped("../test_suite.py", "-k", "click-menu-2", f"-pno:{name}").assert_outcomes(
        passed=2, xfailed=1, deselected=66
    )


def test_what_belongs_to_a_blocked_plugin_is_named(project):
    blocked = "-pno:miniwob-graders"
    option = Option(key=BUILTIN["miniwob-graders"].options[0], help="").name
    result = project.runpytest(blocked, f"{option}=x")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    reason = "it belongs to the plugin miniwob-graders, which is blocked"
    assert f"{option}: {reason}: leave out -p no:miniwob-graders" in result.stderr.str()
    project.makeini("[pytest]\nminiwob_graders = g:polite\n")
    project.runpytest(blocked).stdout.fnmatch_lines(
        ["miniwob_graders does nothing: it belongs to the plugin miniwob-graders, which is*"]
    )
    result = project.runpytest("-pno:miniwob-rci", "--miniwob-agent=rci")
    assert "agent 'rci': it belongs to the plugin miniwob-rci, which is" in result.stdout.str()
    result = project.runpytest("-pno:miniwob-rci", "--miniwob-agent=rcj")
    assert "give one of reflective, webwise, tools" in result.stdout.str()


def test_the_page_of_hooks_has_all_of_them():
    page = ROOT.joinpath("docs/hooks.md").read_text("utf-8")
    hooks = [name for name in vars(hookspec) if name.startswith("pytest_miniwob_")]
    assert [name for name in hooks if f"`{name}(" not in page] == []
    assert [name for name in BUILTIN if f"`{name}`" not in page] == []
    sections = page.split("\n### ")[1:]
    assert [one for one in sections if "```python" not in one and "](#" not in one] == []


def test_the_engine_knows_the_options_of_its_plugins():
    declared = {
        f"miniwob-{each.__module__.rpartition('.')[2]}": tuple(one.key for one in options_in(each))
        for each in without_pytest().pytest_miniwob_options()
    }
    assert declared == {name: one.options for name, one in BUILTIN.items() if one.options}


def test_a_plugin_adds_to_runs(project):
    project.syspathinsert()
    project.server.reply = solve_menu
    project.makepyfile(mine=MINE)
    options = ("-pmine", "--miniwob-solved=count", "-k", "click-menu-2", "-s")
    project.record("--miniwob-results=base.jsonl", *options).assert_outcomes(
        passed=2, deselected=10
    )
    assert not project.path.joinpath("count").exists()  # nothing was judged
    result = project.runpytest("--miniwob-baseline=base.jsonl", *options)
    case = "n-screen-n-step/click-menu-2/1"
    result.stdout.fnmatch_lines_random(
        [f"*observed {case}", f"the ticket: T-1 - transcript of {case}", "*counted into count"]
    )
    assert project.path.joinpath("count").read_text() == "2"


def test_options_of_conftest_come_too_late(project):
    conftest = project.path / "conftest.py"
    conftest.write_text(conftest.read_text() + dedent(MINE))
    result = project.runpytest()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "--miniwob-solved: the hook pytest_miniwob_options of" in result.stderr.str()


def install(pytester, plugin):
    pytester.makepyfile(mine=plugin)
    metadata = pytester.mkdir("mine-1.0.dist-info")
    metadata.joinpath("METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    metadata.joinpath("entry_points.txt").write_text("[miniwob_agent]\nmy-team = mine\n")


def test_a_package_adds_commands_and_agents(pytester, monkeypatch, capsys):
    install(pytester, MINE)
    monkeypatch.syspath_prepend(pytester.path)
    assert main(["words", "abc"]) == 0
    assert capsys.readouterr().out == "cba\n"
    assert "--miniwob-solved" in {option.name for option in all_options()}
    with pytest.raises(SystemExit):
        main(["show", "--help"])
    assert "--as {text,playwright,mine}" in capsys.readouterr().out
    assert main(["prompts", "copy", "mine", str(pytester.path / "out"), "plan"]) == 0
    sys.modules.pop("mine")


GATES = """
    from pytest_miniwob_agent import Reason, UsageError

    def pytest_miniwob_fields(problem, episode):
        return {"seed": problem.case.seed, "actions": episode.steps}

    def pytest_miniwob_gates():
        return {"brief": brief}

    def brief(value):
        if not value.isdigit():
            raise UsageError(f"brief takes a number, not {value!r}")

        def judge(both):
            for pair in both.pairs:
                for result in pair.after.results:
                    if result.extra["actions"] > int(value):
                        yield Reason("exceeded", f"{result.case} took too many actions")

        return judge
"""


def test_a_package_adds_fields_of_results_and_a_gate_that_judges_them(record, call, monkeypatch):
    install(record, GATES)
    monkeypatch.syspath_prepend(record.path)
    record.runpytest("--miniwob-results=base.jsonl", "-k", "click-menu-2").assert_outcomes(passed=2)
    rows = read_results(str(record.path / "base.jsonl")).results
    assert [row.extra for row in rows] == [{"seed": 1, "actions": 2}, {"seed": 2, "actions": 2}]
    baseline = ("--miniwob-baseline=base.jsonl", "-k", "click-menu-2")
    result = record.runpytest(*baseline, "--miniwob-gate=brief:2")
    result.stdout.fnmatch_lines(["gate brief:2: passed"])
    result = record.runpytest(*baseline, "--miniwob-gate=brief:1,calls:+10%")
    result.stdout.fnmatch_lines(
        ["gate brief:1,calls:+10%: FAILED", "  n-screen-n-step/click-menu-2/1 took too many*"]
    )
    assert result.ret == 1
    status, out, _ = call("compare", "base.jsonl", "base.jsonl", "--gate=brief:1")
    assert (status, "gate brief:1: FAILED" in out) == (1, True)
    wrong = record.runpytest(*baseline, "--miniwob-gate=brief:x")
    wrong.stderr.fnmatch_lines(["*brief takes a number, not 'x'*"])


def test_a_wrong_value_of_an_argument_of_a_plugin_is_named(project):
    project.makeconftest("def pytest_miniwob_marker_arguments():\n    return {'most': int}")
    source = project.test_file.read_text()
    project.test_file.write_text(source.replace("seeds=", "most='x', seeds="))
    result = project.runpytest()
    result.stdout.fnmatch_lines(["*the miniwob marker's most is not valid: invalid literal*'x'"])
    project.test_file.write_text(source.replace("seeds=", "most='7', seeds="))
    assert project.runpytest("--collect-only", "-q").ret == pytest.ExitCode.OK


ASK = """
    from pytest_miniwob_agent import API, Completion, Message

    class Ask(API):
        path = "/v2/ask"
        def messages(self, body):
            return [Message("user", f"asked: {body['question']}")]
        def completion(self, answer):
            return Completion(f"said: {answer['text']}", 3, 4)

    def pytest_miniwob_apis():
        return [Ask()]
"""

ASKING = """
import json
import urllib.request

from pytest_miniwob_agent import Click

class Asking:
    name = "asking"

    def solve(self, env, llm, note):
        env.reset()
        data = json.dumps({"question": "say"}).encode()
        asked = urllib.request.Request(
            llm.base_url + "/v2/ask", data, {"Content-Type": "application/json"}
        )
        urllib.request.urlopen(asked).close()
        env.step(Click(1))
        env.step(Click(2))
"""


def test_a_package_adds_an_api(project, call, monkeypatch):
    install(project, ASK)
    monkeypatch.syspath_prepend(project.path)
    # What is installed is read once in a process.
    monkeypatch.setattr(apis, "_plugin_apis", cache(apis._plugin_apis.__wrapped__))
    project.makepyfile(asking=ASKING)
    project.server.reply = lambda prompt: (200, {"text": "yes"})
    run = ("-k", "click-menu-2/1", "--miniwob-agent=asking:Asking")
    result = project.record(*run)
    result.stdout.fnmatch_lines(["tokens: 7 spent*"])
    project.replay(*run, passed=1, deselected=11)
    [cassette] = project.path.joinpath("cassettes").rglob("*.yaml")
    _, shown, _ = call("cassettes", "show", str(cassette))
    assert "path: /v2/ask\nasked: say\n" in shown
    assert "said: yes" in shown
    project.runpytest(*run, "-pno:my-team").stdout.fnmatch_lines(
        ["*API of /v2/ask: it belongs to the plugin my-team, which is blocked: *"]
    )
