"""Puppeteer and Playwright for Node on a page that is handed over to them."""

import shutil
import subprocess
from pathlib import Path

import pytest
from support.own_pages import Pages
from support.projects import ROOT
from support.scripted import Solving, actions, play

from pytest_miniwob_agent.core.pace import Pace

MODULES = ROOT / ".cache" / "clients" / "node_modules"

pytestmark = [
    pytest.mark.integration,
    pytest.mark.sweep,
    pytest.mark.skipif(not MODULES.exists(), reason="no clients: run make clients"),
]

FORM = """
    <input id="name"><button id="ask" onclick="said.textContent = confirm('Sure?')">Ask</button>
    <p id="said"></p><iframe srcdoc="<button>In</button>"></iframe>
    <select><option>one<option>two</select>
    <button id="go" onclick="setTimeout(come, 5000)">Go</button>
    <script>
      let clicked = 0;
      const come = () => {
        const late = document.createElement("button");
        Object.assign(late, { id: "late", textContent: "Late", onclick: () => { clicked = 1; } });
        document.body.append(late);
      };
      const task = { goal: "g", reward: () => clicked };
    </script>"""


@pytest.mark.parametrize(
    ("client", "address"),
    [("puppeteer", "cdp_url"), ("playwright", "cdp_url"), ("playwright", "http_url")],
)
def test_a_client_for_node_works_on_a_page_and_a_replay_does_the_same(
    client, address, browser, tmp_path
):
    (tmp_path / "node_modules").symlink_to(MODULES)
    script = shutil.copy(Path(__file__).parent / f"{client}.mjs", tmp_path)
    printed = []

    @Solving
    def agent(env):
        env.reset()
        with env.hand_over() as handed:
            command = ["node", script, getattr(handed, address)]
            printed.append(subprocess.run(command, capture_output=True, text=True, check=True))

    def run(pace):
        page = Pages(tmp_path / "pages", browser).make(FORM)
        return play(agent, page, lambda *call: "reply", raising=True, steps=100, pace=pace)[0]

    pace = Pace()
    first, again = run(pace), run(Pace(pace.moves, strict=True))
    assert printed[0].stdout.split() == printed[1].stdout.split() == ["Ann", "true", "true"]
    assert actions(first) == [
        'enter "Ann" to <input #name>', 'click <button> "Ask"', 'accept "Sure?"',
        'click <button> "In"', 'choose "two" in <select>', 'click <button> "Go"',
        'click <button> "Late"',
    ]  # fmt: skip
    assert first.solved
    assert again.events == first.events
