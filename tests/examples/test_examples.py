"""The agents of examples/ replay the items that they have solved."""

import subprocess
import sys

import pytest
from frameworks import FRAMEWORKS, program_of
from projects import INNER_RUNS, ROOT

pytestmark = pytest.mark.integration


def replay(python, agent, task):
    run = subprocess.run(
        [
            python, "-m", "pytest", "examples", "-k", task, f"--miniwob-agent={agent}",
            "-pno:cacheprovider", *INNER_RUNS.split(),
        ],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    assert "1 passed" in run.stdout


def test_the_agent_without_a_framework_replays_the_item_that_it_solved():
    replay(sys.executable, "plain:Plain", "click-checkboxes")


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("agent", "task"),
    [
        ("with_langchain:LangChain", "enter-text"),
        ("with_litellm:LiteLLM", "login-user"),
        ("with_openai_agents:OpenAIAgents", "login-user"),
        ("with_smolagents:Smolagents", "click-test-2"),
    ],
)
def test_an_agent_on_a_framework_replays_the_item_that_it_solved(agent, task):
    replay(program_of(FRAMEWORKS, "python"), agent, task)
