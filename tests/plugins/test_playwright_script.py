"""`miniwob-agent show --as playwright`: a solved item as a test for pytest-playwright."""

from fnmatch import fnmatch

import pytest
from support.playwright_scripts import run_scripts

from pytest_miniwob_agent.plugins.playwright.script import ON_APP, find_module, name_in

PAGE = """<!DOCTYPE html>
<h1>Guests</h1>
<label>Name <input id="name"></label>
<label><input type="checkbox" id="child"> Child</label>
<label>Meal <select id="meal"><option>Fish</option><option>Soup</option></select></label>
<label>Row <select><option>1<optgroup label="Back"><option>1</optgroup></select></label>
<label>Card <input type="file" id="card"></label>
<label>Note <textarea></textarea></label>
<button onclick="add()">Add</button> <button>Add a card</button>
<button>Odd\x85one</button>
<ul><li>Ann <button onclick="drop(this)">Remove</button></li>
<li>Bob <button onclick="drop(this)">Remove</button></li></ul>
<p id="said" role="status"></p>
<div style="height: 9px; background: red" onclick="0"></div>
<script>
const of = (id) => document.getElementById(id);
let added = 0;
const add = () => { added = of("name").value === `Cid ${seat}` && of("child").checked
  && of("meal").value === "Soup" && of("card").files.length; };
const drop = (button) => {
  if (!confirm("Remove?")) return;
  of("said").textContent = `${button.parentNode.firstChild.data.trim()} will not come.`;
  button.parentNode.remove();
};
let seat;
window.task = {
  goal: () => `Add Cid ${seat}, a child, and remove Bob.`,
  files: ["card.txt"],
  setup: () => { seat = Math.floor(Math.random() * 1000); },
  reward: () => Number(added && of("said").textContent.startsWith("Bob")),
};
</script>
"""

AGENT = """
import re

import pytest
from pytest_miniwob_agent import *
from pytest_miniwob_agent.testing import ScriptedLLM


class Player:
    name = "player"

    def solve(self, env, llm, note):
        seen = env.reset(screen="tree")
        seat = re.search("[0-9]+", seen.goal)

        def of(role, text, place=0):
            return [one.id for one in seen.elements if (one.role, one.text) == (role, text)][place]

        for action in [{actions}]:
            env.step(action)


@pytest.fixture
def miniwob_agent():
    return Player()


@pytest.fixture
def miniwob_llm():
    return ScriptedLLM([])


@pytest.mark.miniwob("{task}", seeds=[3], trials=1)
def test_solves(miniwob_episode):
    pass
"""

SOLVING = """
    Enter(f"Cid {seat[0]}", of("textbox", "Name")), Click(of("checkbox", "Child")),
    Choose("Soup", of("combobox", "Meal")), Upload("card.txt", of("button", "Card")),
    Enter("Hi 😀\\n", of("textbox", "Note")), Click(of("button", "Add")),
    Click(of("button", "Remove")), Dismiss(), Wait(0.5), Press("TAB", 2),
    Click(of("button", "Remove", 1)), Accept()
"""

FURTHER = """
    ClickWith(of("button", "Add"), "right"), PressKeys("ctrl+F2"), PressKeys("a", 2),
    ClickWith(of("heading", "Guests"), times=3, keys=("CTRL", "META")),
    ClickWith(of("heading", "Guests"), seconds=0.5),
    ScrollWith(of("heading", "Guests"), -10, ("CTRL",)), Choose("Back: 1", of("combobox", "Row")),
    Click(next(one.id for one in seen.elements if one.text.startswith("Odd"))),
"""
"""Input that changes nothing."""

SHOW = ("show", "guests/3", "--as", "playwright")

BODY = '''

def test_guests_3(page: Page) -> None:
    page.route("**/*", answer)
    page.goto("http://pages.localhost/guests.html")
    page.evaluate(
        """async (seed) => {  // the random numbers are those of the item
            let n = seed;
            const mix = () => {
                n = (n + 0x9e3779b9) | 0;
                let mixed = Math.imul(n ^ (n >>> 16), 0x21f0aaad);
                mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
                return (mixed ^ (mixed >>> 15)) >>> 0;
            };
            Math.random = () => ((mix() >>> 5) * 2 ** 26 + (mix() >>> 6)) / 2 ** 53;
            await task.setup?.(seed, {});
        }""",
        3,
    )
    page.get_by_role("button", name="Add", exact=True).click(button="right")
    page.keyboard.press("Control+F2")
    page.keyboard.press("a")
    page.keyboard.press("a")
    page.get_by_role("heading", name="Guests").click(click_count=3, modifiers=["Control", "Meta"])
    page.get_by_role("heading", name="Guests").click(delay=0.5 * 1000)
    page.get_by_role("heading", name="Guests").hover()
    page.keyboard.down("Control")
    page.mouse.wheel(0, -10)
    page.keyboard.up("Control")
    page.get_by_role("combobox", name="Row").select_option(index=1)
    page.get_by_role("button", name="Odd\\x85one").click()
    page.get_by_role("textbox", name="Name").fill("Cid 553")
    page.get_by_role("checkbox", name="Child").check()
    page.get_by_role("combobox", name="Meal").select_option(label="Soup")
    page.get_by_label("Card").set_input_files("pages/card.txt")
    page.get_by_role("textbox", name="Note").click()
    page.keyboard.type("Hi 😀\\n")
    page.get_by_role("button", name="Add", exact=True).click()
    page.once("dialog", lambda dialog: dialog.dismiss())
    page.get_by_role("listitem").filter(has_text="Ann").get_by_role("button", name="Remove").click()
    page.wait_for_timeout(0.5 * 1000)
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("listitem").filter(has_text="Bob").get_by_role("button", name="Remove").click()
    expect(page.get_by_text("Bob will not come.")).to_be_visible()
    page.wait_for_function("task.reward(3, {}) === 1")
'''


@pytest.fixture
def guests(project):
    project.makeconftest("")
    pages = project.mkdir("pages")
    pages.joinpath("guests.html").write_text(PAGE)
    pages.joinpath("card.txt").write_text("Welcome")
    project.makeini("[pytest]\nminiwob_pages = pages\n")

    def play(actions, task="guests"):
        text = AGENT.replace("{actions}", actions).replace("{task}", task)
        project.test_file.write_text(text)

    project.play = play
    return project


def test_the_actions_of_an_own_page_are_printed_with_locators_that_people_would_write(guests, call):
    guests.play(FURTHER + SOLVING)
    status, out, err = call(*SHOW)
    assert (status, err) == (0, "")
    compile(out, "test_script.py", "exec")
    head, _, body = out.partition("route.abort()\n")
    assert head.startswith('"""pages/guests/3, as player with')
    assert "Verdict: what the page shows, and its own reward." in head
    assert 'FOLDER = Path("pages")' in head
    assert body.splitlines() == BODY.splitlines()


@pytest.mark.sweep
def test_it_runs(guests, call):
    guests.play(SOLVING)
    run_scripts(guests.path, [call(*SHOW)[1]])


REFUSED = {
    'Click(of("button", "Add"))': "it is not solved",
    "ClickAt((5, 5))": "action 0 has no locator, as it goes to a point, *: click at 5,5",
    'Press("TAB"), Click(next(one.id for one in seen.elements if one.role == "generic"))':
        "action 1 has no locator, as its element has no role, name, label, text or test id: *",
}  # fmt: skip


@pytest.mark.parametrize("actions", REFUSED)
def test_it_is_refused_with_the_reason(guests, call, actions):
    guests.play(actions)
    status, out, err = call(*SHOW)
    assert (status, out) == (2, "")
    said = f"miniwob-agent: pages/guests/3 can't be a Playwright test: {REFUSED[actions]}"
    assert fnmatch(err.strip(), said)


def test_pages_that_need_an_item_are_refused(guests, call):
    page = guests.path / "pages" / "guests.html"
    page.write_text(page.read_text().replace("files: [", "api: {'GET /x': () => 1}, files: ["))
    guests.play(SOLVING)
    assert "has a backend, task.api, which is there in items alone" in call(*SHOW)[2]
    guests.play('Click(of("button", "Click Me!"))', "click-test")
    show = ("show", "click-test/3", "--as", "playwright")
    assert "it is judged by core.js, which is there in items alone" in call(*show)[2]


def test_an_item_that_is_not_in_a_browser_is_refused(record, call):
    show = ("show", "click-menu-2/2", "--as", "playwright")
    status, out, err = call(*show)
    assert (status, out) == (2, "")
    assert "is not in a browser" in err


APP_TASKS = """
from pytest_miniwob_agent import AppTask

def task(**more):
    return AppTask("list", app="app", goal="List.", solved_when=lambda trial: True, **more)

IN_DICT = {"list": task(setup=lambda app, seed: None)}
IN_LIST = [task(), task(setup=lambda app, seed: None)]
"""


def test_the_setup_of_an_apps_task_is_found_in_lists_and_dicts(pytester):
    file = pytester.makepyfile(shop_tasks=APP_TASKS)
    pytester.syspathinsert()
    shop = __import__("shop_tasks")
    for task, name in ((shop.IN_DICT["list"], "IN_DICT['list']"), (shop.IN_LIST[1], "IN_LIST[1]")):
        assert find_module(file) is shop
        assert name_in(shop, task, "setup") == f"{name}.setup"
        assert name_in(shop, task) == name


@pytest.mark.parametrize("app", ["http://shop/", "http://shop"])
def test_the_address_of_an_app_has_no_slash_at_its_end(app):
    text = ON_APP.format(
        imported="", fixtures="", judge="", fixture="app", prepared="", app="app", name="test_it",
        width=1, height=1, start='"/"',
    )  # fmt: skip
    fixture = {}
    exec(text.partition("@pytest.fixture\n")[2].partition("\n\n\n")[0], fixture)
    assert fixture["address"](app) == "http://shop"
