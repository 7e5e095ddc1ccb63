"""Certification of pages as deterministic, with fake pages and a real one."""

import json
from functools import partial

import pytest
from support.drawn_pictures import page_with_button

from pytest_miniwob_agent.cli import main
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.observations import Element, Shot
from pytest_miniwob_agent.plugins.certify.certification import certify, explore
from pytest_miniwob_agent.testing import FakePage

CASES = [Case("one", "other", 1), Case("two", "other", 1)]


class FakeBrowser:
    """A browser with a name that counts its pages."""

    def __init__(self, name):
        self.name, self.pages, self.closed = name, 0, False

    def close(self):
        self.closed = True


def certified(
    text=lambda browser: "Submit",
    left=lambda browser: 40,
    others=("second", "third"),
    elsewhere=None,
    **options,
):
    """Certify pages whose button follows from the browser; the slow pass has a browser for each."""
    started = []

    def start(name):
        started.append(FakeBrowser(name))
        return started[-1]

    def open_page(browser, case):
        browser.pages += 1
        page = FakePage(case.task, {"start": [Element(1, "button", text(browser))]})
        page.look = lambda: Shot(page_with_button(left(browser)), (160, 210))
        page.remarks = lambda: ["there is no file /x.png"]
        return page

    verdicts = certify(
        CASES, open_page, partial(start, "first"), {name: partial(start, name) for name in others},
        pause=0, start_elsewhere=elsewhere and partial(start, elsewhere), **options,
    )  # fmt: skip
    assert all(browser.closed for browser in started)
    names = ["first", elsewhere or "first", *others, "first", "first"]
    assert sorted(browser.name for browser in started) == sorted(names)
    return verdicts


def test_deterministic_pages_have_no_difference_and_remarks_once():
    lines = []
    verdicts = certified(progress=lines.append)
    assert [verdict.difference for verdict in verdicts] == ["", ""]
    assert {verdict.remarks for verdict in verdicts} == {("there is no file /x.png",)}
    assert {line.partition(":")[0] for line in lines} == {f"{n} of 10" for n in range(1, 11)}
    assert any(line.endswith(": other/two/1, pauses between the actions") for line in lines)


def test_the_second_pass_may_have_a_browser_as_on_another_machine():
    for verdict in certified(lambda browser: browser.name, others=(), elsewhere="elsewhere"):
        assert "+++ another browser and order" in verdict.difference
        assert "elsewhere" in verdict.difference


def test_a_broken_page_ends_all_passes():
    with pytest.raises(ZeroDivisionError):
        certified(lambda browser: 1 / 0)


def test_a_difference_between_two_passes_is_shown_as_a_diff():
    first, second = certified(lambda browser: f"Submit {browser.name == 'third'}")
    assert "+++ third" in first.difference
    assert "-Element(id=1, tag='button', text='Submit False'" in first.difference
    assert "+Element(id=1, tag='button', text='Submit True'" in first.difference
    first, second = certified(lambda browser: f"Submit {browser.pages}")
    assert "+++ another browser and order" in first.difference
    assert second.difference


def test_pixels_that_differ_are_shown_with_their_place_where_screens_are_equal():
    equal, _ = certified(pixels=True)
    moved, _ = certified(left=lambda browser: 42 if browser.name == "third" else 40, pixels=True)
    assert equal.difference == ""
    assert moved.difference.startswith("the screenshot after loading (third): 128 of 33,600 ")


def test_exploring_uses_every_element_once_and_writes_to_fields():
    env = FakePage(
        "g",
        {"start": [Element(1, "button", "a"), Element(2, "input_text", value=""), Element(3, "b")]},
        rewards={("start", "click id=3"): 1.0},
    )
    explore(env)
    first, second, further = ([str(action) for action in trial] for trial in env.actions)
    assert first == ["click id=1", 'enter "a1 B" to id=2', "click id=3"]
    assert second == ["press TAB"]  # the page ended the first trial
    assert [action.split()[0] for action in further] == [
        "hover", "drag", "select", "copy", "click", "paste", "scroll", "drag", "double", "hover",
    ]  # fmt: skip
    assert further[:3] == ["hover id=1", "drag id=2 to id=3", "select id=3"]
    assert [seen.action for seen in explore(FakePage("g", {"start": []}))] == ["loading"] * 2


def test_exploring_a_full_screen_also_tries_points_and_times():
    details = (("box", "0,0,9,9"),)
    env = FakePage("g", {"start": [Element(1, "button", "a", details=details)]})
    seen = explore(env, screen="full")
    assert all(element.details for one in seen for element in one.transition.observation.elements)
    assert [str(action) for action in env.actions[-1][:5]] == [
        "wait 0.35 s", "hover at 60,90", "drag from 100,120 to 120,130 to 100,140",
        "click at 20,150", "follow id=1 for 0.5 s",
    ]  # fmt: skip


@pytest.mark.integration
def test_a_real_page_is_explored_to_equal_observations_at_any_pace(page):
    first = explore(page("use-autocomplete"), pixels=True)
    again = explore(page("use-autocomplete"), pixels=True, pause=0.05)
    assert [(seen, seen.screenshot) for seen in first] == [
        (seen, seen.screenshot) for seen in again
    ]
    assert len(first) > 10


@pytest.mark.sweep
@pytest.mark.integration
def test_the_command_prints_and_writes_the_verdicts_of_real_pages(tmp_path, capsys):
    pages, output = tmp_path / "pages", tmp_path / "verdicts.json"
    pages.mkdir()
    task = "window.task = { goal: 'Look.', reward: () => 0 };"
    (pages / "good.html").write_text(f"<button>Go</button><script>{task}</script>")
    (pages / "bad.html").write_text("<p>No task.</p>")
    (pages / "differs.html").write_text(f"""
        <!DOCTYPE html><body><p id="shown"></p><script>
          {task}
          const code = `crypto.subtle
            .generateKey({{ name: "HMAC", hash: "SHA-256" }}, true, ["sign"])
            .then((key) => crypto.subtle.exportKey("jwk", key)).then(({{ k }}) => postMessage(k))`;
          const worker = new Worker(URL.createObjectURL(new Blob([code])));
          worker.onmessage = ({{ data }}) => {{ shown.textContent = data; }};
        </script>
    """)
    arguments = ["--pages", str(pages), "--seeds", "1", "--output", str(output), "--pixels"]
    arguments += ["--screen", "tree"]
    assert main(["certify", *arguments]) == 1
    shown = capsys.readouterr().out
    for text in (
        "same    pages/good/1, ", "ERROR   pages/bad/1, 0 ", "bad.html: it declares no task",
        "DIFFERS pages/differs/1, ", "\n  --- first pass\n",
        "\n  page: a worker was started, which runs", "has the usual causes",
        "1 of 3 cases are deterministic",
    ):  # fmt: skip
        assert text in shown
    assert json.loads(output.read_text())["pages/good/1"]["difference"] == ""


DRIFTS = """<!DOCTYPE html>
    <button onclick="start()">Start</button><p id="out">-</p>
    <script>
      const code = "setTimeout(() => postMessage(1), 1000)";
      const start = () => {
        new Worker(URL.createObjectURL(new Blob([code]))).onmessage = () => {
          out.textContent = "ready";
        };
      };
      window.task = { goal: "Start.", reward: () => 0 };
    </script>"""
LACKS = """<!DOCTYPE html>
    <button onclick="ask()">Ask</button>
    <script>
      const ask = async () => {
        await fetch("/api/items?page=2");
        await fetch("/api/cart", { method: "POST", body: '{"n":2}' });
        await fetch("https://api.shop.test/price");
      };
      window.task = { goal: "Ask.", reward: () => 0 };
    </script>"""
RANDOM = r"""<!DOCTYPE html><script>
      const drawn = URL.createObjectURL(new Blob());
      window.task = { goal: () => `\u001b[31m${drawn}`, reward: () => 0 };
    </script>"""


@pytest.mark.sweep
@pytest.mark.integration
def test_the_command_shows_what_a_slow_model_sees_what_an_app_lacks_and_no_foreign_codes(
    tmp_path, capsys
):
    for name, text in {"drifts": DRIFTS, "lacks": LACKS, "random": RANDOM}.items():
        (tmp_path / f"{name}.html").write_text(text)
    output = tmp_path / "new" / "verdicts.json"
    assert main(["certify", "--pages", str(tmp_path), "--seeds=1", f"--output={output}"]) == 1
    shown = capsys.readouterr().out
    assert f"LACKS   {tmp_path.name}/lacks/1" in shown
    assert "nothing answers POST /api/cart" in shown
    assert "nothing answers https://api.shop.test/price" in shown
    assert "+goal: " in shown
    assert "\x1b" not in shown
    verdict = json.loads(output.read_text())[f"{tmp_path.name}/drifts/1"]["difference"]
    assert verdict.startswith("after ")
    assert "ready" in verdict  # with the pauses; where the machine is busy, in another pass too


@pytest.mark.parametrize(
    "option",
    ["--pages=p", "--seeds=1", "--screen=compact", "--pixels", "--headed", "--output=v.json"],
)
def test_options_of_pages_are_refused_for_apps(capsys, option):
    assert main(["certify", "test_x.py", "--browser=a", "--browser=b", option]) == 2
    message = f"{option.partition('=')[0]}, a second --browser: for pages alone. An app's test "
    assert message in capsys.readouterr().err


def test_the_command_suggests_a_name_for_a_misspelt_task(capsys):
    assert main(["certify", "clik-pie"]) == 2
    assert "did you mean click-pie" in capsys.readouterr().err
