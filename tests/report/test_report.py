"""The report, as files and as pages in a real Chromium.

The pages are also pictured, at two widths and in both themes, for people to look at: in a temporary
folder, or in the one that MINIWOB_ARTEFACTS names.
"""

import base64
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import axe_core_python
import pytest
from projects import ROOT, solve_menu
from selenium import webdriver
from selenium.webdriver import ActionChains, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from pytest_miniwob_agent.browser.process import find_browser
from pytest_miniwob_agent.core.actions import Click, Enter, Press
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.data import to_data
from pytest_miniwob_agent.core.events import (
    Acted,
    Called,
    Completion,
    Ending,
    Episode,
    Reflected,
    TrialEnded,
    TrialStarted,
)
from pytest_miniwob_agent.core.observations import Element, Observation, Transition
from pytest_miniwob_agent.report.site import Report, action_text
from pytest_miniwob_agent.tasks.catalogue import CATEGORIES

# --- Reading a report ---


def read(path):
    """The JSON value that a data file hands over."""
    match = re.fullmatch(r"miniwobReport\.\w+\((.*)\);\n", path.read_text("ascii"))
    return json.loads(match[1])


def index(folder):
    return read(folder / "data" / "index.js")


def items(folder):
    """What is known of each item, by its id."""
    files = (folder / "data" / "items").rglob("*.js")
    return {data["id"]: data for data in map(read, files)}


def pictures(item):
    """Trial and step of every picture of an item."""
    return [(frame["trial"], frame["step"]) for frame in item["frames"] if "picture" in frame]


def content(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


# --- Runs that write one ---


PICTURED = """
    from pathlib import Path

    import pytest
    from pytest_miniwob_agent import Element, Shot
    from pytest_miniwob_agent.testing import FakeEnvironment

    class Seen(FakeEnvironment):
        # A page with pictures, which are counted; files say if looking at it changes it or fails.

        def look(self, action=None):
            with open("looks.txt", "a") as file:
                print(action, file=file)
            if Path("blind").exists():
                raise ValueError("no eyes")
            if Path("shy").exists():
                self.goal += " (seen)"
            return Shot(self._screen.encode(), (160, 210), ((5, 6),) if action else ())

    @pytest.fixture
    def miniwob_environment(miniwob_case):
        menu = Element(1, "button", "Menu")
        reward = -1.0 if Path("broken").exists() and miniwob_case.seed == 1 else 1.0
        return Seen(
            f"Open the menu and click Save, for {miniwob_case.seed}",
            {"start": [menu], "open": [menu, Element(2, "a", "Save")]},
            {("start", "click id=1"): "open"},
            {("open", "click id=2"): reward},
        )

    @pytest.mark.miniwob("click-menu-2", seeds=[1, 2], trials=1)
    def test_solves(miniwob_episode):
        assert miniwob_episode.solved
"""


@pytest.fixture
def pictured(pytester, chat_server):
    """A project of two recorded items whose pages have pictures. From now on the page of seed 1 is
    broken, so that it is no longer solved.
    """
    pytester.makepyfile(test_pictured=PICTURED)
    pytester.makeini("[pytest]\nminiwob_model = m\naddopts = -p no:randomly\n")
    chat_server.reply = solve_menu
    pytester.runpytest(
        "--miniwob-record=new_episodes", f"--miniwob-base-url={chat_server.url}"
    ).assert_outcomes(passed=2)
    pytester.path.joinpath("broken").touch()
    return pytester


def looks(project):
    path = project.path / "looks.txt"
    return path.read_text().splitlines() if path.exists() else []


ONE, TWO = (f"n-screen-n-step/click-menu-2/{seed}" for seed in (1, 2))
"""The items of `pictured`."""


class TestRun:
    def test_writes_a_file_an_item_and_says_where(self, pictured):
        result = pictured.runpytest("--miniwob-report=out/report")
        result.stdout.fnmatch_lines(["report: out/report/index.html"])
        folder = pictured.path / "out" / "report"
        assert [row["id"] for row in index(folder)["items"]] == [ONE, TWO]
        item = items(folder)[TWO]
        assert item["status"] == "solved"
        assert [frame.get("action", {}).get("text") for frame in item["frames"]] == [
            "click id=1",
            "click id=2",
            None,
        ]
        assert item["frames"][-1]["end"]["ending"] == "correct"

    def test_workers_write_the_same_to_the_byte(self, pictured):
        pictured.runpytest("--miniwob-report=one", "--miniwob-trace=on")
        pictured.runpytest_subprocess("--miniwob-report=two", "--miniwob-trace=on", "-n", "2")
        assert content(pictured.path / "one") == content(pictured.path / "two")

    def test_replaces_an_earlier_report_and_nothing_else(self, pictured):
        pictured.runpytest("--miniwob-report=report", "--miniwob-trace=on")
        folder = pictured.path / "report"
        assert len(list(folder.glob("pictures/*.png"))) == 2
        for name in ("mine.txt", "pictures/mine.png", "data/items/mine.js"):
            (folder / name).write_text("mine")
        pictured.runpytest("--miniwob-report=report", "-k", TWO)
        found = content(folder)
        assert set(found) == {
            "index.html", "report.css", "report.js", "data/index.js", f"data/items/{TWO}.js",
            "mine.txt", "pictures/mine.png", "data/items/mine.js",
        }  # fmt: skip
        assert [row["id"] for row in index(folder)["items"]] == [TWO]

    @pytest.mark.parametrize("name", ["report", "report/mine.txt"], ids=["file", "folder"])
    def test_no_other_folder_is_written_to(self, project, name):
        path = project.path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine")
        result = project.runpytest("--miniwob-report=report")
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines(["*--miniwob-report: *report *; name a*folder*"])
        assert path.read_text() == "mine"

    def test_a_run_that_was_broken_off_says_so(self, pictured):
        pictured.runpytest("--miniwob-report=report", "--miniwob-trace=off", "-x")
        data = index(pictured.path / "report")
        assert (len(data["items"]), data["broken"]) == (1, True)
        pictured.runpytest("--miniwob-report=report", "--miniwob-trace=off")
        data = index(pictured.path / "report")
        assert (len(data["items"]), data["broken"]) == (2, False)

    def test_a_run_that_was_killed_leaves_a_folder_that_can_be_used_again(self, pictured):
        folder = pictured.path / "report"
        Report(folder).prepare()  # all that is written before the first item
        assert index(folder)["unfinished"]
        pictured.runpytest("--miniwob-report=report")
        assert len(index(folder)["items"]) == 2

    @pytest.mark.parametrize("name", ["afile/sub", "long" * 99], ids=["in a file", "long"])
    def test_a_folder_that_can_not_be_made_is_told_at_the_start(self, pictured, name):
        pictured.path.joinpath("afile").touch()
        result = pictured.runpytest(f"--miniwob-report={name}")
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines([f"*--miniwob-report: *{name} can't be written: *"])
        result.stdout.no_fnmatch_line("*INTERNALERROR*")
        assert looks(pictured) == []

    def test_a_report_that_can_not_be_written_fails_the_run_and_stops_nothing_else(self, pictured):
        folder = pictured.path / "report"
        Report(folder).prepare()
        (folder / "data" / "items").write_text("mine")
        result = pictured.runpytest(
            "--miniwob-report=report", "--miniwob-results=out.jsonl", "-k", TWO
        )
        result.assert_outcomes(passed=1)
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        result.stdout.fnmatch_lines(["*--miniwob-report: *report can't be written: *"])
        result.stdout.no_fnmatch_line("report: *")
        result.stdout.no_fnmatch_line("*INTERNALERROR*")
        assert (pictured.path / "out.jsonl").exists()

    def test_collecting_writes_nothing(self, project):
        project.runpytest("--miniwob-report=report", "--collect-only")
        assert not (project.path / "report").exists()

    def test_a_trace_needs_a_report_to_be_in(self, project):
        result = project.runpytest("--miniwob-trace=on")
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines(["*--miniwob-trace goes with --miniwob-report=DIR*"])

    def test_a_wrong_word_in_the_ini_file_is_told(self, project):
        project.makeini("[pytest]\nminiwob_trace = failing\n")
        result = project.runpytest()
        result.stderr.fnmatch_lines(["*miniwob_trace = failing: not one of off, on, *"])

    def test_an_item_that_is_not_recorded_says_so_and_how_far_it_came(self, pictured):
        pictured.runpytest("--miniwob-report=report", "--miniwob-seeds=3")
        [item] = items(pictured.path / "report").values()
        assert item["status"] == "error"
        assert item["reason"].startswith("there is no cassette ")
        assert "Record it with: pytest" in item["reason"]
        assert "report" not in item["reason"]
        assert [(frame["trial"], frame["step"]) for frame in item["frames"]] == [(1, 0)]

    def test_items_that_wait_say_so(self, project):
        project.runpytest("--miniwob-report=report", "--miniwob-record=defer")
        for item in items(project.path / "report").values():
            assert (item["status"], item["reason"]) == ("waiting", "It waits for a completion.")

    def test_an_error_of_the_agents_own_is_told(self, pictured):
        with (pictured.path / "test_pictured.py").open("a") as file:
            file.write(
                "\n@pytest.fixture\ndef miniwob_limits():\n    raise OSError('no disk <b>')\n"
            )
        pictured.runpytest("--miniwob-report=report", "-k", TWO)
        [item] = items(pictured.path / "report").values()
        assert (item["status"], item["reason"]) == ("error", "OSError: no disk <b>")

    def test_a_regression_is_told(self, pictured):
        broken = pictured.path / "broken"
        broken.unlink()
        pictured.runpytest("--miniwob-results=before.jsonl").assert_outcomes(passed=2)
        broken.touch()
        pictured.runpytest("--miniwob-baseline=before.jsonl", "--miniwob-report=report")
        found = items(pictured.path / "report")
        assert (found[ONE]["change"], found[TWO]["change"]) == ("regressed", "")
        assert index(pictured.path / "report")["judged"]


class TestTrace:
    def test_off_takes_no_picture(self, pictured):
        pictured.runpytest("--miniwob-report=report", "--miniwob-trace=off")
        assert looks(pictured) == []
        assert not (pictured.path / "report" / "pictures").exists()

    def test_without_a_report_none_is_taken(self, pictured):
        pictured.runpytest()
        assert looks(pictured) == []

    def test_on_takes_one_before_each_action(self, pictured):
        pictured.runpytest("--miniwob-report=report", "--miniwob-trace=on")
        assert looks(pictured) == ["click id=1", "click id=2"] * 2
        for item in items(pictured.path / "report").values():
            assert pictures(item) == [(1, 0), (1, 1)]
            assert item["frames"][0]["picture"]["points"] == [[5, 6]]

    @pytest.mark.parametrize("workers", [[], ["-n", "2"]], ids=["alone", "workers"])
    def test_retain_on_failure_takes_none_of_items_that_pass(self, pictured, workers):
        pictured.runpytest_subprocess("--miniwob-report=report", *workers)
        assert looks(pictured) == ["click id=1", "click id=2"]
        found = items(pictured.path / "report")
        assert pictures(found[TWO]) == []
        assert pictures(found[ONE]) == [(1, 0), (1, 1)]
        names = {frame["picture"]["name"] for frame in found[ONE]["frames"][:2]}
        assert {path.name for path in pictured.path.glob("report/pictures/*")} == names

    def test_a_drifted_item_has_pictures_up_to_the_call_that_misses(self, pictured):
        [cassette] = pictured.path.glob("cassettes/**/click-menu-2/2.yaml")
        cassette.write_text(cassette.read_text().replace("Say in one short", "Say in a short"))
        pictured.runpytest("--miniwob-report=report", "-k", TWO)
        [item] = items(pictured.path / "report").values()
        assert item["status"] == "drifted"
        assert "The most similar is call" in item["reason"]
        assert pictures(item) == [(1, 0), (1, 1)]
        assert looks(pictured) == ["click id=1", "None"]

    def test_a_recording_is_neither_changed_nor_paid_for_twice(self, pictured, chat_server):
        cassettes = []
        for trace in ("off", "retain-on-failure"):
            chat_server.requests.clear()
            pictured.runpytest(
                "--miniwob-report=report", f"--miniwob-trace={trace}",
                "--miniwob-record=all", f"--miniwob-base-url={chat_server.url}",
            )  # fmt: skip
            assert len(chat_server.requests) == 6
            [folder] = pictured.path.glob("cassettes/**/click-menu-2")
            assert {path.name for path in folder.iterdir()} == {"1.yaml", "2.yaml"}
            cassettes.append((folder / "1.yaml").read_text().count("Open the menu"))
        assert cassettes[0] == cassettes[1]
        assert looks(pictured) == ["click id=1", "click id=2"]

    def test_a_page_that_does_something_else_when_it_is_looked_at_is_told(self, pictured):
        pictured.path.joinpath("shy").touch()
        pictured.runpytest("--miniwob-report=report")
        found = items(pictured.path / "report")
        assert "did something else" in found[ONE]["note"]
        assert found[ONE]["status"] == "failed"
        assert found[TWO]["note"] == ""

    def test_an_error_of_the_second_run_leaves_the_result_of_the_first(self, pictured):
        pictured.path.joinpath("blind").touch()
        pictured.runpytest("--miniwob-report=report").assert_outcomes(passed=1, failed=1)
        [item] = [one for one in items(pictured.path / "report").values() if one["id"] == ONE]
        assert item["status"] == "failed"
        assert item["note"].endswith("told here: ValueError: no eyes")

    @pytest.mark.parametrize("trace", ["on", "retain-on-failure"])
    def test_pictures_that_can_not_be_written_leave_the_results(self, pictured, trace):
        folder = pictured.path / "report"
        Report(folder).prepare()
        (folder / "pictures").write_text("mine")
        result = pictured.runpytest("--miniwob-report=report", f"--miniwob-trace={trace}")
        result.assert_outcomes(passed=1, failed=1)
        item = items(folder)[ONE]
        assert (item["status"], pictures(item)) == ("failed", [])
        assert item["note"].startswith("Pictures are missing that can't be written: ")

    def test_a_model_that_can_not_be_asked_again_gets_no_pictures_and_a_reason(self, pictured):
        with (pictured.path / "test_pictured.py").open("a") as file:
            file.write(
                "\nfrom pytest_miniwob_agent.testing import ScriptedLLM\n\n"
                "@pytest.fixture\ndef miniwob_llm():\n    return ScriptedLLM(['DONE'])\n"
            )
        pictured.runpytest("--miniwob-report=report")
        for item in items(pictured.path / "report").values():
            assert "Run it with --miniwob-trace=on" in item["note"]
        assert looks(pictured) == []


class TestData:
    def test_an_action_of_a_kind_that_is_not_known_is_shown_all_the_same(self):
        assert action_text(to_data(Enter("a b", 3))) == 'enter "a b" to id=3'
        assert action_text({"kind": "wave", "hands": 2}) == 'wave {"hands":2}'

    def test_an_event_that_is_not_known_is_kept_as_it_is(self, tmp_path):
        outcome = made_up(Case("click-test", "1-screen-1-step", 1))
        outcome["episode"]["events"].insert(1, {"kind": "vote", "trial": 1, "for": "id=2"})
        Report(tmp_path).write([outcome], judged=False)
        [item] = items(tmp_path).values()
        assert item["frames"][0]["other"] == [{"kind": "vote", "trial": 1, "for": "id=2"}]

    def test_items_that_ran_twice_are_both_there(self, tmp_path):
        case = Case("click-test", "1-screen-1-step", 1)
        Report(tmp_path).write([made_up(case), made_up(case, solved_at=None)], judged=False)
        assert set(items(tmp_path)) == {case.id, f"{case.id}~2"}

    def test_no_text_ends_its_script(self, tmp_path):
        outcome = made_up(Case("click-test", "1-screen-1-step", 1), goal=HOSTILE)
        Report(tmp_path).write([outcome], judged=False)
        for path in tmp_path.rglob("*.js"):
            if path.name != "report.js":
                text = path.read_text("ascii")
                assert "<" not in text
                assert text.count("\n") == 1
        [item] = items(tmp_path).values()
        assert item["goal"] == HOSTILE


# --- Made-up runs ---


UNSEEN = (
    "\xad\u034f\u061c\u115f\u1160\u180e\u200b\u202e\u2028\u2029\u2063\u2066\u206a\u3164\ufeff\uffa0\ufff9"
    "\U0001d173\U000e0001\U000e0041\U000e007f\x1b\x7f\x85\ud800"
)
"""Characters that don't show: tags, fillers, marks of direction and the like."""


def png(width=160, height=210, shade=230):
    """A picture of one colour."""

    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = (b"\0" + bytes([shade]) * width) * height
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


HOSTILE = (
    "<script>alert(1)</script></script><img src=x onerror=alert(2)> javascript:alert(3) "
    "\u2028\u2029 \x1b[31mred \u202eback\u2066 \ud800 ]]> --> __proto__ ${alert(4)} {{alert(5)}}"
    + f" {UNSEEN}."
)


def made_up(case, solved_at=1, *, trials=5, goal="", text="click id=1", change="", trace=None):
    """The outcome of an item that was allowed so many trials, with a reflection before each but
    the first.
    """
    goal = goal or f"Click Save of {case.seed}."
    button, field = Element(1, "button", "Save", x=30, y=60), Element(2, "input_text", value="")
    before = Observation(goal, (button, field))
    events = []
    for trial in range(1, (solved_at or trials) + 1):
        done = Transition(Observation(goal), 1.0 if trial == solved_at else -1.0, done=True)
        events.append(TrialStarted(trial, before))
        if trial > 1:
            events += [
                Called(trial, 0, "reflect", "What was wrong?", Completion(f"Not {text}", 60, 9)),
                Reflected(2, text, (1,), trial),
            ]
        events += [
            Called(trial, 0, "plan", f"Plan.\n{goal}\n{text}", Completion(text, 40, 5)),
            Acted(trial, 0, Enter(text, 2), Transition(before)),
            Acted(trial, 1, Press("TAB"), Transition(before, error="no such key here")),
            Acted(trial, 2, Click(1), done),
            TrialEnded(Ending.CORRECT if trial == solved_at else Ending.FAILED, "", trial),
        ]
    episode = Episode(case, "reflective", "m", tuple(events)).to_data()
    outcome = {
        "case": case.id,
        "category": case.category,
        "item": {
            "category": case.category, "task": case.task, "seed": case.seed, "repeat": case.repeat,
            "agent": "reflective", "model": "m", "params": {"temperature": 0},
            "prompts": {"plan.txt": "0123456789ab"},
        },
        "cassette": f"reflective/m/{case.task}/{case.sample}",
        "episode": episode,
        "trials": trials,
    }  # fmt: skip
    if change:
        outcome["change"] = change
    if trace:
        outcome["trace"] = trace
    return outcome


def untold(case, **why):
    """The outcome of an item that came to no end in its first trial."""
    outcome = made_up(case, None)
    del outcome["trials"]
    events = outcome.pop("episode")["events"][:3]
    return outcome | {"trace": {"events": events, "pictures": [], "note": ""}} | why


def site(folder):
    """A report with an item of each kind; returns its folder."""
    report = Report(folder)
    name = report.add_picture(png())
    pictured = {"name": name, "size": [160, 210], "trial": 1}
    trace = {
        "note": "",
        "pictures": [
            {**pictured, "step": 0, "points": [[80, 100]], "boxes": [[10, 90, 140, 20]]},
            {**pictured, "step": 1, "points": [], "boxes": []},
            {**pictured, "step": 2, "points": [[20, 60], [120, 180]], "boxes": []},
        ],
    }
    case = {
        f"{task}/{seed}": Case(task, category, seed)
        for category, task in (("1-screen-1-step", "click-test"), ("n-screen-n-step", "click-pie"))
        for seed in (7, 8, 1000)
    }
    drift = {"report": "page\n- old\n+ new", "causes": [], "changes": []}
    report.write(
        [
            made_up(case["click-test/7"]),
            made_up(case["click-test/8"], solved_at=2, change="progressed"),
            untold(case["click-test/1000"], drift=drift, message="page\n- old\n+ new"),
            made_up(case["click-pie/7"], None, trials=3, change="regressed", trace=trace),
            untold(case["click-pie/8"], error="OSError", message="no disk"),
            made_up(case["click-pie/1000"], 5, goal="Spin the wheel.", trace=trace),
        ],
        judged=True,
    )
    return folder


# --- Pages ---


class Window:
    """A Chromium that shows pages from disk, as a reader's would."""

    def __init__(self, width=1280, theme="light"):
        options = webdriver.ChromeOptions()
        options.binary_location = find_browser()
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        for switch in ("--headless=new", "--disable-dev-shm-usage", "--hide-scrollbars"):
            options.add_argument(switch)
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            options.add_argument("--no-sandbox")
        service = webdriver.ChromeService(shutil.which("chromedriver"))
        self.driver = webdriver.Chrome(options=options, service=service)
        self.look_like(width, theme)

    def look_like(self, width, theme):
        self.width = width
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500},
        )
        feature = {"name": "prefers-color-scheme", "value": theme}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})

    def open(self, folder, place="#/"):
        """Open a page of a report anew, and wait until it is drawn."""
        self.driver.get("about:blank")
        self.driver.get((folder / "index.html").as_uri() + place)
        self.wait(lambda: self.shown("#overview > *, #item > *, #trouble"))

    def wait(self, condition):
        return WebDriverWait(self.driver, 60, 0.02).until(lambda _: condition())

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def shown(self, selector):
        found = self.driver.find_elements(By.CSS_SELECTOR, selector)
        return [one for one in found if one.is_displayed()]

    def texts(self, selector):
        return [one.text for one in self.shown(selector)]

    def press(self, *keys):
        chain = ActionChains(self.driver)
        for key in keys:
            chain.send_keys(key)
        chain.perform()

    @property
    def place(self):
        return self.driver.execute_script("return location.hash")

    def problems(self):
        """What the browser complained of, such as breaches of the content security policy."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def violations(self):
        """What an accessibility checker finds, by the rules of WCAG 2.1 A and AA."""
        script = Path(axe_core_python.__file__).with_name("axe.min.js").read_text("utf-8")
        self.driver.execute_script(script)
        found = self.driver.execute_async_script(
            "axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'] })"
            ".then(arguments[0])"
        )
        assert found["passes"]
        return [
            (one["id"], node["target"], node["any"][0]["message"] if node["any"] else "")
            for one in found["violations"]
            for node in one["nodes"]
        ]

    def picture(self, path):
        height = self.driver.execute_script("return document.documentElement.scrollHeight")
        clip = {"x": 0, "y": 0, "width": self.width, "height": min(height, 2400), "scale": 1}
        shot = self.driver.execute_cdp_cmd(
            "Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True}
        )
        path.write_bytes(base64.b64decode(shot["data"]))


@pytest.fixture(scope="module")
def window():
    window = Window()
    yield window
    window.driver.quit()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return site(tmp_path_factory.mktemp("site"))


class TestPages:
    @pytest.fixture(autouse=True)
    def no_complaints(self, window):
        window.look_like(1280, "light")
        window.problems()
        yield
        assert window.problems() == []

    def test_filter_open_step_and_link(self, window, made):
        window.open(made)
        assert window.texts(".figure strong") == ["75%"]
        assert len(window.shown(".items tbody tr")) == len(window.shown("a.cell")) == 6
        window.find('[data-status="failed"]').click()
        window.wait(lambda: len(window.shown(".items tbody tr")) == 1)
        assert window.texts("a.cell") == ["×"]
        assert window.texts("#found") == ["1 of 6 items"]
        window.find(".items tbody a").click()
        window.wait(lambda: window.shown("#item h1"))
        assert window.texts("#item h1") == ["click-pie 7"]
        assert window.texts(".steps h2") == ["Trial 1, action 0"]
        assert window.shown(".stage .marks rect")
        assert window.texts(".typed") == ["click id=1"]
        window.press(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
        window.wait(lambda: window.texts(".steps h2") == ["Trial 1, action 2"])
        assert window.place == "#/item/n-screen-n-step/click-pie/7/1/2"
        assert window.texts(".action") == ["click id=1"]
        assert window.texts(".result") == ["The page judged: reward \N{MINUS SIGN}1"]
        assert window.shown(".stage .marks polyline")
        window.press(Keys.ARROW_RIGHT)
        window.wait(lambda: window.texts(".steps h2") == ["Trial 1, end"])
        window.press(Keys.ARROW_RIGHT)
        window.wait(lambda: window.texts(".reflection h3"))
        assert window.texts(".reflection dd") == [
            "Not click id=1",
            "click id=1, as action 2 of this trial",
            "clicks on id=1",
        ]
        window.press(Keys.ARROW_LEFT, Keys.ARROW_LEFT)
        window.wait(lambda: window.texts(".action") == ["click id=1"])
        place = window.place
        window.find(".path a").click()
        window.wait(lambda: len(window.shown(".items tbody tr")) == 1)
        assert window.place == "#/?status=failed"
        window.open(made, place)  # as somebody who was sent the link
        assert window.texts(".steps h2") == ["Trial 1, action 2"]
        assert window.find('.frame[aria-current="step"]').get_attribute("href").endswith(place)

    def test_sort_by_each_column(self, window, made):
        window.open(made)
        ids = [row["id"] for row in index(made)["items"]]
        for name in ("trials", "steps", "calls", "tokens", "result", "ending"):
            for direction in ("ascending", "descending"):
                window.find(f'[data-sort="{name}"]').click()
                window.wait(lambda d=direction: window.shown(f'th[aria-sort="{d}"] .sort'))
                found = [
                    row.get_attribute("href").partition("/item/")[2]
                    for row in window.shown(".items tbody a")
                ]
                assert sorted(found) == sorted(ids)
                if name not in ("result", "ending"):
                    by_id = {row["id"]: row[name] or -1 for row in index(made)["items"]}
                    values = [by_id[id_] for id_ in found]
                    assert values == sorted(values, reverse=direction == "descending")

    def test_rates_are_of_the_items_that_were_allowed_so_many_trials(self, window, tmp_path):
        cases = [Case("click-test", "1-screen-1-step", seed) for seed in range(4)]
        other = Case("click-pie", "n-screen-n-step", 1)
        outcomes = [
            made_up(cases[0], 1, trials=1),
            made_up(cases[1], None, trials=1),
            made_up(cases[2], 2, trials=3),
            made_up(cases[3], None, trials=3),
            made_up(other, 1, trials=1),
        ]
        Report(tmp_path).write(outcomes, judged=False)
        window.open(tmp_path)
        rows = [row.split() for row in window.texts(".rates tbody tr")]
        none = "\N{EN DASH}"
        assert rows == [
            ["1-screen-1-step", "4", "25%", "50%", "50%", none, none],
            ["n-screen-n-step", "1", "100%", none, none, none, none],
            ["all", "5", "40%", "50%", "50%", none, none],
        ]
        lines = window.driver.find_elements(By.CSS_SELECTOR, ".chart polyline")
        assert [len(line.get_attribute("points").split()) for line in lines] == [3, 1, 3]
        circles = window.driver.find_elements(By.CSS_SELECTOR, ".chart circle")
        assert len(circles) == 7

    def test_search_and_choose(self, window, made):
        window.open(made, "#/?q=wheel")
        assert window.texts(".items tbody a") == ["click-pie 1000"]
        window.find("#by-text").clear()
        window.find("#by-text").send_keys("regressed pie")
        window.wait(lambda: window.texts(".items tbody a") == ["click-pie 7"])
        window.open(made, "#/?category=1-screen-1-step&sort=trials&down=1")
        assert window.texts(".items tbody a")[0] == "click-test 8"
        assert window.texts(".heat caption") == ["1-screen-1-step"]
        window.open(made, "#/?status=progressed")
        assert window.texts(".items tbody a") == ["click-test 8"]
        window.find("#by-text").send_keys("100%41&?")
        window.wait(lambda: window.texts("#found") == ["0 of 6 items"])
        window.open(made, window.place)
        assert window.find("#by-text").get_attribute("value") == "100%41&?"

    def test_an_item_without_a_result_says_why(self, window, made):
        window.open(made, "#/item/1-screen-1-step/click-test/1000")
        assert window.texts(".badge") == ["drifted"]
        assert window.texts(".reason .minus") == ["- old"]
        assert window.texts(".frame .caption")[0].startswith("0 enter")
        window.open(made, "#/item/n-screen-n-step/click-pie/8")
        assert window.texts(".reason pre") == ["no disk"]

    def test_an_item_that_is_not_there_is_told(self, window, made):
        window.open(made, "#/item/../../etc")
        assert window.texts("#trouble") == ["There is no item ../../etc in this report."]

    def test_a_run_under_way_says_so(self, window, tmp_path):
        Report(tmp_path).prepare()
        window.open(tmp_path)
        assert "has not come to its end" in window.find("#trouble").text

    def test_the_theme_can_be_chosen_and_is_remembered(self, window, made):
        window.open(made)
        colour = "return getComputedStyle(document.documentElement).backgroundColor"
        light = window.driver.execute_script(colour)
        window.find("#theme").click()
        window.find("#theme").click()
        assert window.find("#theme").text == "Theme: dark"
        dark = window.driver.execute_script(colour)
        assert dark != light
        window.open(made)
        assert window.driver.execute_script(colour) == dark
        window.find("#theme").click()
        assert window.driver.execute_script(colour) == light

    def test_by_keyboard_alone(self, window, made):
        window.open(made)
        window.press(Keys.TAB, Keys.ENTER)  # past the head of the page
        window.wait(lambda: window.driver.switch_to.active_element.get_attribute("id") == "main")
        link = window.find(".items tbody a")
        window.driver.execute_script("arguments[0].focus()", link)
        window.press(Keys.ENTER)
        window.wait(lambda: window.shown("#item h1"))
        assert window.driver.switch_to.active_element.tag_name == "h1"
        window.press(Keys.ARROW_RIGHT)
        window.wait(lambda: window.find("#said").text != "")
        window.driver.back()
        window.wait(lambda: window.shown("#overview h2"))
        assert window.driver.switch_to.active_element == link

    def test_nothing_that_a_page_or_a_model_says_can_run(self, window, tmp_path):
        case = Case("click-test", "1-screen-1-step", 1)
        outcome = made_up(case, None, goal=HOSTILE, text=HOSTILE, trials=2)
        vote = {"kind": HOSTILE, "trial": 1, "__proto__": HOSTILE, HOSTILE: [HOSTILE]}
        outcome["episode"]["events"].insert(1, vote)
        other = untold(Case("click-test", "1-screen-1-step", 2), message=HOSTILE, error=HOSTILE)
        other["item"]["prompts"] = {HOSTILE: HOSTILE}
        other["item"]["model"] = HOSTILE
        Report(tmp_path).write([outcome, other], judged=False)
        places = [f"#/item/{case.id}/{trial}/{step}" for trial in (1, 2) for step in range(4)]
        places += ["#/", "#/item/1-screen-1-step/click-test/2", f"#/{HOSTILE[:25]}"]
        for place in places:
            window.open(tmp_path, place)
            assert window.driver.execute_script(
                "return [...document.querySelectorAll('img, iframe, object, embed, form[action]')]"
                ".length + [...document.scripts].filter((s) => !s.src.startsWith('file:')).length"
            ) == 0, place  # fmt: skip
            assert window.driver.execute_script(
                "return [...document.querySelectorAll('a')].every("
                "(a) => a.getAttribute('href').startsWith('#'))"
            )
            found = window.driver.execute_script("return document.body.textContent")
            assert not set(found) & set(UNSEEN)
        window.open(tmp_path, places[0])
        assert "<script>alert(1)</script>" in window.find("#item > .goal").text
        asked = window.find("pre.asked").text
        assert "[U+202E]back" in asked
        assert "".join(f"[U+{ord(char):04X}]" for char in UNSEEN) + "." in asked

    def test_1075_items_are_all_there(self, window, tmp_path):
        seeds = range(1000, 1025)
        outcomes = [
            made_up(Case(task, category, seed), [1, 1, 2, 4, None][(seed + len(task)) % 5])
            for category, tasks in CATEGORIES.items()
            for task in tasks
            for seed in seeds
        ]
        Report(tmp_path).write(outcomes, judged=False)
        window.open(tmp_path)
        assert len(window.driver.find_elements(By.CSS_SELECTOR, "a.cell")) == 1075
        window.find("#by-text").send_keys("click-pie failed")
        window.wait(lambda: window.texts("#found") == ["5 of 1,075 items"])
        window.find(".items tbody a").click()
        window.wait(lambda: window.texts(".steps h2") == ["Trial 1, action 0"])

    @pytest.mark.parametrize("theme", ["light", "dark"])
    @pytest.mark.parametrize("width", [1280, 390])
    def test_an_accessibility_checker_finds_nothing(self, window, made, width, theme):
        window.look_like(width, theme)
        for place in (
            "#/",
            "#/item/n-screen-n-step/click-pie/7/1/0",
            "#/item/n-screen-n-step/click-pie/7/2/0",
            "#/item/1-screen-1-step/click-test/1000",
        ):
            window.open(made, place)
            assert window.violations() == [], place
            wide = window.driver.execute_script("return document.documentElement.scrollWidth")
            assert wide == width, place


# --- Shipped cassettes in a real browser ---


ITEMS = (
    "click-menu-2/1001 or click-scroll-list/1000 or click-collapsible-2/1000 or email-inbox/1000"
    " or use-autocomplete/1000 or social-media/1001"
)
"""Items that fail, scroll, open menus and type."""


def replay(folder, *args):
    """Replay shipped items; what they did, by their id."""
    events = folder / "events.json"
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "tests/test_suite.py", "-k", ITEMS,
         "-p", "events_plugin", *args],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "tests"), "EVENTS": str(events),
             "SLEPT": str(folder / "slept.txt")},
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert result.returncode == pytest.ExitCode.OK, result.stdout
    return {id_: told["episode"] for id_, (_, told) in json.loads(events.read_text()).items()}


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """A report of shipped items with pictures, and what they did."""
    folder = tmp_path_factory.mktemp("real")
    report = folder / "report"
    return report, replay(folder, f"--miniwob-report={report}", "--miniwob-trace=on")


def test_pictures_make_no_difference_to_what_happens(real, tmp_path):
    assert len(real[1]) == 6
    assert replay(tmp_path) == real[1]


def test_equal_cassettes_give_equal_pictures_and_reports(real, tmp_path):
    replay(tmp_path, f"--miniwob-report={tmp_path / 'again'}", "--miniwob-trace=on", "-n", "2")
    assert content(tmp_path / "again") == content(real[0])


def test_pictures_show_where_actions_point(real):
    found = items(real[0])
    for item in found.values():
        for frame in item["frames"]:
            if not frame.get("action", {}).get("text", "").startswith(("click", "enter")):
                continue
            [[x, y]], [[left, top, width, height]] = (
                frame["picture"][key] for key in ("points", "boxes")
            )
            assert left <= x <= left + width
            assert top <= y <= top + height
            assert x < frame["picture"]["size"][0]
            assert y < frame["picture"]["size"][1]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_pages_for_people_to_look_at(window, real, tmp_path, width, theme):
    folder = Path(os.environ.get("MINIWOB_ARTEFACTS") or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)
    window.look_like(width, theme)
    for name, place in (
        ("overview", "#/"),
        ("item", "#/item/n-screen-n-step/click-menu-2/1001/2/1"),
        ("reflection", "#/item/n-screen-n-step/click-menu-2/1001/2/0"),
        ("typing", "#/item/n-screen-n-step/email-inbox/1000/1/2"),
    ):
        window.open(real[0], place)
        window.wait(
            lambda: window.driver.execute_script(  # those in sight; others are loaded when needed
                "return [...document.images].every((one) => {"
                " const { left, right } = one.getBoundingClientRect();"
                " return one.complete || left > innerWidth || right < 0; })"
            )
        )
        path = folder / f"{name}-{width}-{theme}.png"
        window.picture(path)
        assert path.stat().st_size > 10_000
