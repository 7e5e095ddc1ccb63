"""The MiniWoB++ page in a real Chromium."""

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest
from lxml import html
from projects import ROOT

from pytest_miniwob_agent import render
from pytest_miniwob_agent.browser.environment import MiniwobEnvironment
from pytest_miniwob_agent.browser.process import Browser, find_browser
from pytest_miniwob_agent.core.actions import Click, Enter, Hold, Press, Release, Type
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.errors import BrowserError
from pytest_miniwob_agent.tasks.catalogue import installed_tasks


@pytest.fixture(scope="module")
def browser():
    browser = Browser()
    yield browser
    browser.close()


def page(browser, task, seed=1):
    return MiniwobEnvironment(browser, Case(task, installed_tasks()[task], seed))


def find(observation, **wanted):
    """The one element with these attributes."""
    [found] = [
        element
        for element in observation.elements
        if all(getattr(element, name) == value for name, value in wanted.items())
    ]
    return found


class TestReading:
    @pytest.mark.parametrize("task", ["click-menu-2", "email-inbox", "social-media", "click-pie"])
    def test_same_seed_same_page(self, browser, task):
        first, second = page(browser, task).reset(), page(browser, task).reset()
        assert first == second
        assert first != page(browser, task, 2).reset()

    def test_a_second_browser_shows_the_same(self, browser):
        other = Browser()
        try:
            assert page(other, "social-media").reset() == page(browser, "social-media").reset()
        finally:
            other.close()

    def test_the_goal_is_the_pages_own(self, browser):
        goal = page(browser, "click-scroll-list").reset().goal
        assert goal == "Select Christal from the scroll list and click Submit."

    def test_what_only_an_action_brings_up_is_not_there_before(self, browser):
        env = page(browser, "social-media")
        before = env.reset()
        assert "Share via DM" not in render(before.elements)
        more = next(element for element in before.elements if element.classes == "more")
        after = env.step(Click(more.id)).observation
        assert find(after, text="Share via DM").tag == "li"

    def test_other_tabs_are_not_shown(self, browser):
        env = page(browser, "click-tab-2-hard")
        before = env.reset()
        after = env.step(Click(find(before, text="2").id)).observation
        links = [{e.text for e in screen.elements if e.tag == "span"} for screen in (before, after)]
        assert links[0]
        assert links[1]
        assert not links[0] & links[1]

    def test_form_fields(self, browser):
        env = page(browser, "email-inbox-forward-nl")
        env.reset()
        opened = env.step(Click(9)).observation
        form = env.step(Click(find(opened, text="Forward").id)).observation
        to = next(e for e in form.elements if e.tag.startswith("input") or e.tag == "textarea")
        assert to.value == ""
        written = env.step(Enter("Cathrine", to.id)).observation
        assert find(written, id=to.id).value == "Cathrine"

    def test_placeholders(self, browser):
        env = page(browser, "email-inbox")
        search = find(env.reset(), dom_id="open-search")
        opened = env.step(Click(search.id)).observation
        assert any(element.placeholder for element in opened.elements)

    def test_checked_state(self, browser):
        env = page(browser, "click-checkboxes")
        box = next(e for e in env.reset().elements if e.tag == "input_checkbox")
        assert box.value is False
        assert find(env.step(Click(box.id)).observation, id=box.id).value is True

    def test_html_is_what_shows_as_it_is_now(self, browser):
        env = page(browser, "login-user")
        before = env.reset()
        names = {element.dom_id: element.id for element in before.elements}
        env.step(Enter('<a> & "b"', names["username"]))
        shown = html.fromstring(env.html())
        (field,) = shown.xpath('//input[@id="username"]')
        assert field.get("value") == '<a> & "b"'
        assert field.get("data-ref") == str(names["username"])
        assert shown.xpath("//label/text()") == ["Username", "Password"]
        assert not shown.xpath("//script | //style | //*[@id='query' or @id='reward-display']")
        assert not shown.xpath("//@style | //@onclick")

    def test_html_leaves_out_what_an_action_brings_up(self, browser):
        env = page(browser, "click-menu-2")
        (menu,) = env.reset().elements
        assert "<li" not in env.html()
        env.step(Click(menu.id))
        assert html.fromstring(env.html()).xpath("count(//li)") >= 3

    def test_html_of_lists_and_boxes(self, browser):
        env = page(browser, "choose-list")
        env.reset()
        shown = html.fromstring(env.html())
        options = shown.xpath("//select/option")
        assert len(options) > 2
        assert [option.get("selected") for option in options].count("") == 1
        env = page(browser, "click-checkboxes")
        boxes = [element for element in env.reset().elements if element.tag == "input_checkbox"]
        env.step(Click(boxes[1].id))
        checked = html.fromstring(env.html()).xpath("//input[@checked]/@data-ref")
        assert checked == [str(boxes[1].id)]

    def test_whatever_is_in_the_html_can_be_acted_upon(self, browser):
        env = page(browser, "click-checkboxes")
        env.reset()
        (label, *_) = html.fromstring(env.html()).xpath("//label[@data-ref]")
        inside = label.find("input").get("data-ref")
        transition = env.step(Click(int(label.get("data-ref"))))
        assert transition.error is None
        assert find(transition.observation, id=int(inside)).value is True

    def test_html_changes_no_ids(self, browser):
        env = page(browser, "click-tab-2")
        plain = env.reset()
        env.reset()
        env.html()
        assert env.step(Press("HOME")).observation == plain

    def test_ids_last_for_a_trial(self, browser):
        env = page(browser, "click-collapsible-2")
        before = env.reset()
        after = env.step(Click(1)).observation
        texts = {element.id: element.text for element in after.elements}
        for element in before.elements:
            assert texts[element.id] == element.text


class TestActing:
    def test_input_is_native(self, browser):
        env = page(browser, "enter-text")
        field = find(env.reset(), tag="input_text")
        browser.driver.execute_script(
            "window.seen = []; for (const type of ['mousedown', 'click', 'keydown', 'input'])"
            "document.addEventListener(type, (e) => seen.push([type, e.isTrusted]), true)"
        )
        env.step(Enter("ab", field.id))
        seen = browser.driver.execute_script("return seen")
        assert [kind for kind, _ in seen] == [
            "mousedown", "click", "keydown", "input", "keydown", "input",
        ]  # fmt: skip
        assert all(trusted for _, trusted in seen)

    def test_several_entries_of_a_native_list_with_ctrl(self, browser):
        env = page(browser, "click-scroll-list", 1000)
        options = {e.text: e.id for e in env.reset().elements if e.tag == "option"}
        assert len(options) == 10  # the last ones are below the list's lower edge
        names = list(options)
        for action in (Hold("CTRL"), Click(options[names[0]]), Click(options[names[-1]])):
            env.step(action)
        observation = env.step(Release("CTRL")).observation
        assert {e.text for e in observation.elements if e.value is True} == {names[0], names[-1]}

    def test_svg(self, browser):
        env = page(browser, "click-pie", 2)
        before = env.reset()
        assert before.goal.endswith('labeled "f".')
        opened = env.step(Click(find(before, text="+").id)).observation
        assert env.step(Click(find(opened, text="f").id)).solved

    def test_elements_outside_the_viewport(self, browser):
        env = page(browser, "social-media-all", 1001)
        observation = env.reset()
        last = [element for element in observation.elements if element.classes == "like"][-1]
        submit = find(observation, text="Submit")
        assert submit.y > 480
        assert not env.step(Click(last.id)).done
        assert env.step(Click(submit.id)).done

    def test_a_scrolled_page_reads_the_same(self, browser):
        env = page(browser, "social-media-all", 1001)
        before = env.reset()
        name = [element for element in before.elements if element.classes == "name"][-1]
        assert name.y > 480
        after = env.step(Click(name.id)).observation
        assert browser.driver.execute_script(
            "return [...document.querySelectorAll('*')].some((element) => element.scrollTop > 0)"
        )
        assert render(after.elements) == render(before.elements)

    def test_delays_and_animations_are_over(self, browser):
        env = page(browser, "use-autocomplete")
        field = find(env.reset(), tag="input_text")
        listed = env.step(Enter("Ce", field.id)).observation
        assert "Central African Republic" in render(listed.elements)
        env = page(browser, "click-collapsible-2")
        env.reset()
        env.step(Click(1))
        assert browser.driver.execute_script("return $(':animated').length") == 0

    @pytest.mark.parametrize(
        ("action", "error"),
        [
            (Click(99), "there is no element with id=99 on the screen"),
            (Enter("x", 99), "there is no element with id=99 on the screen"),
            (Release("CTRL"), "CTRL is not held"),
            (Press("F5"), "there is no key F5"),
            (Hold("META"), "there is no key META"),
            (Press("ENTER", 101), "a key can be pressed 1 to 100 times, not 101"),
            (Press("ENTER", 0), "a key can be pressed 1 to 100 times, not 0"),
        ],
    )
    def test_an_impossible_action_is_data(self, browser, action, error):
        env = page(browser, "click-menu-2")
        before = env.reset()
        transition = env.step(action)
        assert transition.error == error
        assert transition.observation == before
        assert env.step(Click(1)).error is None

    @pytest.mark.parametrize(
        ("text", "error"),
        [
            ("\x00", "no key types the character U+0000"),
            ("a\ud800", "no key types the character U+D800"),
            ("\ue009a", "no key types the character U+E009"),
            ("x" * 2001, "a text can have 2000 characters, not 2001"),
            ("x" * 2000, None),
            ("\u00fc \u20ac \u6f22 \U0001f600 e\u0301", None),
            ("", None),
        ],
    )
    def test_texts(self, browser, text, error):
        env = page(browser, "enter-text")
        field = find(env.reset(), tag="input_text")
        transition = env.step(Enter(text, field.id))
        assert transition.error == error
        written = find(transition.observation, tag="input_text").value
        assert written == ("" if error else text)

    def test_typing_goes_to_what_has_the_focus(self, browser):
        env = page(browser, "enter-text")
        field = find(env.reset(), tag="input_text")
        env.step(Type("lost"))
        env.step(Click(field.id))
        env.step(Type("ab"))
        assert find(env.step(Type("c")).observation, id=field.id).value == "abc"
        refused = env.step(Type("\x00"))
        assert refused.error == "no key types the character U+0000"

    def test_rewards(self, browser):
        env = page(browser, "click-checkboxes", 1000)
        submit = find(env.reset(), text="Submit")
        assert env.step(Click(submit.id)).solved  # "Select nothing"
        env = page(browser, "click-checkboxes", 1)
        submit = find(env.reset(), text="Submit")
        failed = env.step(Click(submit.id))
        assert failed.done
        assert not failed.solved
        assert failed.observation.elements == ()


class TestFlights:
    """Their pages are in frames, and are pages of their own rather than made for the task."""

    def test_one_is_solved(self, browser):
        env = page(browser, "flight.Alaska-auto-medium", 1000)
        observation = env.reset()
        assert json.loads(observation.goal) == {
            "Departure City": "Phoenix",
            "Destination City": "Buffalo",
            "Ticket Type": "One-way",
            "Departure Day": 5,
            "Passengers": 3,
        }

        def click(**wanted):
            transition = env.step(Click(find(observation, **wanted).id))
            assert transition.error is None
            return transition

        for field, city in (("geo-from", "Phoenix"), ("geo-to", "Buffalo")):
            entered = env.step(Enter(city, find(observation, dom_id=field).id)).observation
            [listed] = [e for e in entered.elements if e.text.startswith(f"{city}, ")]
            observation = env.step(Click(listed.id)).observation
        for wanted in (
            {"text": "One-way"}, {"dom_id": "departure-date"}, {"text": "5"}, {"text": "Done"},
            {"text": "+"}, {"text": "+"},
        ):  # fmt: skip
            observation = click(**wanted).observation
        assert click(value="Find Flights").solved  # below the viewport's lower edge

    @pytest.mark.parametrize("task", ["flight.AA", "flight.Alaska"])
    def test_leaving_the_page_ends_the_trial(self, browser, task):
        env = page(browser, task)
        first = env.reset()
        away = env.step(Click(find(first, text="Full site").id))
        assert (away.done, away.reward) == (True, -1)
        assert env.reset() == first

    def test_what_is_loaded_late_is_waited_for(self, browser):
        env = page(browser, "flight.AA")
        field = find(env.reset(), dom_id="segments0.destination")
        listed = env.step(Enter("Boston", field.id)).observation
        assert any("BOS" in element.text for element in listed.elements)


class TestIsolation:
    @pytest.mark.parametrize("next_item", [False, True])
    def test_held_keys_are_let_go_of(self, browser, next_item):
        env = page(browser, "click-scroll-list")
        env.reset()
        env.step(Hold("CTRL"))
        if next_item:
            env = page(browser, "click-scroll-list")
        env.reset()
        env.step(Click(1))
        observation = env.step(Click(2)).observation
        assert [e.id for e in observation.elements if e.value is True] == [2]

    def test_the_pointer_hovers_over_nothing_at_the_start(self, browser):
        env = page(browser, "social-media")
        first = env.reset()
        env.step(Click(9))
        assert env.reset() == first
        assert (
            browser.driver.execute_script("return document.querySelectorAll(':hover').length") == 0
        )

    def test_a_trial_sees_nothing_of_an_earlier_one(self, browser):
        env = page(browser, "click-menu-2")
        first = env.reset()
        opened = env.step(Click(1))
        browser.driver.execute_script("localStorage.x = 1; document.cookie = 'x=1'")
        assert env.reset() == first
        assert env.step(Click(1)) == opened

    def test_the_clock_stands_still(self, browser):
        page(browser, "click-button").reset()
        read = "return [Date.now(), new Date().getTimezoneOffset(), navigator.language]"
        first = browser.driver.execute_script(read)
        time.sleep(0.05)
        assert browser.driver.execute_script(read) == first
        page(browser, "click-link").reset()
        assert browser.driver.execute_script(read) == first
        assert first[1:] == [0, "en-US"]

    @pytest.mark.parametrize("call", ["alert('stop')", "confirm('?')", "prompt('?')", "open('x')"])
    def test_dialogs_and_windows_do_not_hang_the_page(self, browser, call):
        env = page(browser, "click-button")
        before = env.reset()
        browser.driver.execute_script(f"document.addEventListener('keydown', () => {call})")
        assert env.step(Press("TAB")).observation == before
        assert len(browser.driver.window_handles) == 1


class TestWindow:
    def test_a_mouse_that_is_moved_over_the_page_does_not_show(self, browser, display, monkeypatch):
        headless = page(browser, "click-menu-2")
        expected = [headless.reset(), headless.step(Click(1))]
        monkeypatch.setenv("DISPLAY", display.name)
        window = Browser(headed=True)
        try:
            env = page(window, "click-menu-2")
            seen = [env.reset()]
            window.driver.execute_script(
                "window.moves = 0; addEventListener('mousemove', () => moves++, true)"
            )
            for y in range(100, 600, 10):  # wherever below the tabs the page begins
                display.move_mouse(60, y)
            time.sleep(0.3)  # for the display to tell the browser
            assert window.driver.execute_script("return moves") == 0
            seen.append(env.step(Click(1)))
            assert seen == expected
        finally:
            window.close()


class TestFailure:
    def test_no_browser(self):
        with pytest.raises(BrowserError, match=r"no browser at '/no/such/chrome'"):
            find_browser("/no/such/chrome")

    def test_no_browser_anywhere(self, monkeypatch):
        monkeypatch.setenv("PATH", "/no/such/folder")
        monkeypatch.delenv("MINIWOB_BROWSER", raising=False)
        with pytest.raises(BrowserError, match="apt-get install chromium chromium-driver"):
            find_browser()

    def test_a_browser_that_does_not_start(self):
        broken = Browser("/bin/false")
        with pytest.raises(BrowserError, match="/bin/false did not start"):
            page(broken, "click-button").reset()
        broken.close()

    @pytest.mark.parametrize("victim", ["browser", "driver"])
    def test_after_a_crash_the_next_page_gets_a_new_browser(self, victim):
        browser = Browser()
        try:
            env = page(browser, "click-menu-2")
            before = env.reset()
            driver = browser.driver
            pid = (
                driver.capabilities["goog:processID"]
                if victim == "browser"
                else driver.service.process.pid
            )
            os.kill(pid, signal.SIGKILL)
            with pytest.raises(BrowserError, match="the browser failed while doing click id=1"):
                env.step(Click(1))
            assert page(browser, "click-menu-2").reset() == before
            assert browser.driver is not driver
        finally:
            browser.close()

    def test_a_page_that_hangs_is_given_up(self):
        browser = Browser(timeout=1)
        try:
            env = page(browser, "click-menu-2")
            before = env.reset()
            browser.driver.execute_script("setTimeout(() => { for (;;); }, 10)")
            with pytest.raises(BrowserError, match="the browser failed while doing click id=1"):
                env.step(Click(1))
            assert page(browser, "click-menu-2").reset() == before
        finally:
            browser.close()


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads /proc")
def test_many_episodes_leave_nothing_behind():
    """No memory beyond the bounds that the benchmark states, no process, no open file."""
    result = subprocess.run(
        [sys.executable, "benchmarks/endurance.py", "--episodes", "60"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.splitlines()[-1].split()[0] == "60"


def marked(mark):
    """Processes that inherited the environment variable MARK=mark."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if f"MARK={mark}".encode() in (entry / "environ").read_bytes():
                    found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ")[:80])
            except OSError:
                continue
    return found


def wait_until(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="reads /proc")
@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_ctrl_c_leaves_no_process_behind_and_keeps_what_is_recorded(pytester, chat_server, workers):
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.miniwob("click-menu-2", seeds=[1, 2])
        def test_solves(miniwob_episode): pass
        """
    )
    mark = uuid.uuid4().hex

    def reply(prompt):
        if "Say in one short sentence" not in prompt:
            return "click id=1"
        wait_until(lambda: released)  # the run is in the middle of a call when it is interrupted
        return "The menu was opened."

    released = []
    chat_server.reply = reply
    process = subprocess.Popen(
        [
            sys.executable, "-m", "pytest", workers, "-p", "no:randomly",
            "--miniwob-record=new_episodes", "--miniwob-model=m",
            f"--miniwob-base-url={chat_server.url}",
        ],
        cwd=pytester.path, env={**os.environ, "MARK": mark}, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    wait_until(lambda: len(chat_server.requests) >= (2 if workers == "-n0" else 4))
    assert any(b"chrom" in command for command in marked(mark))
    os.killpg(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    released.append(True)
    wait_until(lambda: not marked(mark))
    cassettes = list(pytester.path.glob("cassettes/reflective/m/click-menu-2/*.yaml"))
    assert len(cassettes) == (1 if workers == "-n0" else 2), output
    assert "click id=1" in cassettes[0].read_text(encoding="utf-8")
