"""The examples of the README, docs/fixtures.md and docs/from-browsergym.md work."""

import re
import sys

import pytest
from support.projects import ROOT


def examples(page, since="# "):
    text = (ROOT / page).read_text("utf-8").partition(since)[2]
    return re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)


@pytest.fixture
def modules(pytester):
    pytester.syspathinsert()
    made = []

    def make(**sources):
        made.extend(sources)
        pytester.makepyfile(**sources)

    yield make
    for name in made:
        sys.modules.pop(name, None)


def test_fixtures_are_overridden_as_the_page_does(pytester, modules):
    [next_action] = [
        example for example in examples("docs/write-an-agent.md") if "# next_action.py" in example
    ]
    conftest = "\n".join(examples("docs/fixtures.md", "## Override them"))
    modules(next_action=next_action)
    pytester.makeconftest(conftest)
    pytester.makepyfile("""
        import pytest

        @pytest.mark.miniwob("click-test", seeds=[1], steps=7)
        def test_solves(miniwob_episode, miniwob_limits):
            assert miniwob_episode.solved, miniwob_episode.explain()
            assert miniwob_episode.agent == "next-action-tuned"
            assert miniwob_limits.steps == 7 and miniwob_limits.calls == 20
    """)
    result = pytester.runpytest("-s", "--miniwob-agent=next_action:NextAction")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*1-screen-1-step/click-test/1 solved 1*"])


@pytest.mark.integration
def test_the_environment_is_used_as_the_page_does():
    [source] = [example for example in examples("docs/from-browsergym.md") if "env.step" in example]
    namespace = {}
    exec(source, namespace)
    assert namespace["info"].keys() == {"raw_reward", "seed"}
    assert namespace["obs"]["last_action"] == "click('2')"
    assert namespace["obs"]["last_action_error"] == ""


def test_the_agent_of_the_readme_is_recorded_through_its_client(pytester, modules, chat_server):
    [agent] = [example for example in examples("README.md") if "# mine.py" in example]
    [conftest] = [example for example in examples("docs/fixtures.md") if "FakePage" in example]
    modules(mine=agent)
    pytester.makeconftest(conftest)
    pytester.makepyfile(examples("README.md")[0])
    chat_server.reply = lambda prompt: "1"
    run = ["--miniwob-agent=mine:Mine", "--miniwob-model=m"]
    live = ["--miniwob-record=new_episodes", f"--miniwob-base-url={chat_server.url}"]
    pytester.runpytest(*run, *live).assert_outcomes(passed=5)
    asked = len(chat_server.requests)
    pytester.runpytest(*run).assert_outcomes(passed=5)
    assert len(chat_server.requests) == asked == 5
