"""Agents of tool calls, recorded from a gateway that others wrote, and replayed without a network.

The gateway is LiteLLM's proxy. Its answers have the forms of three APIs; what they say is made up.
"""

import os
import re
import secrets
import shutil
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.frameworks import BROWSERS, FRAMEWORKS, GATEWAY, find_program
from support.projects import INNER_RUNS, ROOT

from pytest_miniwob_agent.core.outcome import Status
from pytest_miniwob_agent.results.file import read_results

# One worker starts the proxy, which takes long.
pytestmark = [
    pytest.mark.integration, pytest.mark.sweep, pytest.mark.xdist_group("gateway")
]  # fmt: skip

AGENTS = {
    "tools": FRAMEWORKS,
    "plain:Plain": BROWSERS,  # with version 2 of openai
    "with_ag2:AG2": FRAMEWORKS,
    "with_langchain:LangChain": FRAMEWORKS,
    "with_litellm:LiteLLM": FRAMEWORKS,
    "with_openai_agents:OpenAIAgents": FRAMEWORKS,
    "with_pydantic_ai:PydanticAI": FRAMEWORKS,
    "with_smolagents:Smolagents": FRAMEWORKS,
}
"""Agents, and the environments in which they run."""

LOCAL = "ANTHROPIC_BETA_HEADERS AUTOROUTER_PRESETS BLOG_POSTS MODEL_COST_MAP POLICY_TEMPLATES"
"""What the proxy would download when it starts, and takes from its own package."""


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    """LiteLLM's proxy on a free port, with the models of gateway/litellm.yaml."""
    folder, key = tmp_path_factory.mktemp("gateway"), f"sk-{secrets.token_hex(16)}"
    config = Path(__file__).with_name("gateway") / "litellm.yaml"
    command = [find_program(GATEWAY, "litellm"), "--host", "127.0.0.1", "--port", "0"]
    settings = {"LITELLM_MASTER_KEY": key, "PATH": os.environ["PATH"], "HOME": str(folder)}
    settings |= {f"LITELLM_LOCAL_{name}": "True" for name in LOCAL.split()}
    path = folder / "log"
    with path.open("wb") as log:
        process = subprocess.Popen(
            [*command, "--config", config], cwd=folder, env=settings, stdout=log, stderr=log
        )
    try:
        deadline = time.monotonic() + 240
        while not (up := re.search(r"running on (http://\S+:\d+)", path.read_text())):
            assert process.poll() is None, path.read_text()
            assert time.monotonic() < deadline, path.read_text()
            time.sleep(0.1)
        yield SimpleNamespace(key=key, url=f"{up[1]}/v1", log=path.read_text)
    finally:
        process.terminate()
        process.wait(30)


def run(project, agent, *args, **environment):
    command = [find_program(AGENTS[agent], "python"), "-m", "pytest", "test_examples.py", *args]
    command += ["-k", "click-test-2 or login-user", f"--miniwob-agent={agent}"]
    command += ["--miniwob-model=tools", "-pno:cacheprovider", *INNER_RUNS.split()]
    environment = os.environ | environment
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True)
    output = done.stdout + done.stderr
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, output
    return output


def files(folder):
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


@pytest.mark.parametrize("agent", AGENTS)
def test_what_was_recorded_replays_without_a_key_to_equal_results(agent, gateway, tmp_path):
    project = tmp_path / "examples"
    leave_out = shutil.ignore_patterns("cassettes", "__pycache__")
    shutil.copytree(ROOT / "examples", project, ignore=leave_out)
    output = run(
        project,
        agent,
        "--miniwob-record=new_episodes",
        f"--miniwob-base-url={gateway.url}",
        "--miniwob-results=recorded/results.jsonl",
        "--miniwob-report=recorded/report",
        OPENAI_API_KEY=gateway.key,
    )
    assert "model calls: 0 replayed, 7 recorded" in output, output + gateway.log()
    items = read_results(project / "recorded" / "results.jsonl").results
    counts = [(item.outcome, item.steps, sum(item.calls.values())) for item in items]
    assert counts == [(Status.SOLVED, 1, 1), (Status.UNSOLVED, 6, 6)]
    cassettes = files(project / "cassettes")
    assert len(cassettes) == 2
    for contents in cassettes.values():
        assert gateway.key.encode() not in contents

    written = ("--miniwob-results=replayed/results.jsonl", "--miniwob-report=replayed/report")
    output = run(project, agent, *written)
    assert "model calls: 7 replayed, 0 recorded" in output, output
    # The report has every event: prompts, answers, actions, rewards.
    assert files(project / "replayed") == files(project / "recorded")
    assert files(project / "cassettes") == cassettes
