"""Clients of models, and frameworks, as programs: recorded, and replayed with no server."""

import base64
import json
import re
import shutil
from pathlib import Path

import pytest
from support.answers import amazon_events, events, lines
from support.frameworks import CLIENTS, find_program
from support.projects import ROOT, Project
from support.servers import WireServer

from pytest_miniwob_agent.core.events import Completion
from pytest_miniwob_agent.models.apis import find_api

HERE = Path(__file__).parent
MODULES = ROOT / ".cache" / "clients" / "node_modules"

pytestmark = [pytest.mark.integration, pytest.mark.sweep]

PAGE = """
    <!DOCTYPE html><body><button id="yes" onclick="done = 1">Yes</button><script>
      let done = 0;
      const task = { goal: "Click Yes.", reward: () => done };
    </script>"""

TEST_FILE = """
    import pytest

    @pytest.mark.miniwob("pages/page", seeds=[1])
    def test_solves(miniwob_episode):
        assert miniwob_episode.solved, miniwob_episode.explain()
"""

AMAZON, JSON, LINES = (
    "application/vnd.amazon.eventstream",
    "application/json",
    "application/x-ndjson",
)
COUNTS = {"inputTokens": 1, "outputTokens": 2, "totalTokens": 3}


def as_json(value):
    return JSON, json.dumps(value).encode()


def ollama(name, said):
    """The answers of Ollama, which streams unless a request says no."""
    about = {"model": "m", "created_at": "2026-01-01T00:00:00Z", "done": True}

    def answer(body):
        if body.get("stream", True):
            parts = [about | {name: said("Hel"), "done": False}, about | {name: said("lo")}]
            return LINES, lines(*parts)
        return as_json(about | {name: said("Hello")})

    return answer


def cohere(body):
    if not body.get("stream"):
        content = [{"type": "text", "text": "Hello"}]
        message = {"role": "assistant", "content": content}
        return as_json({"id": "1", "finish_reason": "COMPLETE", "message": message})
    parts = [
        {"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": text}}}}
        for text in ("Hel", "lo")
    ]
    end = {"type": "message-end", "delta": {"finish_reason": "COMPLETE"}}
    return "text/event-stream", events({"type": "message-start", "id": "1"}, *parts, end)


def pieces_of_anthropic():
    """An answer of Anthropic's as Amazon streams it: its events are in Base64."""
    api = find_api("/v1/messages")
    answer = api.served(api.answer(Completion("Hello", 1, 2, "m")), "1")
    texts = [json.dumps(event).encode() for event in api.events(answer)]
    return as_json(answer), [("chunk", {"bytes": base64.b64encode(t).decode()}) for t in texts]


def gemini(model, path="/v1beta/models"):
    """An answer of Gemini's, whole and streamed, by path."""
    api = find_api("/v1beta/models/m:generateContent")
    answer = api.served(api.answer(Completion("Hello", 1, 2, model)), "1")
    return {
        f"{path}/{model}:generateContent": as_json(answer),
        f"{path}/{model}:streamGenerateContent": ("text/event-stream", api.stream(answer).encode()),
    }


WHOLE, PIECES = pieces_of_anthropic()
ANSWERS = {
    "/api/chat": ollama("message", lambda text: {"role": "assistant", "content": text}),
    "/api/generate": ollama("response", str),
    "/v2/chat": cohere,
    "/model/m/converse": as_json({
        "output": {"message": {"role": "assistant", "content": [{"text": "Hello"}]}},
        "stopReason": "end_turn", "usage": COUNTS, "metrics": {"latencyMs": 1},
    }),
    "/model/m/converse-stream": (AMAZON, amazon_events(
        ("messageStart", {"role": "assistant"}),
        ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "Hel"}}),
        ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "lo"}}),
        ("messageStop", {"stopReason": "end_turn"}),
    )),
    "/model/m/invoke": WHOLE,
    "/model/m/invoke-with-response-stream": (AMAZON, amazon_events(*PIECES)),
    "/v1beta/interactions": as_json({
        "id": "1", "object": "interaction", "status": "completed", "role": "model", "model": "m",
        "steps": [{"type": "model_output", "content": [{"type": "text", "text": "Hello"}]}],
    }),
    **gemini("m"),
    **gemini("gemini-m"),
    **gemini("m", "/v1beta1/publishers/google/models"),
}  # fmt: skip


@pytest.fixture
def run(pytester, chat_server, monkeypatch):
    """Record and replay a command, and return what the program has printed both times."""
    upstream = WireServer()
    upstream.answers = ANSWERS
    project = Project(pytester, chat_server)
    project.mkdir("pages").joinpath("page.html").write_text(PAGE)
    project.write(TEST_FILE, ini="miniwob_pages = pages\n")
    chat_server.reply = lambda prompt: "Hello"
    for name in ("OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "any")
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "any")
    names = ("bedrock", "cohere", "gemini", "ollama", "vertex_ai")

    def run_command(command):
        upstreams = ",".join(f"{name}={upstream.root}" for name in names)
        agent = f"--miniwob-agent={command}"
        results = [project.record(agent, f"--miniwob-upstream={upstreams}", "-rP")]
        asked = len(chat_server.requests) + len(upstream.requests)
        results.append(project.runpytest(agent, "-rP"))
        assert len(chat_server.requests) + len(upstream.requests) == asked
        for result in results:
            result.assert_outcomes(passed=1)
        return [
            line.split()[1:]
            for result in results
            for line in result.outlines
            if re.match("said( Hello)+$", line)
        ]

    run_command.project = project
    yield run_command
    upstream.close()


PYTHON = re.findall(r"^def (\w+)\(\):", (HERE / "in_python.py").read_text(), re.MULTILINE)
NODE = re.findall(r"^  async (\w+)\(\)", (HERE / "in_node.mjs").read_text(), re.MULTILINE)


@pytest.mark.parametrize("client", PYTHON)
def test_a_client_in_python_is_recorded_and_replays(client, run, monkeypatch):
    python = find_program(CLIENTS, "python")
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "tests"))
    shutil.copy(HERE / "in_python.py", run.project.path)
    said = run(f"{python} in_python.py {client}")
    assert len(said) == 2
    assert said[0] == said[1]


@pytest.mark.parametrize("client", NODE)
@pytest.mark.skipif(not (MODULES / "ollama").exists(), reason="no clients: run make clients")
def test_a_client_in_node_is_recorded_and_replays(client, run):
    run.project.path.joinpath("node_modules").symlink_to(MODULES)
    shutil.copy(HERE / "in_node.mjs", run.project.path)
    said = run(f"node in_node.mjs {client}")
    assert len(said) == 2
    assert said[0] == said[1]
