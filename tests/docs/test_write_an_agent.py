"""The agent, the tests and the entry point of docs/write-an-agent.md work."""

import re
import sys
import tomllib

import pytest
from support.projects import ROOT, suite_source

from pytest_miniwob_agent.agents.registry import GROUP, load_agent
from pytest_miniwob_agent.testing import agent_contract

TEXT = (ROOT / "docs" / "write-an-agent.md").read_text("utf-8")


@pytest.fixture
def files(project):
    project.test_file.unlink()
    project.makeconftest("")
    named = re.findall(r"^```python\n# (\w+)\.py\n(.*?)^```$", TEXT, re.M | re.S)
    project.makepyfile(**dict(named))
    project.syspathinsert()
    yield project
    sys.modules.pop("next_action", None)


def test_the_tests_of_the_page_pass(files):
    result = files.runpytest("-pno:randomly", "-pno:hypothesispytest")
    outcomes = result.parseoutcomes()
    assert outcomes.keys() == {"passed"}
    assert outcomes["passed"] > 10


def test_the_agent_of_the_page_solves_tasks_and_replays(files, chat_server):
    files.makepyfile(test_tasks=suite_source('"click-test-2", "enter-text"'))
    chat_server.reply = solve
    args = ["test_tasks.py", "--miniwob-agent=next_action:NextAction", "--miniwob-seeds=1"]
    files.record(*args).assert_outcomes(passed=2)
    files.replay(*args, passed=2)
    assert files.path.joinpath("cassettes/next-action/m/enter-text/1.yaml").exists()


@pytest.mark.sweep
def test_the_agent_of_tools_of_the_page_carries_out_calls():
    [source] = re.findall(r"^```python\n# tool_caller.py\n(.*?)^```$", TEXT, re.M | re.S)
    [contract] = re.findall(r"^```python\n(from \S+ import Completion.*?)^```$", TEXT, re.M | re.S)
    namespace = {"agent_contract": agent_contract}
    exec(source + contract, namespace)
    contract = namespace["TestToolCaller"]()
    contract.test_its_good_replies_make_it_act()
    contract.test_no_tool_call_breaks_it()


def solve(prompt):
    def find_id(pattern):
        return re.search(rf'<\w+ id="(\d+)"[^<]*{pattern}', prompt)[1]

    goal = re.match("Goal: (.*)", prompt)[1]
    if "ONE" in goal:
        return f"click id={find_id('>ONE<')}"
    if "Done so far: nothing" in prompt:
        text = re.search('"(.*)"', goal)[1]
        return f'enter "{text}" to id={find_id("value=")}'
    return f"click id={find_id('>Submit<')}"


def test_the_entry_point_of_the_page_leads_to_its_agent(files):
    (block,) = re.findall(r"^```toml\n(.*?)^```$", TEXT, re.M | re.S)
    ((name, target),) = tomllib.loads(block)["project"]["entry-points"][GROUP].items()
    assert load_agent(target).name == name
