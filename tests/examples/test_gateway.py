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

import pytest
from frameworks import FRAMEWORKS, GATEWAY, program_of
from projects import INNER_RUNS, ROOT

from pytest_miniwob_agent.core.outcome import Status
from pytest_miniwob_agent.results.file import read_results

# One worker starts the proxy, which takes long.
pytestmark = [
    pytest.mark.integration, pytest.mark.sweep, pytest.mark.xdist_group("gateway")
]  # fmt: skip

AGENTS = (
    "tools",
    "plain:Plain",
    "with_langchain:LangChain",
    "with_litellm:LiteLLM",
    "with_openai_agents:OpenAIAgents",
    "with_smolagents:Smolagents",
)

WITHOUT_NETWORK = {
    f"LITELLM_LOCAL_{name}": "True"
    for name in (
        "ANTHROPIC_BETA_HEADERS",
        "AUTOROUTER_PRESETS",
        "BLOG_POSTS",
        "MODEL_COST_MAP",
        "POLICY_TEMPLATES",
    )
}
"""What the proxy would download when it starts, it takes from its own package."""


class Gateway:
    """LiteLLM's proxy on a free port, with the models of gateway/litellm.yaml."""

    def __init__(self, folder):
        self.key = f"sk-{secrets.token_hex(16)}"
        self._log = folder / "log"
        command = [program_of(GATEWAY, "litellm"), "--host", "127.0.0.1", "--port", "0"]
        config = Path(__file__).with_name("gateway") / "litellm.yaml"
        settings = {"LITELLM_MASTER_KEY": self.key, "PATH": os.environ["PATH"], "HOME": str(folder)}
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [*command, "--config", config], cwd=folder, env=settings | WITHOUT_NETWORK,
                stdout=log, stderr=log,
            )  # fmt: skip
        try:
            self.url = self._wait()
        except BaseException:
            self.close()
            raise

    def _wait(self):
        deadline = time.monotonic() + 240
        while self._process.poll() is None and time.monotonic() < deadline:
            if up := re.search(r"running on (http://\S+:\d+)", self.log()):
                return f"{up[1]}/v1"
            time.sleep(0.1)
        raise RuntimeError(f"LiteLLM's proxy did not start:\n{self.log()}")

    def log(self):
        return self._log.read_text(errors="replace")

    def close(self):
        self._process.terminate()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    server = Gateway(tmp_path_factory.mktemp("gateway"))
    yield server
    server.close()


def command(agent, *args):
    """A run of two items by an agent."""
    return [
        program_of(FRAMEWORKS, "python"), "-m", "pytest", "test_examples.py",
        "-k", "click-test-2 or login-user", f"--miniwob-agent={agent}", "--miniwob-model=tools",
        *args, "-pno:cacheprovider", *INNER_RUNS.split(),
    ]  # fmt: skip


def run(project, command, **environment):
    """Run a command in a project; return its status and what it wrote."""
    done = subprocess.run(
        command, cwd=project, env=os.environ | environment, timeout=600,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    return done.returncode, done.stdout


def files(folder):
    """The contents of all files below a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def record(agent, gateway, project):
    """Record the agent's calls in a copy of examples/."""
    leave_out = shutil.ignore_patterns("cassettes", "__pycache__")
    shutil.copytree(ROOT / "examples", project, ignore=leave_out)
    once = ("--miniwob-record=once", f"--miniwob-base-url={gateway.url}", "-n", "2")
    written = ("--miniwob-results=recorded/results.jsonl", "--miniwob-report=recorded/report")
    status, output = run(project, command(agent, *once, *written), OPENAI_API_KEY=gateway.key)
    assert "model calls: 0 replayed, 7 recorded" in output, output + gateway.log()
    assert status == pytest.ExitCode.TESTS_FAILED


@pytest.mark.parametrize("agent", AGENTS)
def test_what_was_recorded_replays_without_a_key_to_equal_results(agent, gateway, tmp_path):
    recorded = tmp_path / "examples"
    record(agent, gateway, recorded)
    results = read_results(recorded / "recorded" / "results.jsonl")
    items = results.results
    counts = [(item.outcome, item.steps, sum(item.calls.values())) for item in items]
    assert counts == [(Status.SOLVED, 1, 1), (Status.UNSOLVED, 6, 6)]
    cassettes = files(recorded / "cassettes")
    assert len(cassettes) == 2
    for contents in cassettes.values():
        assert gateway.key.encode() not in contents

    written = ("--miniwob-results=replayed/results.jsonl", "--miniwob-report=replayed/report")
    status, output = run(recorded, command(agent, "-n", "2", *written))
    assert "model calls: 7 replayed, 0 recorded" in output, output
    assert status == pytest.ExitCode.TESTS_FAILED
    # The report has every event: prompts, answers, actions, rewards.
    assert files(recorded / "replayed") == files(recorded / "recorded")
    assert files(recorded / "cassettes") == cassettes
