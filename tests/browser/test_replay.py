"""Replays of recorded items: equal events wherever they run, also after a lost browser."""

import json
import os
import subprocess
import sys
import time

import pytest
from projects import ROOT, SUITE_RUNS
from selenium_grid import free_port

# One worker makes the replays that the tests compare; one of the tests needs the Grid.
pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("grid")]

SUITE = 69
"""Number of items in the shipped suite."""

FEW = "(pie or autocomplete or collapsible-2) and 1000 or menu-2 and 1001"
"""Selects items with animations, delays and lists, and one that is not solved."""


def replay(folder, *args, **env):
    """Replay the shipped suite in a process of its own; its events, and where it slept."""
    events, slept = folder / "events.json", folder / "slept.txt"
    slept.write_text("")
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "tests/test_suite.py", "-p", "events_plugin", *args],
        cwd=ROOT,
        env={
            **os.environ,
            "PYTEST_ADDOPTS": SUITE_RUNS,
            "PYTHONPATH": str(ROOT / "tests"),
            "EVENTS": str(events),
            "SLEPT": str(slept),
            **env,
        },
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert result.returncode == pytest.ExitCode.OK, result.stdout
    return json.loads(events.read_text()), slept.read_text()


@pytest.fixture(scope="module", params=["few", pytest.param("all", marks=pytest.mark.sweep)])
def selected(request):
    """The arguments that select the items to replay."""
    return ["-k", FEW] if request.param == "few" else []


@pytest.fixture(scope="module")
def plain(selected, tmp_path_factory):
    """A replay in order, in one process and without a window."""
    folder = tmp_path_factory.mktemp("plain")
    return replay(folder, "-p", "no:randomly", *selected)


def test_every_item_replays_from_its_cassette_alone(plain, selected):
    outcomes, _ = plain
    assert len(outcomes) == (4 if selected else SUITE)
    for outcome, carried in outcomes.values():
        assert outcome in ("passed", "skipped")  # skipped: how a report says xfailed
        assert carried["recorded"]["calls"] == carried["left"]["calls"] == 0
        assert carried["replayed"]["calls"] == carried["episode"]["calls"]


def test_a_replay_does_not_sleep(plain):
    _, slept = plain
    assert slept == ""


FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>/usr/share/fonts</dir>
  <cachedir>{folder}</cachedir>
  <match target="pattern">
    <edit name="family" mode="assign" binding="strong"><string>monospace</string></edit>
    <edit name="weight" mode="assign" binding="strong"><const>bold</const></edit>
  </match>
</fontconfig>
"""


def test_workers_order_fonts_language_and_time_zone_make_no_difference(plain, selected, tmp_path):
    fonts = tmp_path / "fonts.conf"
    fonts.write_text(FONTS.format(folder=tmp_path))
    elsewhere = {"TZ": "Asia/Tokyo", "LANG": "de_DE.UTF-8", "FONTCONFIG_FILE": str(fonts)}
    outcomes, _ = replay(tmp_path, "-n", "2", *selected, **elsewhere)
    assert outcomes == plain[0]


def test_a_window_makes_no_difference(plain, selected, tmp_path, display):
    """Without -n: two windows on one display would take each other's focus."""
    display.move_mouse(60, 250)  # over the task, as a mouse may well be
    args = ["-p", "no:randomly", "--miniwob-headed", *selected]
    assert replay(tmp_path, *args, DISPLAY=display.name) == plain


def test_a_grid_makes_no_difference(plain, selected, tmp_path, grid):
    """With two workers, each at a port after the one that is given."""
    serve = f"--miniwob-serve=127.0.0.1:{free_port()}"
    outcomes, _ = replay(tmp_path, "-n2", f"--miniwob-remote={grid.with_user}", serve, *selected)
    assert outcomes == plain[0]
    assert grid.sessions() == []


def test_all_43_tasks_have_a_solved_episode():
    """As the shipped suite is replayed against this baseline."""
    lines = (ROOT / "cassettes" / "results.jsonl").read_text(encoding="utf-8").splitlines()
    items = [json.loads(line) for line in lines[1:]]
    assert len(items) == SUITE
    assert len({item["task"] for item in items if item["outcome"] == "solved"}) == 43


CLUMSY = """
    import os
    import pytest
    from processes import kill
    from pytest_miniwob_agent import Click, Press
    from pytest_miniwob_agent.testing import ScriptedLLM

    class Clumsy:
        '''Calls the model, kills its browser or the driver, and calls it again.'''

        name = "clumsy"

        def __init__(self, browser, kills):
            self.browser, self.kills = browser, kills

        def solve(self, env, llm, note):
            env.reset()
            llm.complete("first", "plan")
            if self.kills:
                kill(self.browser.driver, self.kills.pop())
            env.step(Press("TAB"))
            llm.complete("second", "plan")

    KILLS = {2: ["browser"], 4: ["driver"], 5: ["browser", "browser"]}

    @pytest.fixture
    def miniwob_agent(miniwob_browser, miniwob_case):
        kills = KILLS if "KILL" in os.environ else {}
        return Clumsy(miniwob_browser, kills.get(miniwob_case.seed, []))

    @pytest.mark.miniwob("click-button", seeds="1-6")
    def test_runs(miniwob_episode):
        assert (miniwob_episode.steps, miniwob_episode.calls) == (1, 2)
"""


def test_an_item_whose_browser_dies_is_run_again_once_and_loses_no_completion(
    pytester, chat_server, monkeypatch
):
    monkeypatch.setenv("KILL", "1")
    pytester.makepyfile(CLUMSY)
    pytester.makeini("[pytest]\nminiwob_model = m\naddopts = -p no:randomly\n")
    result = pytester.runpytest(
        "--miniwob-record=new_episodes", f"--miniwob-base-url={chat_server.url}", "-v"
    )
    result.assert_outcomes(passed=5, errors=1)
    result.stdout.fnmatch_lines(["*/5[]] ERROR*", "*/6[]] PASSED*"])  # it gets a new browser
    result.stdout.fnmatch_lines(["the browser failed while doing press TAB: *"])
    assert len(chat_server.requests) == 11  # none twice, and one of the item that is an error
    result.stdout.fnmatch_lines(["model calls: 0 replayed, 11 recorded"])
    monkeypatch.delenv("KILL")
    result = pytester.runpytest()
    result.assert_outcomes(passed=5, errors=1)  # the error is not recorded
    result.stdout.fnmatch_lines(["model calls: 10 replayed, 0 recorded"])


def slow_model(delay):
    """A model that takes real time, and does something on each of the tasks below."""

    def reply(prompt):
        time.sleep(delay)
        if "Say in one short sentence" in prompt:
            return "Something was done."
        if "Answer with one line of this form" in prompt:
            return "For action index=0, you should click id=2."
        return 'enter "Al" to id=2\npress ARROWDOWN' if "Enter an item" in prompt else "click id=1"

    return reply


def test_the_pace_of_the_model_makes_no_difference(pytester, chat_server):
    """A model that takes its time and one that takes none give equal episodes."""
    pytester.makepyfile(
        """
        import json
        import pytest

        @pytest.mark.miniwob("use-autocomplete", "click-pie", seeds=[1], trials=1, steps=2)
        def test_runs(miniwob_case, miniwob_episode):
            with open(f"{miniwob_case.task}.json", "w") as file:
                json.dump(miniwob_episode.to_data(), file)
        """
    )
    pytester.makeini("[pytest]\nminiwob_model = m\naddopts = -p no:randomly\n")
    episodes = []
    for pace in (0, 0.2):
        chat_server.reply = slow_model(pace)
        result = pytester.runpytest("--miniwob-record=all", f"--miniwob-base-url={chat_server.url}")
        result.assert_outcomes(passed=2)
        episodes.append([file.read_text() for file in sorted(pytester.path.glob("*.json"))])
    assert len(episodes[0]) == 2
    assert episodes[0] == episodes[1]
