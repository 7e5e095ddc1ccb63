"""Perturbations on pages in the browser: what each changes, and what it leaves."""

import pytest
from support.own_pages import TASK, click, texts
from support.sweeps import swept

from pytest_miniwob_agent.browser.own_page import open_page as open_task
from pytest_miniwob_agent.core.actions import Choose, Click, Press, Wait
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.errors import PageError
from pytest_miniwob_agent.tasks.catalogue import Catalogue
from pytest_miniwob_agent.tasks.perturbations import Perturbation, shipped_kinds

FORM = """
    <style>.row { color: green } #save:not(.off) { font-weight: bold }</style>
    <main><p class="row" id="first">One</p><p class="row">Two</p><p class="row">Three</p></main>
    <input id="name" placeholder="Your name"> <button id="save">Save</button>
    <button type="button" id="load">Load 1</button> <output></output>
    <script>
      const show = (text) => { document.querySelector("output").textContent = text; };
      const ask = async (method, path) => {
        show("asking");
        const answer = await fetch(path, { method, body: method === "POST" ? "{}" : null });
        show(`${answer.status} ${(await answer.json()).said ?? "nothing"}`);
      };
      document.getElementById("save").onclick = () => ask("POST", "/save");
      document.getElementById("load").onclick = () => ask("GET", "/load");
      window.task = {
        goal: "Save.",
        setup: (seed, { state }) => { state.saved = 0; state.drawn = Math.random(); },
        api: {
          "POST /save": ({ state }) => ({ said: `saved ${++state.saved}` }),
          "GET /load": ({ state }) => ({ said: `drawn ${state.drawn}` }),
        },
        perturb: {
          moved: "main",
          reworded: { Save: "Store", "Your name": "What are you called?", "Load {}": "Get {}" },
          language: { Save: "Sichern" },
          twins: () => document.querySelector("main").append(document.createElement("button")),
          expired: ({ path, state }) => path === "/load" && (state.drawn = "out"),
        },
        reward: (seed, { asked, state }) => asked("POST", "/save") ? 1 : 0,
      };
    </script>
"""


@pytest.fixture
def perturbed(pages):
    def show(kind, body=FORM, seed=1):
        page = pages.make(body, seed).perturb(shipped_kinds().get(kind, kind))
        return page, page.reset()

    return show


def test_an_overlay_takes_clicks_until_it_is_declined(perturbed):
    page, seen = perturbed("overlay")
    assert {"One", "Save"} < set(texts(seen))
    covered = click(page, seen, "Load 1").observation
    assert "asking" not in texts(covered)
    *_, decline = covered.elements
    free = page.step(Click(decline.id)).observation
    assert decline.text not in texts(free)
    assert any("drawn" in text for text in texts(click(page, free, "Load 1").observation))


def test_what_is_late_is_not_on_the_first_screen(perturbed):
    page, seen = perturbed("late")
    assert "One" in texts(seen)
    assert "Loading…" in texts(seen)
    assert "Save" not in texts(seen)
    assert {"Save", "Load 1"} < set(texts(page.step(Wait(4)).observation))


def test_a_page_is_moved_renamed_or_zoomed_and_works(perturbed):
    page, seen = perturbed(None)
    picture = page.look().png
    assert {one.dom_id for one in seen.elements} == {"first", "name", "save", "load", ""}

    page, moved = perturbed("moved")
    assert texts(moved) != texts(seen)
    assert sorted(texts(moved)) == sorted(texts(seen))

    page, renamed = perturbed("renamed")
    assert page.look().png == picture
    assert texts(renamed) == texts(seen)
    names = {one.dom_id for one in renamed.elements}
    assert len(names) == 5
    assert not names & {"first", "name", "save", "load"}
    assert click(page, renamed, "Save").reward == 1

    page, zoomed = perturbed("zoomed")
    assert texts(zoomed) == texts(seen)
    assert page.look().png != picture
    assert all(one.y > other.y for one, other in zip(zoomed.elements, seen.elements, strict=True))
    assert click(page, zoomed, "Save").reward == 1


def test_words_are_replaced_in_texts_and_labels_also_those_that_come_later(perturbed):
    page, seen = perturbed("reworded")
    assert {"Store", "Get 1"} < set(texts(seen))
    assert "What are you called?" in {one.placeholder for one in seen.elements}
    assert not {"Save", "Load 1"} & set(texts(seen))
    assert "Sichern" in texts(perturbed("language")[1])
    body = FORM.replace('show("asking")', 'show("Save")')
    page, seen = perturbed("reworded", body)
    page.perturb(Perturbation("x", "page.begin(() => page.translate({'200 {}': 'It said: {}'}));"))
    seen = page.reset()
    assert "It said: saved 1" not in texts(seen)
    found = click(page, seen, "Load 1").observation
    assert any(text.startswith("It said: drawn") for text in texts(found))


def test_scripts_find_elements_that_are_renamed(perturbed):
    body = """
        <style>.on { font-weight: bold }</style><p id="out" class="off">-</p> <p id="last">-</p>
        <button onclick="show()">Show</button>
        <script>
          const show = () => {
            const { classList } = out;
            const replaced = [classList.replace("none", "on"), classList.replace("off", "on")];
            const { fontWeight } = getComputedStyle(window.out);
            out.textContent = `${replaced} ${out.className} ${fontWeight}`;
            last.textContent = last = "mine";
          };
          window.task = { goal: "Show.", reward: () => 0 };
        </script>"""
    page, seen = perturbed("renamed", body)
    assert texts(click(page, seen, "Show").observation)[:2] == ["false,true on 700", "mine"]
    assert page.remarks() == []


def test_a_slow_answer_comes_at_last(perturbed):
    page, seen = perturbed("slow")
    assert "asking" in texts(click(page, seen, "Load 1").observation)
    assert any("drawn" in text for text in texts(page.step(Wait(8)).observation))


def test_a_change_that_fails_once_is_made_once(perturbed):
    page, seen = perturbed("failing")
    refused = click(page, seen, "Save")
    assert "503 nothing" in texts(refused.observation)
    assert refused.reward == 0
    assert click(page, refused.observation, "Save").reward == 1
    page, seen = perturbed("failing", FORM.replace("reward: (seed", "reward: () => 0, x: (seed"))
    again = click(page, click(page, seen, "Save").observation, "Save").observation
    assert "200 saved 1" in texts(again)


BY_OTHERS = """
    <form method="post" action="/form"><button>Send</button></form>
    <button onclick="ask()">Ask</button> <output>nothing</output>
    <script>
      const ask = () => {
        const request = new XMLHttpRequest();
        request.open("PUT", "/ask");
        request.onload = () => { document.querySelector("output").textContent = request.status; };
        request.send();
      };
      window.task = {
        goal: "Ask.",
        api: { "PUT /ask": () => "yes", "POST /form": () => Response.redirect("/page.html", 303) },
        reward: (seed, { asked }) => asked("POST", "/form") ? 1 : 0,
      };
    </script>
"""


def test_requests_by_other_means_are_perturbed_too(perturbed):
    page, seen = perturbed("failing", BY_OTHERS)
    refused = click(page, seen, "Ask").observation
    assert "503" in texts(refused)
    assert "200" in texts(click(page, refused, "Ask").observation)
    page, seen = perturbed("failing", BY_OTHERS)
    refused = click(page, seen, "Send")
    assert refused.reward == 0
    assert click(page, refused.observation, "Send").reward == 1
    page, seen = perturbed("slow", BY_OTHERS)
    asking = click(page, seen, "Ask").observation
    assert "nothing" in texts(asking)
    assert "200" in texts(page.step(Wait(8)).observation)


@pytest.fixture
def site(pages):
    pages.write(
        site__index_html=f"{TASK}<a href=next.html>On</a>",
        site__next_html=f"{TASK}<a href=index.html>Back</a><p id=x>Here</p>",
    )

    def show(kind):
        page = pages.open("site").perturb(shipped_kinds().get(kind, kind))
        return page, page.reset()

    return show


def test_a_perturbation_goes_on_from_page_to_page(site):
    page, seen = site("overlay")
    free = page.step(Click(seen.elements[-1].id)).observation
    assert texts(free) == ["On"]
    assert texts(click(page, free, "On").observation) == ["Back", "Here"]
    page, seen = site(
        Perturbation("draw", "page.begin(() => document.body.append(page.random()));")
    )
    first = texts(seen)[-1]
    assert texts(click(page, seen, "On").observation)[-1] != first  # the stream goes on, too
    page, seen = site("late")
    there = click(page, page.step(Wait(4)).observation, "On").observation
    assert texts(there) == ["Back", "Here"]


def test_what_a_page_declares_is_called(perturbed):
    page, seen = perturbed("expired")
    assert "200 drawn out" in texts(click(page, seen, "Load 1").observation)
    _, seen = perturbed("twins")
    assert [one.tag for one in seen.elements].count("button") == 3


def test_the_first_click_is_lost(perturbed):
    page, seen = perturbed("inert")
    lost = click(page, seen, "Save")
    assert (lost.reward, texts(lost.observation)) == (0, texts(seen))
    page.step(Press("TAB"))
    assert "200 drawn" in texts(page.step(Press("ENTER")).observation)[-1]
    assert click(page, lost.observation, "Save").reward == 1


def test_the_first_answer_of_several_functions_counts(perturbed):
    script = """
        page.onRequest(() => { page.kept.asked = "1"; });
        page.onRequest(async () => page.Response.json({ said: page.kept.asked + "2" }));
        page.onRequest(() => page.Response.json({ said: "3" }));
    """
    page, seen = perturbed(Perturbation("several", script))
    assert "200 12" in texts(click(page, seen, "Load 1").observation)


def test_what_begins_later_begins_at_once(perturbed):
    script = """
        page.onClick(() => {
          page.begin(() => document.body.append("begun"));
          page.each("#load", (button) => { button.value = "each"; });
          page.translate({ Three: "Drei", "200 {}": "Said {}" });
          return 1;  // and not true: the click is not lost
        });
    """
    page, seen = perturbed(Perturbation("later", script))
    found = texts(click(page, seen, "Load 1").observation)
    assert "Drei" in found
    assert "begun" in found[-1]
    assert any(text.startswith("Said drawn") for text in found)


def test_options_keep_their_values_if_their_texts_are_replaced(perturbed):
    body = """
        <select><option>One</option><option> Two </option></select>
        <script>
          const list = document.querySelector("select");
          window.task = {
            goal: "Choose two.",
            perturb: { language: { One: "Eins", Two: "Zwei" } },
            reward: () => list.value === "Two" ? 1 : 0,
          };
        </script>"""
    page, seen = perturbed("language", body)
    assert seen.elements[0].value == "Eins"
    assert page.step(Choose("Zwei", seen.elements[0].id)).reward == 1


def test_random_numbers_of_a_perturbation_are_its_own(perturbed):
    def drawn(kind):
        page, seen = perturbed(kind)
        return texts(click(page, seen, "Load 1").observation)[-1]

    draws = Perturbation("draws", "page.begin(() => { page.random(); page.applied(); });")
    assert drawn(None) == drawn(draws)
    say = "page.begin(() => document.body.append(page.random(), page.shuffled([1, 2, 3, 4, 5])));"
    said = [texts(perturbed(Perturbation("say", say), seed=seed)[1])[-1] for seed in (1, 1, 2)]
    assert said[0] == said[1] != said[2]


@pytest.mark.parametrize(
    "task",
    [
        "click-button",
        *swept("click-tab-2", "search-engine"),
    ],
)
def test_pages_of_the_package_set_the_same_problem(browser, task):
    catalogue = Catalogue()

    def open_package_page(name):
        return open_task(browser, Case(name, "x", 1), catalogue.pages[name])

    goal = open_package_page(task).reset().goal
    for kind in ("overlay", "late", "renamed", "zoomed", "inert"):
        [name] = catalogue.perturb(task, kind)
        assert name == f"{task}~{kind}"
        assert open_package_page(name).reset(screen="full").goal == goal


def test_a_perturbation_that_changes_nothing_is_remarked_once(perturbed):
    body = FORM.replace('asked("POST", "/save")', "clicked").replace(
        '() => ask("POST", "/save")', "() => { clicked = 1; }"
    )
    page, seen = perturbed("failing", body.replace("<script>", "<script>let clicked = 0;"))
    assert click(page, seen, "Save").reward == 1
    assert page.remarks() == ["the perturbation failing has changed nothing"]
    page.step(Wait(1))
    page.live(1)
    assert page.remarks() == []


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Perturbation("broken", "page.begin(("), "the script of the perturbation broken can't be"),
        (Perturbation("bad", "page.begin(() => nothing());"), "bad threw ReferenceError: nothing"),
        (Perturbation("wild", "nothing();"), "wild threw ReferenceError: nothing is not defined"),
        (
            Perturbation("new", "0", "declaration"),
            r"declares nothing for the perturbation new: set",
        ),
    ],
)
def test_a_script_or_page_that_can_not_work_is_an_error(perturbed, kind, message):
    with pytest.raises(PageError, match=message):
        perturbed(kind)


def test_a_page_of_the_package_can_be_used_after_such_an_error(browser):
    kind = Perturbation("bad", "page.begin(() => nothing());")
    page = open_task(browser, Case("click-test", "x", 1), Catalogue().pages["click-test"])
    with pytest.raises(PageError, match="bad threw ReferenceError: nothing"):
        page.perturb(kind).reset()
    assert page.perturb(None).reset().elements
