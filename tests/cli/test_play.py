"""Watching an item: `miniwob-agent show`, `play` and `doctor`, and `--miniwob-slowmo`."""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from projects import FAKE_PAGE, ROOT, solve_menu

from pytest_miniwob_agent.browser.environment import MiniwobEnvironment
from pytest_miniwob_agent.browser.process import Browser
from pytest_miniwob_agent.cli import main
from pytest_miniwob_agent.core.actions import Click
from pytest_miniwob_agent.core.case import Case


@pytest.fixture
def call(project, capsys, monkeypatch):
    """Call the command in the project's folder: its status and output."""
    monkeypatch.chdir(project.path)

    def call(*args):
        capsys.readouterr()
        status = main(args)
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call


def clumsy(prompt):
    """A model that clicks the wrong entry until it is told, and then another one."""
    if "Answer with one line of this form" in prompt:
        return "For action index=1, you should click id=2."
    return "click id=3" if ">Save<" in prompt else solve_menu(prompt)


@pytest.fixture
def recorded(project, chat_server):
    """One item that is solved in its second trial."""
    chat_server.reply = clumsy
    project.runpytest(
        "-k", "click-menu-2/1", "--miniwob-record=once", f"--miniwob-base-url={chat_server.url}"
    ).assert_outcomes(passed=1, deselected=11)
    return project


EPISODE = """\
item: n-screen-n-step/click-menu-2/1
goal: Open the menu and click Save, for click-menu-2 1

=== trial 1 ===
screen:
  <button id="1" pos="top-left">Menu</button>

call 1, plan, 11 + 3 tokens
    click id=1

action 0: click id=1
screen:
  <button id="1" pos="top-left">Menu</button>
  <a id="2" pos="top-left">Save</a>
  <a id="3" pos="top-left">Quit</a>

call 2, summarise, 11 + 3 tokens
    The menu was opened.

call 3, plan, 11 + 3 tokens
    click id=3

action 1: click id=3
  the page ends the trial with reward -1

trial 1 ends: failed, reward -1

=== trial 2 ===
screen:
  <button id="1" pos="top-left">Menu</button>

call 4, reflect, 11 + 3 tokens
    For action index=1, you should click id=2.
reflection: action 1 is to be click id=2
  not to be clicked there any more: id=3

action 0: click id=1
screen:
  <button id="1" pos="top-left">Menu</button>
  <a id="2" pos="top-left">Save</a>
  <a id="3" pos="top-left">Quit</a>

action 1: click id=2
  the page ends the trial with reward 1

trial 2 ends: correct

solved in trial 2, best reward 1: reflective with m
"""


class TestShow:
    def test_it_tells_the_whole_episode(self, recorded, call):
        assert call("show", "click-menu-2/1") == (0, EPISODE, "")

    def test_all_ways_to_name_an_item_mean_the_same(self, recorded, call):
        module = next(recorded.path.glob("test_*.py")).name
        node = f"{module}::test_solves[n-screen-n-step/click-menu-2/1]"
        for name in ("n-screen-n-step/click-menu-2/1", node):
            assert call("show", name) == (0, EPISODE, "")

    def test_full_has_prompts_too(self, recorded, call):
        status, out, _ = call("show", "click-menu-2/1", "--full")
        assert status == 0
        assert out.count("  prompt:\n") == out.count("  completion:\n") == 4
        assert "Open the menu and click Save" in out.partition("  prompt:\n")[2]

    def test_a_failed_item_is_told_to_its_end(self, project, chat_server, call):
        chat_server.reply = lambda prompt: "click id=3" if ">Save" in prompt else "click id=1"
        project.runpytest(
            "-k", "click-tab/1", "--miniwob-record=once", f"--miniwob-base-url={chat_server.url}"
        ).assert_outcomes(failed=1, deselected=11)
        status, out, _ = call("show", "click-tab/1")
        assert status == 0
        assert "\naction 1: click id=3\n  the page ends the trial with reward -1\n" in out
        assert out.endswith("\nnot solved, best reward -1: reflective with m\n")

    def test_an_item_that_drifts_is_told_up_to_there(self, recorded, call):
        recorded.makeconftest(FAKE_PAGE.replace('"Save"', '"Store"'))
        status, out, _ = call("show", "click-menu-2/1")
        assert status == 1
        assert out.startswith(EPISODE.partition("action 0")[0] + "action 0: click id=1\nscreen:\n")
        assert '  <a id="2" pos="top-left">Store</a>\n' in out
        assert "\nit goes no further: reflective with m\n" in out
        assert out.count("=== trial") == 1

    def test_an_item_that_is_not_recorded_says_how_to_record_it(self, recorded, call):
        status, out, _ = call("show", "click-menu-2/2")
        assert status == 1
        assert "goal: Open the menu and click Save, for click-menu-2 2\n" in out
        assert re.search(r"\nRecord it with: pytest .*--miniwob-record=new_episodes\n", out)

    @pytest.mark.parametrize(
        ("case", "told"),
        [
            ("click-menu-2/77", "no item here is called click-menu-2/77"),
            ("1", r"\d+ items are called 1; name one of .*click-menu-2/1\]"),
        ],
    )
    def test_a_name_of_no_item_or_of_several_is_told(self, recorded, call, case, told):
        status, out, err = call("show", case)
        assert (status, out) == (2, "")
        assert re.match(f"miniwob-agent: {told}", err)

    def test_it_needs_items(self, pytester, call):
        for path in pytester.path.glob("test_*.py"):
            path.unlink()
        status, _, err = call("show", "click-menu-2/1")
        assert status == 2
        assert "no MiniWoB++ item here: run this where your tests are" in err

    def test_what_pytest_says_is_told_where_it_can_not_run(self, recorded, call):
        recorded.makepyfile(test_broken="import nothing_of_that_name")
        status, _, err = call("show", "click-menu-2/1")
        assert status == 2
        assert "nothing_of_that_name" in err

    def test_a_browser_that_is_lost_is_told(self, recorded, call):
        recorded.makeconftest(
            FAKE_PAGE.replace("return FakeEnvironment(", "return Frail(")
            + """
    from pytest_miniwob_agent import BrowserLost

    class Frail(FakeEnvironment):
        left = 3  # actions until it is lost

        def step(self, action):
            self.left -= 1
            if not self.left:
                raise BrowserLost("it crashed")
            return super().step(action)
"""
        )
        status, out, _ = call("show", "click-menu-2/1")
        assert status == 0
        first, anew = out.split("\nThe browser was lost: the episode begins again in a new one.\n")
        assert "\naction 0: click id=1\n" in first
        assert f"item: n-screen-n-step/click-menu-2/1\n{anew}" == EPISODE

    def test_it_writes_nothing(self, recorded, call):
        before = {path: path.stat().st_mtime_ns for path in files(recorded.path)}
        with recorded.path.joinpath("tox.ini").open("a") as ini:
            ini.write("\n  --miniwob-report=report --junitxml=junit.xml -n 2\n")
            ini.write("miniwob_results = results.jsonl\nminiwob_record = all\n")
        assert call("show", "click-menu-2/1")[:2] == (0, EPISODE)
        after = {path: path.stat().st_mtime_ns for path in files(recorded.path)}
        changed = {path.name for path in after if after[path] != before.get(path)}
        assert changed == {"tox.ini"}

    def test_a_reader_who_has_enough_is_no_trouble(self, recorded):
        reader, writer = os.pipe()
        os.close(reader)
        result = subprocess.run(
            [sys.executable, "-m", "pytest_miniwob_agent", "show", "click-menu-2/1"],
            cwd=recorded.path, stdout=writer, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        os.close(writer)
        assert (result.returncode, result.stderr) == (1, "")

    def test_nothing_of_a_page_or_a_model_moves_the_cursor(self, project, chat_server, call):
        evil = "\\x1b[2J\\u202e\\n::error::x"
        project.makeconftest(FAKE_PAGE.replace('"Menu"', f'"Menu{evil}"').replace("Open", evil))
        chat_server.reply = lambda prompt: "\x1b[2J\u202e\n::error::"
        project.runpytest(
            "-k", "click-tab/1", "--miniwob-record=once", f"--miniwob-base-url={chat_server.url}"
        )
        status, out, _ = call("show", "click-tab/1", "--full")
        assert status == 0
        assert not re.search("\x1b|\u202e|^ *::", out, re.M)


def files(folder):
    """All files of a folder but what Python and pytest keep for themselves."""
    return {
        path
        for path in folder.rglob("*")
        if path.is_file() and not {"__pycache__", ".pytest_cache"} & set(path.parts)
    }


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_the_command_of_a_failure_shows_the_item(project, chat_server, workers):
    """With the agent, cassettes and limits of the run, in the folder in which it ran."""
    chat_server.reply = lambda prompt: "click id=3" if ">Save" in prompt else "click id=1"
    result = project.runpytest(
        "-k", "click-tab/1", "--miniwob-record=once", f"--miniwob-base-url={chat_server.url}",
        "--miniwob-model=other model", '--miniwob-agent-params={"memory": "plain"}',
        "--miniwob-cassettes=my cassettes", "--miniwob-trials=2", "--miniwob-report=my report",
        workers,
    )  # fmt: skip
    lines = dict(line.split(": ", 1) for line in result.outlines if ": " in line)
    assert lines["in the report"] == "my report/index.html#/item/1-screen-1-step/click-tab/1"
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    shown = subprocess.run(
        lines["all of it"], shell=True, cwd=project.path, env={**os.environ, "PATH": path},
        capture_output=True, text=True,
    )  # fmt: skip
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.endswith(
        "\nnot solved, best reward -1: reflective-plain-memory with other model\n"
    )
    assert shown.stdout.count("=== trial") == 2


class TestDoctor:
    def test_all_is_well(self, recorded, call, monkeypatch):
        monkeypatch.setenv("OPENAI_API_KEY", "sk-" + "secret" * 5)
        status, out, err = call("doctor", "--", "-k", "click-menu-2/1")
        assert (status, err) == (0, "")
        assert "secret" not in out
        lines = out.splitlines()
        assert all(line.startswith("ok ") for line in lines[:-1])
        assert lines[-1] == "nothing to fix"
        for told in (
            "Python +3.", "pytest-miniwob-agent +0.", "pytest +9.", "selenium +4.", "openai +3.",
            "vcrpy +9.", "lxml +6.", "miniwob +1.", "pytest-xdist +3.", "Chromium +[1-9]",
            "chromedriver +[1-9]", "page +click-button loads, [1-9]", "font +Roboto for all text",
            "items +1 with recorded calls of reflective/m", "cassettes +1 of 1 recorded in cass",
            "OPENAI_API_KEY +is set",
        ):  # fmt: skip
            assert re.search(f"^ok +{told}", out, re.M), told

    def test_it_works_where_there_is_no_project(self, pytester, call, monkeypatch):
        folder = pytester.mkdir("nothing")
        monkeypatch.chdir(folder)
        status, out, _ = call("doctor")
        assert status == 0
        assert "\nnote  items                 no item here uses a cassette\n" in out
        assert "\nnote  OPENAI_API_KEY        is not set, and only recording needs it\n" in out

    def test_a_browser_that_is_not_there(self, pytester, call):
        status, out, _ = call("doctor", "--browser", "/no/chromium")
        assert status == 1
        assert "\nWRONG Chromium              no browser at '/no/chromium'" in out
        assert not re.search(r"^\w+ +page ", out, re.M)

    def test_a_driver_of_another_version(self, pytester, call, monkeypatch):
        driver = pytester.path / "chromedriver"
        driver.write_text("#!/bin/sh\necho ChromeDriver 99.0.1\n")
        driver.chmod(0o755)
        monkeypatch.setenv("PATH", f"{pytester.path}:{os.environ['PATH']}")
        status, out, _ = call("doctor")
        assert status == 1
        assert f"\nWRONG chromedriver          99.0.1 ({driver})\n" in out
        assert re.search(r"-> install the one of Chromium.s version, [1-9][\d.]+: on Debian", out)
        assert re.search(r"^WRONG page +.* did not start: ", out, re.M)

    def test_a_font_that_is_not_ours(self, pytester):
        files = pytester.mkdir("font_roboto").joinpath("files")
        files.mkdir()
        files.parent.joinpath("__init__.py").touch()
        files.joinpath("Roboto-Regular.ttf").write_bytes(b"no font")
        result = subprocess.run(
            [sys.executable, "-m", "pytest_miniwob_agent", "doctor"],
            cwd=pytester.path, capture_output=True, text=True,
        )  # fmt: skip
        assert result.returncode == 1
        assert re.search(r"^WRONG font +.* of this machine for all text\n", result.stdout, re.M)
        assert "pip install --force-reinstall font-roboto" in result.stdout

    def test_cassettes_that_are_missing_or_damaged(self, recorded, call):
        (cassette,) = recorded.path.glob("cassettes/*/*/*/*.yaml")
        cassette.write_text("<<<<<<< HEAD\n")
        status, out, _ = call("doctor")
        assert status == 1
        assert re.search(
            "^WRONG cassettes +1 of 12 recorded in cassettes, not reflective/m/.* and others\n"
            " +-> pytest --miniwob-record=new_episodes records them\n"
            "WRONG cassettes +1 problem, such as cassettes/.*: damaged\n"
            " +-> miniwob-agent cassettes lint lists them all\n",
            out, re.M,
        )  # fmt: skip
        assert out.endswith("\n2 to fix\n")

    def test_tests_that_can_not_be_collected(self, recorded, call):
        recorded.makepyfile(test_broken="import nothing_of_that_name")
        status, out, _ = call("doctor")
        assert status == 1
        assert re.search("^WRONG items +pytest can't collect the items", out, re.M)


def replay(folder, *args, **env):
    """Outcomes and events of some shipped items, to the byte."""
    events = folder / "events.json"
    result = subprocess.run(
        [
            sys.executable, "-m", "pytest", "-q", "-p", "events_plugin", "-p", "no:randomly", "-k",
            "click-tab-2/1000 or click-scroll-list or search-engine/1000 or click-menu-2/1001",
            *args, str(ROOT / "tests" / "test_suite.py"),
        ],
        cwd=ROOT, capture_output=True, text=True,
        env=os.environ | env | {
            "EVENTS": str(events), "SLEPT": str(folder / "slept"),
            "PYTHONPATH": str(ROOT / "tests"),
        },
    )  # fmt: skip
    assert result.returncode == 0, result.stdout
    return events.read_bytes()


class TestSlowmo:
    def test_it_changes_nothing_of_what_happens(self, tmp_path, display):
        plain = replay(tmp_path)
        assert plain.count(b'"kind": "act"') > 20
        window = ["--miniwob-headed", "--miniwob-slowmo=20"]
        assert replay(tmp_path, *window, DISPLAY=display.name) == plain
        assert (tmp_path / "slept").read_text()

    def test_the_pointer_shows_where_an_action_is_and_in_no_picture(self, display, monkeypatch):
        monkeypatch.setenv("DISPLAY", display.name)
        pictures = []
        for slowmo in (1, None):
            window = Browser(headed=True, slowmo=slowmo)
            try:
                page = MiniwobEnvironment(window, Case("click-test-2", "other", 1))
                element = next(one for one in page.reset().elements if one.tag == "button")
                assert not shows_pointer(window)
                shot = page.look(Click(element.id))
                pictures.append(shot)
                assert shows_pointer(window) == bool(slowmo)
                if slowmo:
                    place = window.driver.execute_script(
                        "const box = document.querySelector('miniwob-pointer')"
                        ".getBoundingClientRect(); return [box.left + 1, box.top + 1]"
                    )
                    assert tuple(place) == shot.points[0]
                assert page.look(Click(element.id)).png == shot.png
                assert page.step(Click(element.id)).done
                assert shows_pointer(window) == bool(slowmo)
            finally:
                window.close()
        assert pictures[0] == pictures[1]

    @pytest.mark.parametrize(
        ("args", "told"),
        [
            (["--miniwob-slowmo=100"], "--miniwob-slowmo goes with --miniwob-headed, which shows"),
            (["--miniwob-headed", "--miniwob-slowmo=fast"], "'fast' is no number from 1 up"),
        ],
    )
    def test_it_needs_a_window_and_a_number(self, project, args, told):
        result = project.runpytest(*args)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines([f"ERROR: *{told}*"])

    def test_in_the_ini_file_it_waits_for_a_window(self, recorded):
        with recorded.path.joinpath("tox.ini").open("a") as ini:
            ini.write("\nminiwob_slowmo = 100\n")
        recorded.runpytest("-k", "click-menu-2/1").assert_outcomes(passed=1, deselected=11)


class Terminal:
    """A terminal with the command in it."""

    def __init__(self, *args, **env):
        self._keys, theirs = pty.openpty()
        self._process = subprocess.Popen(
            [sys.executable, "-c", OWN_TERMINAL, *args],
            stdin=theirs, stdout=theirs, stderr=theirs, cwd=ROOT, env=os.environ | env,
            start_new_session=True,
        )  # fmt: skip
        os.close(theirs)
        self.said = ""

    def read_until(self, text):
        """What is said from here on up to `text`, that included; to the end if it is not said."""
        start = len(self.said)
        while text not in self.said[start:]:
            try:
                more = os.read(self._keys, 4096)
            except OSError:  # how Linux says that nobody has the terminal any more
                more = b""
            if not more:
                break
            self.said += more.decode().replace("\r", "")
        return self.said[start:]

    def press(self, keys):
        os.write(self._keys, keys.encode())

    def end(self):
        """The exit status, once all is said."""
        self.read_until("\0")
        os.close(self._keys)
        return self._process.wait()


OWN_TERMINAL = """
import fcntl, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # that keys such as Ctrl-C reach this process
from pytest_miniwob_agent.cli import main
sys.exit(main(sys.argv[1:]))
"""


class TestPlay:
    PROMPT = "[Enter goes on, q quits] "

    def test_each_action_waits_for_a_key(self, display):
        terminal = Terminal("play", "click-menu-2/1000", DISPLAY=display.name)
        first = terminal.read_until(self.PROMPT)
        assert first.startswith("item: n-screen-n-step/click-menu-2/1000\ngoal: Click the")
        assert first.endswith(f"call 1, plan\n    click id=1\n\nnext: click id=1  {self.PROMPT}")
        actions = 0
        said = first
        while "next: " in said:
            terminal.press("\n")
            actions += 1
            said = terminal.read_until(self.PROMPT)
            assert said.count("\naction ") == 1
            assert f"\naction {actions - 1}: " in said
        assert "ends the trial with reward 1\n\ntrial 1 ends: correct\n" in said
        assert said.endswith(f"\nthe episode ends here  {self.PROMPT}")
        terminal.press("\n")
        assert terminal.end() == 0
        assert terminal.said.endswith(
            "\nsolved in trial 1, best reward 1: reflective with claude\n"
        )
        assert actions > 1

    @pytest.mark.parametrize(("keys", "status"), [("q\n", 0), ("\4", 0), ("\3", 130)])
    def test_it_can_be_left(self, display, keys, status):
        """By a word, the end of input, and an interrupt, which is what U+0003 is to a terminal."""
        terminal = Terminal("play", "click-menu-2/1000", DISPLAY=display.name)
        terminal.read_until(self.PROMPT)
        terminal.press(keys)
        assert terminal.end() == status
        assert "\naction" not in terminal.said
        assert "Traceback" not in terminal.said

    def test_auto_needs_nobody(self, display):
        result = subprocess.run(
            [sys.executable, "-m", "pytest_miniwob_agent", "play", "click-tab/1000", "--auto", "1"],
            cwd=ROOT, env=os.environ | {"DISPLAY": display.name}, capture_output=True, text=True,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert result.returncode == 0, result.stderr
        assert re.search(r"\nnext: click id=(\d+)\n\naction 0: click id=\1\n", result.stdout)
        assert "\nsolved in trial 1, best reward 1: reflective with claude\n" in result.stdout

    def test_it_needs_a_terminal(self, call, monkeypatch):
        monkeypatch.setenv("DISPLAY", ":0")
        status, out, err = call("play", "click-menu-2/1")
        assert (status, out) == (2, "")
        assert "needs a terminal; --auto MS goes on by itself" in err

    def test_it_needs_a_display(self, call, monkeypatch):
        monkeypatch.delenv("DISPLAY", raising=False)
        monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
        status, out, err = call("play", "click-menu-2/1", "--auto", "1")
        assert (status, out) == (2, "")
        assert "there is no display to open it on (DISPLAY is not set)" in err

    def test_it_needs_a_page_to_see(self, recorded, call, monkeypatch):
        monkeypatch.setenv("DISPLAY", ":0")
        status, _, err = call("play", "click-menu-2/1", "--auto", "1")
        assert status == 2
        assert "is no browser's, so that there is nothing to see: `miniwob-agent show`" in err


def shows_pointer(window):
    """Whether the pointer is in the window, by what is painted there."""
    png = window.driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})["data"]
    script = """
        const [png, done] = arguments;
        const image = new Image();
        image.onload = () => {
            const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
            canvas.drawImage(image, 0, 0);
            const { data } = canvas.getImageData(0, 0, image.width, image.height);
            let red = 0;
            for (let i = 0; i < data.length; i += 4) {
                red += data[i] === 0xee && data[i + 1] === 0x11 && data[i + 2] === 0x11;
            }
            done(red);
        };
        image.src = "data:image/png;base64," + png;
    """
    return window.driver.execute_async_script(script, png) > 50
