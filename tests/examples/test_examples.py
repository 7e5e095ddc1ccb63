"""The agents of examples/ replay the items that they have solved."""

import subprocess
import sys
from importlib import metadata

import pytest
from projects import INNER_RUNS, ROOT

EXAMPLES = {
    "plain:Plain": ("click-checkboxes", "openai"),
    "with_langchain:LangChain": ("enter-text", "langchain-openai"),
    "with_litellm:LiteLLM": ("login-user", "litellm"),
    "with_openai_agents:OpenAIAgents": ("login-user", "openai-agents"),
    "with_smolagents:Smolagents": ("click-test-2", "smolagents"),
}
"""The recorded task of each agent, and the package that it needs."""


@pytest.mark.integration
@pytest.mark.parametrize("agent", EXAMPLES)
def test_example_replays_the_item_that_it_solved(agent):
    task, package = EXAMPLES[agent]
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        pytest.skip(f"{package} is not installed: pip install -e '.[examples]'")
    run = subprocess.run(
        [
            sys.executable, "-m", "pytest", "examples", "-k", task, f"--miniwob-agent={agent}",
            "-pno:cacheprovider", *INNER_RUNS.split(),
        ],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    assert "1 passed" in run.stdout
