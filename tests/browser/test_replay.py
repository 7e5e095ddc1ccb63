"""The shipped suite replays to the same events however it is run, and survives a lost browser."""

import json
import os
import subprocess
import sys
import time

import pytest
from projects import ROOT


def replay(folder, *args, **env):
    """Replay the shipped suite in a process of its own; its events and where it slept."""
    events, slept = folder / "events.json", folder / "slept.txt"
    slept.write_text("")
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "tests/test_suite.py", "-p", "events_plugin", *args],
        cwd=ROOT,
        env={
            **os.environ,
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


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return replay(tmp_path_factory.mktemp("plain"), "-p", "no:randomly")


def test_every_item_replays_from_its_cassette_alone(plain):
    outcomes, _ = plain
    assert len(outcomes) == 69
    for outcome, carried in outcomes.values():
        assert outcome in ("passed", "skipped")  # skipped: how a report says xfailed
        assert carried["recorded"]["calls"] == carried["left"]["calls"] == 0
        assert carried["replayed"]["calls"] == carried["episode"]["calls"]


def test_a_replay_does_not_sleep(plain):
    assert plain[1] == ""


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


def test_the_machines_fonts_make_no_difference(plain, tmp_path):
    config = tmp_path / "fonts.conf"
    config.write_text(FONTS.format(folder=tmp_path))
    outcomes, _ = replay(tmp_path, "-p", "no:randomly", "-n", "2", FONTCONFIG_FILE=str(config))
    assert outcomes == plain[0]


def test_a_window_makes_no_difference(plain, tmp_path, display):
    """Without -n: two windows on one display would take each other's focus."""
    display.move_mouse(60, 250)  # over the task, as a mouse may well be
    outcomes, _ = replay(tmp_path, "-p", "no:randomly", "--miniwob-headed", DISPLAY=display.name)
    assert outcomes == plain[0]


@pytest.mark.parametrize(
    ("args", "env"),
    [
        (["-n", "2"], {}),
        (["-p", "no:randomly", "-n", "2", "--dist", "loadgroup"], {}),
        (["-p", "no:randomly", "-n", "3"], {"TZ": "Asia/Tokyo", "LANG": "de_DE.UTF-8"}),
    ],
    ids=["workers", "loadgroup", "elsewhere"],
)
def test_outcomes_and_events_are_the_same_item_by_item(plain, tmp_path, args, env):
    outcomes, _ = replay(tmp_path, *args, **env)
    assert outcomes.keys() == plain[0].keys()
    for item, carried in outcomes.items():
        assert carried == plain[0][item], item


def test_all_43_tasks_have_a_solved_episode(plain):
    solved = {
        carried["episode"]["case"].split("/")[1]
        for _, carried in plain[0].values()
        if carried["episode"]["solved"]
    }
    assert len(solved) == 43


CLUMSY = """
    import os, signal
    import pytest
    from pytest_miniwob_agent import Click, Press
    from pytest_miniwob_agent.testing import ScriptedLLM

    class Clumsy:
        '''Asks, kills its browser or the driver as it is told, and asks again.'''

        name = "clumsy"

        def __init__(self, browser, kills):
            self.browser, self.kills = browser, kills

        def solve(self, env, llm, note):
            env.reset()
            llm.complete("first", "plan")
            if self.kills:
                victim = self.kills.pop()
                driver = self.browser.driver
                pid = (
                    driver.capabilities["goog:processID"]
                    if victim == "browser"
                    else driver.service.process.pid
                )
                os.kill(pid, signal.SIGKILL)
            env.step(Press("TAB"))
            llm.complete("second", "plan")

    KILLS = []

    @pytest.fixture
    def miniwob_agent(miniwob_browser, miniwob_case):
        return Clumsy(miniwob_browser, list(KILLS) if miniwob_case.seed == 2 else [])

    @pytest.mark.miniwob("click-button", seeds=[1, 2, 3])
    def test_runs(miniwob_episode):
        assert (miniwob_episode.steps, miniwob_episode.calls) == (1, 2)
"""


@pytest.mark.parametrize("victim", ["browser", "driver"])
def test_an_item_whose_browser_dies_is_begun_again_and_loses_no_completion(
    pytester, chat_server, victim
):
    pytester.makepyfile(CLUMSY.replace("KILLS = []", f"KILLS = [{victim!r}]"))
    pytester.makeini("[pytest]\nminiwob_model = m\naddopts = -p no:randomly\n")
    result = pytester.runpytest_subprocess(
        "--miniwob-record=new_episodes", f"--miniwob-base-url={chat_server.url}"
    )
    result.assert_outcomes(passed=3)
    assert len(chat_server.requests) == 6  # no call was made twice
    result.stdout.fnmatch_lines(["model calls: 0 replayed, 6 recorded"])
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["model calls: 6 replayed, 0 recorded"])


def test_a_browser_that_dies_again_makes_its_item_an_error_and_the_next_gets_a_new_one(
    pytester, chat_server
):
    pytester.makepyfile(CLUMSY.replace("KILLS = []", "KILLS = ['browser'] * 2"))
    pytester.makeini("[pytest]\nminiwob_model = m\naddopts = -p no:randomly\n")
    result = pytester.runpytest_subprocess(
        "--miniwob-record=new_episodes", f"--miniwob-base-url={chat_server.url}"
    )
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["the browser failed while doing press TAB: *"])


DOOMED = """
    import json, os, random, signal, threading
    import pytest

    KILLED = []

    class Doomed:
        # A page that loses its browser or the driver once, in or after one of its calls.

        def __init__(self, browser, case):
            self.browser, self.page = browser, browser.environment(case)
            chance = random.Random(case.id)
            with open("plain.txt") as file:
                steps = {id_: episode["steps"] for id_, episode in map(json.loads, file)}
            self.calls = chance.randrange(steps[case.id] + 1)
            self.delay = chance.uniform(0, 0.05)
            self.victim = chance.choice(["browser", "driver"])

        def call(self, method, *args):
            self.calls -= 1
            if self.calls != -1:
                return method(*args)
            driver = self.browser.driver
            pid = (
                driver.capabilities["goog:processID"]
                if self.victim == "browser"
                else driver.service.process.pid
            )
            timer = threading.Timer(self.delay, os.kill, (pid, signal.SIGKILL))
            timer.start()
            try:
                return method(*args)
            finally:
                timer.join()
                KILLED.append(self.victim)

        def reset(self):
            return self.call(self.page.reset)

        def step(self, action):
            return self.call(self.page.step, action)

    @pytest.fixture
    def miniwob_environment(miniwob_browser, miniwob_case):
        # Every second item only: a browser that dies after an item's last call fails the next one.
        if "KILL" in os.environ and miniwob_case.seed == 1000:
            return Doomed(miniwob_browser, miniwob_case)
        return miniwob_browser.environment(miniwob_case)

    @pytest.mark.miniwob(
        "click-menu-2", "click-pie", "click-tab-2", "email-inbox", "navigate-tree",
        "search-engine", "social-media", "use-autocomplete", seeds=[1000, 1001], trials=5,
    )
    def test_runs(miniwob_case, miniwob_episode):
        with open("episodes.txt", "a") as file:
            print(json.dumps([miniwob_case.id, miniwob_episode.to_data()]), file=file)

    def test_killed():
        assert len(KILLED) == (8 if "KILL" in os.environ else 0)
        assert not KILLED or set(KILLED) == {"browser", "driver"}
"""


def test_it_makes_no_difference_at_what_moment_the_browser_dies(pytester, monkeypatch):
    pytester.makepyfile(DOOMED)
    pytester.makeini(
        "[pytest]\naddopts = -p no:randomly\nminiwob_model = claude\n"
        f"miniwob_cassettes = {ROOT / 'cassettes'}\n"
    )
    episodes = []
    for kill in (False, True):
        if kill:
            monkeypatch.setenv("KILL", "1")
        pytester.runpytest_subprocess().assert_outcomes(passed=17)
        written = pytester.path / "episodes.txt"
        episodes.append(written.read_text().splitlines())
        written.rename(pytester.path / "plain.txt")
    assert len(episodes[0]) == 16
    assert episodes[0] == episodes[1]


def test_the_pace_of_the_model_makes_no_difference(pytester, chat_server):
    """A model that takes its time and one that takes none give the same episodes to the letter."""
    pytester.makepyfile(
        """
        import json
        import pytest

        @pytest.mark.miniwob("use-autocomplete", "click-collapsible-2", "click-pie", seeds=[1, 2])
        def test_runs(miniwob_case, miniwob_episode):
            with open(f"{miniwob_case.task}-{miniwob_case.seed}.json", "w") as file:
                json.dump(miniwob_episode.to_data(), file)
        """
    )
    pytester.makeini("[pytest]\nminiwob_model = m\naddopts = -p no:randomly\n")

    delays = []

    def reply(prompt):
        time.sleep(delays[-1])
        if "Say in one short sentence" in prompt:
            return "Something was done."
        if "Answer with one line of this form" in prompt:
            return "For action index=0, you should click id=2."
        return 'enter "Al" to id=2\npress ARROWDOWN' if "Enter an item" in prompt else "click id=1"

    chat_server.reply = reply
    episodes = []
    for delay in (0, 0.3):
        delays.append(delay)
        result = pytester.runpytest_subprocess(
            "--miniwob-record=all",
            f"--miniwob-base-url={chat_server.url}",
            "--miniwob-trials=2",
            "--miniwob-steps=4",
        )
        result.assert_outcomes(passed=6)
        files = sorted(pytester.path.glob("*.json"))
        episodes.append([file.read_text() for file in files])
    assert len(episodes[0]) == 6
    assert episodes[0] == episodes[1]
