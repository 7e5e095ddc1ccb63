"""`miniwob-agent new-task` and `open`, and the folders of pages of commands."""

import os
import subprocess
import sys
import textwrap
import threading
from contextlib import contextmanager

import pytest
from support.apps import APP
from support.projects import INNER_RUNS

from pytest_miniwob_agent.browser.own_page import open_page
from pytest_miniwob_agent.cli import main
from pytest_miniwob_agent.core.actions import Click
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.tasks.catalogue import Catalogue


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    return tmp_path


def test_a_new_task_is_a_page_that_works(here, browser, capsys):
    assert main(["new-task", "colours"]) == 0
    shown = capsys.readouterr().out
    assert "miniwob-agent open colours --pages tests/pages --seed 3" in shown
    assert "miniwob_pages = tests/pages in pytest.ini" in shown
    assert 'miniwob_pages = ["tests/pages"] in pytest.toml' in shown
    page = Catalogue([here / "tests" / "pages"]).pages["colours"]
    assert "open colours --pages tests/pages" in page.file.read_text()
    for wanted, reward in (("yellow", 1), ("red", -1)):
        env = open_page(browser, Case("colours", page.category, 3), page)
        seen = env.reset()
        assert seen.goal == "Choose yellow, then click Done."
        for text in (wanted, "Done"):
            [button] = [one.id for one in seen.elements if (one.tag, one.text) == ("button", text)]
            judged = env.step(Click(button))
        assert (judged.done, judged.reward) == (True, reward)
        assert env.remarks() == []


def test_commands_take_the_folders_of_the_ini_file_unless_some_are_given(here, capsys):
    (here / "pytest.ini").write_text("[pytest]\nminiwob_pages = web/pages\n")
    assert main(["new-task", "colours"]) == 0
    assert (here / "web" / "pages" / "colours.html").is_file()
    assert main(["tasks", "colours"]) == 0
    assert "colours   pages" in capsys.readouterr().out
    assert main(["new-task", "shapes", "--pages", "more"]) == 0
    capsys.readouterr()
    assert main(["tasks", "--pages", "more"]) == 0
    assert [line.split()[:2] for line in capsys.readouterr().out.splitlines()[1:]] == [
        ["shapes", "more"]
    ]


def test_an_ini_file_that_pytest_cannot_read_is_an_error(here, capsys):
    (here / "pytest.ini").unlink()
    (here / "pytest.toml").write_text('[pytest]\nminiwob_llm_params = {"temperature": 0}\n')
    assert main(["new-task", "colours"]) == 2
    assert "pytest.toml: Expected '='" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("there", "there.html exists: choose another name"),
        ("below", "pages/below.html and pages/deeper/below.html are both called 'below'"),
        ("click-tab", "click-tab.html of the miniwob package are both called 'click-tab'"),
        ("../x", "can't be called '../x'"),
    ],
)
def test_a_new_task_takes_no_name_that_is_taken_or_can_not_be(here, capsys, name, message):
    for file in ("there.html", "deeper/below.html"):
        (here / "pages" / file).parent.mkdir(parents=True, exist_ok=True)
        (here / "pages" / file).touch()
    assert main(["new-task", name, "--pages", "pages"]) == 2
    assert message in capsys.readouterr().err
    assert not [path for path in here.rglob("*.html") if path.stat().st_size]


@pytest.mark.parametrize("command", ["open", "certify"])
def test_pages_that_are_no_tests_take_no_arguments_for_pytest(capsys, command):
    assert main([command, "click-tab", "--", "-x"]) == 2
    assert "arguments after -- are for pytest, which runs only" in capsys.readouterr().err


def test_opening_a_page_needs_a_task_and_a_display(here, capsys, monkeypatch):
    monkeypatch.setenv("DISPLAY", ":0")
    assert main(["open", "click-tb"]) == 2
    assert "matches 'click-tb' (did you mean click-tab" in capsys.readouterr().err
    monkeypatch.delenv("DISPLAY")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    if sys.platform == "linux":
        assert main(["open", "click-tab"]) == 2
        assert "open opens a window, and there is no display" in capsys.readouterr().err


PAGE = """
    <!DOCTYPE html><body><p>Move the mouse.</p><img src="none.png">
    <script>
      let moved = 0;
      document.documentElement.style.height = "100%";
      window.onmousemove = () => { moved = 1; };
      const task = { goal: (seed) => `Move, ${seed}.`, reward: () => moved };
    </script>
"""


@contextmanager
def opened(display, *arguments):
    """The command in a window; what writes to it, and what reads its lines until one has a text."""
    shown = subprocess.Popen(
        [sys.executable, "-m", "pytest_miniwob_agent", "open", *arguments],
        env=os.environ | {"DISPLAY": display.name},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )

    def write(text):
        shown.stdin.write(text)
        shown.stdin.flush()

    def read_until(text):
        lines = []
        for line in shown.stdout:
            lines.append(line.strip())
            if text in line:
                return lines
        pytest.fail(f"{text!r} is not in {lines}")

    try:
        yield write, read_until
        assert shown.wait(300) == 0
    finally:
        shown.kill()
        shown.communicate()


@contextmanager
def moving_mouse(display):
    stop = threading.Event()

    def move():
        place = 0
        while not stop.wait(0.05):
            place += 1
            display.move_mouse(200 + place % 50, 300)

    hand = threading.Thread(target=move)
    hand.start()
    yield
    stop.set()
    hand.join()


@pytest.mark.integration
def test_a_page_is_shown_with_goal_and_reward_and_again_when_it_changes(here, display):
    page = here / "pages" / "move.html"
    page.parent.mkdir()
    page.write_text(PAGE)
    with opened(display, "move", "--pages=pages", "--seed=3") as (write, read_until):
        assert read_until("none.png")[1:] == [
            "pages/move/3", "goal: Move, 3.", "page: there is no file /none.png"
        ]  # fmt: skip
        with moving_mouse(display):
            assert read_until("reward")[-1] == "reward: 1, solved; Enter begins again"
        page.write_text(PAGE.replace("reward:", "rewards:"))
        assert read_until("task.reward")[0] == "changed: move.html"
        page.write_text(PAGE.replace("`Move", "`Go"))
        assert read_until("goal")[-1] == "goal: Go, 3."
        write("n\nq\n")
        assert read_until("goal")[-1] == "goal: Go, 4."


MOVES = """
    MOVES = []
    SCRIPT = "let moves = 0; const move = () => moves++ || fetch('/move', { method: 'POST' });"

    class Handler(AppHandler):
        def do_GET(self):
            self.answer("<body onmousemove=move()>Move the mouse.<script>" + SCRIPT + "</script>")

        def do_POST(self):
            MOVES.append(1)
            self.answer("{}", "application/json")
"""

MOVE = """
    import pytest
    from conftest import MOVES
    from pytest_miniwob_agent import AppTask

    def clear(app, seed):
        assert seed != 2, "there is no list"
        MOVES.clear()

    MOVE = AppTask(
        "move", app="app", goal=lambda seed: f"Move, {seed}.",
        setup=clear, reward=lambda app, trial: bool(MOVES),
    )

    @pytest.mark.miniwob(MOVE, seeds=[2, 5, 3, 4])
    def test_moves(miniwob_episode):
        pass
"""


@pytest.mark.sweep
@pytest.mark.integration
def test_an_app_is_shown_with_goal_and_reward_and_what_is_wrong(here, display):
    (here / "pytest.ini").write_text(f"[pytest]\naddopts = {INNER_RUNS}\n")
    (here / "conftest.py").write_text(textwrap.dedent(APP + MOVES))
    (here / "test_moves.py").write_text(textwrap.dedent(MOVE))
    selected = (
        "test_moves.py::test_moves",
        "--",
        "--deselect=test_moves.py::test_moves[apps/move/5]",
    )
    with opened(display, *selected) as (write, read_until):
        assert read_until("no list")[-1].endswith("AssertionError: there is no list")
        write("n\n")
        assert read_until("goal")[-2:] == ["apps/move/3", "goal: Move, 3."]
        with moving_mouse(display):
            assert read_until("reward")[-1] == "reward: 1, solved; Enter begins again"
        write("n\n")
        assert read_until("goal")[-1] == "goal: Move, 4."
        write("\n")
        assert read_until("goal")[-1] == "goal: Move, 4."
        write("q\n")
    assert not (here / "cassettes").exists()
