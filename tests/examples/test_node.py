"""The examples for Node: recorded from a server that is gone when they are replayed."""

import json
import shutil

import pytest
from support.answers import completion
from support.projects import ROOT, Project

MODULES = ROOT / ".cache" / "clients" / "node_modules"

pytestmark = [
    pytest.mark.integration,
    pytest.mark.sweep,
    pytest.mark.skipif(not (MODULES / "tsx").exists(), reason="no clients: run make clients"),
]

PAGE = """
    <!DOCTYPE html><body><input aria-label="Name">
    <button onclick="pressed = 1">Send</button><script>
      let pressed = 0;
      const name = document.querySelector("input");
      const task = { goal: "Send Ann.", reward: () => pressed && (name.value === "Ann" ? 1 : -1) };
    </script>"""

TEST_FILE = """
    import pytest
    from pytest_miniwob_agent import Program

    @pytest.mark.miniwob("pages/page", seeds=[1], agents=[Program({command}, tools={tools})])
    def test_solves(miniwob_episode):
        assert miniwob_episode.solved, miniwob_episode.explain()
"""


def chat(number, name, arguments):
    """An answer of Chat Completions that calls a tool."""
    return completion(None, calls=[(name, arguments)])


def response(number, name, arguments):
    """An answer of the Responses API that calls a tool."""
    call = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}"}
    call |= {"status": "completed", "name": name, "arguments": json.dumps(arguments)}
    return {
        "id": f"resp_{number}", "object": "response", "created_at": 1_700_000_000,
        "status": "completed", "model": "m", "output": [call],
        "usage": {"input_tokens": 11, "output_tokens": 3, "total_tokens": 14},
    }  # fmt: skip


def calling(answer, *calls):
    """A model that calls one tool after the other."""
    left = [answer(number, *call) for number, call in enumerate(calls)]
    return lambda prompt: left.pop(0)


def acting(*actions):
    """A model that names one element of Stagehand's prompt after the other, by its role."""
    left = [*actions]

    def reply(prompt):
        role, method, arguments = left.pop(0)
        [line] = [line for line in prompt.splitlines() if f"] {role}" in line]
        element = line.partition("[")[2].partition("]")[0]
        action = {"elementId": element, "description": role, "method": method}
        return json.dumps({"action": action | {"arguments": arguments}, "twoStep": False})

    return reply


SEND = 'role=button[name="Send"]'
EXAMPLES = {
    "tool_caller.mts": (
        calling(chat, ("enter", {"text": "Ann", "element": 1}), ("click", {"element": 2})),
        ["node", "--import", "tsx"],
    ),
    "with_ai_sdk.mjs": (
        calling(
            response, ("look", {}), ("click", {"selector": "#no"}),
            ("fill", {"selector": "role=textbox", "text": "Ann"}), ("click", {"selector": SEND}),
        ),
        ["node"],
    ),
    "with_stagehand.mjs": (
        acting(("textbox", "fill", ["Ann"]), ("button", "click", [])),
        ["node"],
    ),
}  # fmt: skip
"""Answers of the model by example, and what runs it."""


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_for_node_is_recorded_and_replays(example, pytester, chat_server):
    project = Project(pytester, chat_server)
    project.path.joinpath("node_modules").symlink_to(MODULES)
    shutil.copy(ROOT / "examples" / "node" / example, project.path)
    chat_server.reply, run = EXAMPLES[example]
    tools = example == "tool_caller.mts"
    project.mkdir("pages").joinpath("page.html").write_text(PAGE)
    source = TEST_FILE.format(command=[*run, example], tools=tools)
    project.write(source, ini="miniwob_pages = pages\n")
    project.record("--miniwob-results=recorded.jsonl").assert_outcomes(passed=1)
    chat_server.close()
    project.replay("--miniwob-results=replayed.jsonl", passed=1)
    recorded, replayed = (
        project.path.joinpath(f"{name}.jsonl").read_bytes() for name in ("recorded", "replayed")
    )
    assert recorded == replayed
