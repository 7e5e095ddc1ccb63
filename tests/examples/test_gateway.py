"""Agents of tool calls, recorded from a gateway that others wrote, and replayed without a network.

The gateway is LiteLLM's proxy. Its answers have the forms of three APIs; what they say is made up.
"""

import os
import re
import secrets
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from frameworks import FRAMEWORKS, GATEWAY, program_of
from offline import offline
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


@pytest.fixture(params=AGENTS)
def agent(request):
    return request.param


@pytest.fixture
def recorded(agent, gateway, recordings, tmp_path):
    """A copy of examples/ in which the agent's calls were recorded; its first test does that."""
    project = recordings / agent.replace(":", "-")
    if not project.exists():
        copied = tmp_path / "examples"
        leave_out = shutil.ignore_patterns("cassettes", "__pycache__")
        shutil.copytree(ROOT / "examples", copied, ignore=leave_out)
        written = (
            "--miniwob-results=recorded/results.jsonl", "--miniwob-report=recorded/report"
        )  # fmt: skip
        once = ("--miniwob-record=once", f"--miniwob-base-url={gateway.url}", "-n", "2")
        status, output = run(copied, command(agent, *once, *written), OPENAI_API_KEY=gateway.key)
        assert "model calls: 0 replayed, 7 recorded" in output, output + gateway.log()
        assert status == pytest.ExitCode.TESTS_FAILED
        copied.rename(project)
    return project


def test_what_was_recorded_replays_without_a_network_to_equal_results(agent, recorded, gateway):
    results = read_results(recorded / "recorded" / "results.jsonl")
    counts = [(each.outcome, each.steps, sum(each.calls.values())) for each in results.results]
    assert counts == [(Status.SOLVED, 1, 1), (Status.UNSOLVED, 6, 6)]
    cassettes = files(recorded / "cassettes")
    assert len(cassettes) == 2
    for contents in cassettes.values():
        assert gateway.key.encode() not in contents

    written = (
        "--miniwob-results=replayed/results.jsonl", "--miniwob-report=replayed/report"
    )  # fmt: skip
    status, output = run(recorded, offline(*command(agent, "-n", "2", *written)))
    assert "model calls: 7 replayed, 0 recorded" in output, output
    assert status == pytest.ExitCode.TESTS_FAILED
    # The report has every event: prompts, answers, actions, rewards.
    assert files(recorded / "replayed") == files(recorded / "recorded")
    assert files(recorded / "cassettes") == cassettes


REWORDED = """
import json

from pytest_miniwob_agent.agents.tools import ToolsAgent


class Rewording:
    def __init__(self, llm):
        self.llm = llm

    def chat(self, messages, purpose, *, tools):
        tools = json.loads(json.dumps(tools).replace("Click an element", "Press an element"))
        return self.llm.chat(messages, purpose, tools=tools)


class Reworded(ToolsAgent):
    def solve(self, env, llm, note):
        super().solve(env, Rewording(llm), note)
"""


def reword(project, agent):
    """Change a word in the description of the tool click; return the agent that has it."""
    if agent == "tools":
        (project / "reworded.py").write_text(REWORDED)
        return "reworded:Reworded"
    module = project / f"{agent.partition(':')[0]}.py"
    source = module.read_text()
    if "Click an element" in source:
        module.write_text(source.replace("Click an element", "Press an element"))
    else:  # it is the package's tool
        module.write_text(f'{source}\nTOOLS[0]["function"]["description"] = "Press an element."\n')
    return agent


def test_a_changed_word_in_a_tools_description_is_drift_that_names_it(agent, recorded, tmp_path):
    project = tmp_path / "project"
    shutil.copytree(recorded, project, ignore=shutil.ignore_patterns("__pycache__"))
    status, output = run(project, command(reword(project, agent)))
    assert status == pytest.ExitCode.TESTS_FAILED
    assert "2 drifted" in output, output
    assert re.search("^ +2  the agent changed: the tool click: its description$", output, re.M), (
        output
    )
    assert re.search(r'^- +"description": "Click an element', output, re.M), output
    assert re.search(r'^\+ +"description": "Press an element', output, re.M), output


def test_a_replay_has_no_way_to_the_gateway(gateway):
    """Otherwise the replays above would not show that they need none."""
    port = gateway.url.rpartition(":")[2].removesuffix("/v1")
    connect = [
        sys.executable, "-c", f"import socket; socket.create_connection(('127.0.0.1', {port}))"
    ]  # fmt: skip
    assert subprocess.run(connect, check=False).returncode == 0
    refused = subprocess.run(offline(*connect), capture_output=True, text=True, check=False)
    assert "ConnectionRefusedError" in refused.stderr
