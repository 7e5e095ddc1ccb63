"""Your own pages in a real Chromium: their contract, sites of several pages, their faults."""

import re
from itertools import chain, pairwise

import pytest
from support.in_browser import run_script, windows
from support.own_pages import TASK, click, texts
from support.sweeps import swept

from pytest_miniwob_agent.core.actions import (
    Click,
    Copy,
    Drag,
    Enter,
    Hover,
    Paste,
    PressKeys,
    Select,
    Wait,
)
from pytest_miniwob_agent.core.errors import PageError

pytestmark = pytest.mark.integration


CHOICE = """
    <button onclick="chosen = 'a'">A</button> <button onclick="chosen = 'b'">B</button>
    <script>
      let chosen = null;
      const task = {
        goal: (seed) => `Click ${seed % 2 ? "A" : "B"}.`,
        reward: (seed) => chosen === null ? 0 : chosen === (seed % 2 ? "a" : "b") ? 1 : -0.5,
      };
    </script>
"""


BOARD = """
    <p id="card" draggable="true" style="width: 80px">Card</p>
    <div id="done" style="width: 120px; height: 80px; background: #ddd">Done</div>
    <p id="heard"></p>
    <script>
      const [card, done] = ["card", "done"].map((id) => document.getElementById(id));
      card.ondragstart = (event) => event.dataTransfer.setData("text/plain", "Card");
      card.ondragend = () => { heard.textContent += "dropped "; };
      done.ondragover = (event) => event.preventDefault();
      done.ondrop = (event) => done.append(` has ${event.dataTransfer.getData("text/plain")}`);
      const task = {
        goal: "Drag Card.",
        reward: () => done.textContent === "Done has Card" && heard.textContent ? 1 : 0,
      };
    </script>
"""


@pytest.mark.parametrize("times", [1, *swept(15)])
def test_what_the_browser_drags_itself_always_arrives(pages, times):
    env = pages.make(BOARD)
    for _ in range(times):
        ids = {element.text: element.id for element in env.reset().elements}
        missed = env.step(Drag(ids["Card"], end=(30, 10))).observation
        assert "dropped" in texts(missed)
        assert env.step(Drag(ids["Card"], ids["Done"])).solved


COPY = """
    <button onclick="navigator.clipboard.writeText('a link').then(() => say('done'))">Copy</button>
    <button onclick="navigator.clipboard.readText().then(say)">Show</button>
    <input> <p id="out"></p>
    <script>
      const say = (text) => { out.textContent = text; };
    </script>
"""


def test_buttons_and_actions_share_a_clipboard_until_the_next_trial(pages):
    env, seen = pages.show(COPY + TASK)
    [field] = [element.id for element in seen.elements if element.value is not None]
    assert "done" in texts(click(env, seen, "Copy").observation)
    env.step(Click(field))
    pasted = env.step(Paste()).observation
    assert [element.value for element in pasted.elements if element.id == field] == ["a link"]
    env.step(Enter(" of mine", field))
    env.step(Select(field))
    env.step(Copy())
    assert "a link of mine" in texts(click(env, pasted, "Show").observation)
    seen = env.reset()
    assert "a link of mine" not in texts(click(env, seen, "Show").observation)


@pytest.mark.parametrize("place", ["root", "root.attachShadow({ mode: 'open' })"])
def test_the_caret_is_where_the_mouse_selects_before_it_is_pressed_in_an_editor(pages, place):
    env, seen = pages.show(
        f"""<div id=root></div><p id=out>-</p><script>
          const place = {place};
          place.innerHTML = "<div contenteditable><p>one</p><p>two</p></div>";
          const caret = () => (place.getSelection?.() ?? getSelection()).anchorNode?.data;
          place.firstChild.onmousedown = () => {{ out.textContent = `at ${{caret()}}`; }};
          document.onselectionchange = () => {{
            if (out.textContent === "at two") out.textContent += `, then ${{getSelection()}}`;
          }};
        </script>"""
        + TASK,
        screen="full",
    )
    ids = {element.text: element.id for element in seen.elements}
    env.step(Click(ids["one"]))
    assert "at two, then two" in texts(env.step(Select(ids["two"])).observation)


SHEET = """<p tabindex=0 id=cells>Cells</p><input><p id=out>.</p>
    <script>
      const KINDS = ["text/plain", "text/html", "x/cells"];
      for (const type of ["copy", "cut"]) cells.addEventListener(type, (event) => {
        for (const kind of KINDS) event.clipboardData.setData(kind, `${type} as ${kind}`);
        event.preventDefault();
      });
      document.addEventListener("paste", ({ clipboardData }) => {
        out.textContent = KINDS.map((kind) => clipboardData.getData(kind) || "-").join(", ");
      });
    </script>"""


def test_scripts_of_a_page_say_what_is_copied_and_see_what_is_pasted(pages):
    env, seen = pages.show(SHEET + TASK, screen="tree")
    [cells, field, _] = [element.id for element in seen.elements]
    for verb, keys in (("cut", "ctrl+x"), ("copy", "ctrl+c")):
        env.step(Click(cells))
        env.step(PressKeys(keys))
        env.step(Click(field))
        env.step(Select(field))
        pasted = env.step(Paste())
        assert pasted.error is None
        assert texts(pasted.observation)[-1] == (
            f"{verb} as text/plain, {verb} as text/html, {verb} as x/cells"
        )
        assert pasted.observation.elements[1].value == f"{verb} as text/plain"
    env.step(Select(field))
    env.step(Copy())
    assert texts(env.step(Paste()).observation)[-1] == f"{verb} as text/plain, -, -"


def test_scripts_read_and_write_all_kinds_of_text_in_the_clipboard(pages):
    env, seen = pages.show(
        """<button onclick="put()">Write</button><button onclick="take()">Read</button>
        <p id=out>.</p><script>
          const put = async () => {
            const picture = new Blob(["x"], { type: "image/png" });
            const kinds = { "text/html": "<b>a</b>", "text/plain": "a", "image/png": picture };
            await navigator.clipboard.write([new ClipboardItem(kinds)]);
            out.textContent = "written";
          };
          const take = async () => {
            const [item] = await navigator.clipboard.read();
            const found = item.types.map(async (type) => (await item.getType(type)).text());
            out.textContent = item ? (await Promise.all(found)).join(", ") : "";
          };
        </script>"""
        + TASK
    )
    assert "written" in texts(click(env, seen, "Write").observation)
    assert "<b>a</b>, a" in texts(click(env, seen, "Read").observation)


ORDER = """
    <ul id="list"><li>A<li>B<li>C<li>D</ul>
    <script>
      let moved = null;
      for (const item of list.children) {
        item.draggable = true;
        item.ondragstart = () => { moved = item; };
        item.ondragover = (event) => event.preventDefault();
        item.ondrop = ({ clientY }) => {
          const { top, height } = item.getBoundingClientRect();
          item[clientY < top + height / 2 ? "before" : "after"](moved);
        };
      }
    </script>
"""


def test_a_drag_to_an_item_of_a_list_takes_its_place(pages):
    """Such pages look in which half of the item the mouse is; at a place it may be in either."""
    env, seen = pages.show(ORDER + TASK)
    ids = {element.text: element.id for element in seen.elements}
    for moved, other, place, order in (
        ("A", "C", None, "BCAD"), ("D", "C", None, "BDCA"), ("B", "D", None, "DBCA"),
        ("D", "C", (5, 1), "BDCA"),
    ):  # fmt: skip
        after = env.step(Drag(ids[moved], ids[other], end=place)).observation
        assert "".join(texts(after)) == order


LISTS = """
    <div id="list" style="height: 60px; overflow: auto"></div>
    <select id="options" multiple size="4"></select>
    <p>Below</p>
    <script>
      const add = (parent, tag, text) => parent.append(
        Object.assign(document.createElement(tag), { textContent: text }));
      const more = () => { for (let i = 0; i < 20; i++) add(list, "div", `Row ${i}`); };
      more();
      list.onscroll = more;
      for (let i = 0; i < 40; i++) add(options, "option", `Option ${i}`);
      const task = {
        goal: "Select.",
        reward: () => list.scrollTop + options.scrollTop === 0
          && getSelection().type === "Range" && options.selectedOptions.length ? 1 : 0,
      };
    </script>
"""


def test_what_holds_a_selection_by_the_mouse_stays_where_it_is(pages):
    env, seen = pages.show(LISTS)
    ids = {element.text: element.id for element in seen.elements}
    assert not env.step(Drag(ids["Option 1"], end=(0, 200))).solved
    assert env.step(Drag(ids["Row 1"], ids["Below"])).solved


class TestDeclaredTask:
    def test_goal_and_reward_follow_from_the_seed(self, pages):
        for seed, text, reward in ((1, "B", -0.5), (2, "B", 1)):
            env, seen = pages.show(CHOICE, seed)
            assert seen.goal == f"Click {'BA'[seed % 2]}."
            judged = click(env, seen, text)
            assert (judged.reward, judged.done, judged.solved) == (reward, True, reward == 1)

    def test_setup_has_the_seed_random_numbers_and_all_the_time_it_needs(self, pages):
        body = """
            <p id="query">a field of its own</p><p id="shown"></p>
            <script type="module">
              window.task = {
                goal: "Look.",
                async setup(seed) {
                  await new Promise((resolve) => setTimeout(resolve, 5000));
                  const { name } = await (await fetch("data.json")).json();
                  document.getElementById("shown").textContent =
                    [seed, name, Math.random(), crypto.randomUUID()].join();
                },
                reward: () => 0,
              };
            </script>
        """
        pages.write(data_json='{"name": "x"}')
        seen = [pages.show(body, seed)[1] for seed in (7, 7, 8)]
        assert seen[0] == seen[1] != seen[2]
        shown, *others = texts(seen[0])
        assert shown == "a field of its own"
        assert re.fullmatch(r"7,x,0\.\d+,[0-9a-f-]{36}", others[0])

    def test_random_numbers_of_neighbouring_seeds_have_nothing_in_common(self, pages):
        body = """
            <script>
              const before = Math.random();
              const task = {
                goal: "Look.",
                setup: () => { document.body.append(`${before} ${Math.random()}`); },
                reward: () => 0,
              };
            </script>
        """
        shown = [texts(pages.show(body, seed)[1])[0].split() for seed in range(1000, 1004)]
        assert {float(before) for before, _ in shown} == {48271 / 2147483647}
        first = [float(number) for _, number in shown]
        steps = {round((b - a) % 1, 2) for a, b in pairwise(first)}
        assert len(steps) == len(first) - 1

    def test_half_of_a_surrogate_pair_is_no_text_that_an_agent_gets(self, pages):
        body = """
            <p>😀</p><button title="">x</button>
            <script>
              const button = document.querySelector("button");
              button.textContent = button.title = "a\\ud83d";
              window.task = { goal: "Click \\ude00.", reward: () => 0 };
            </script>
        """
        env, seen = pages.show(body)
        assert (seen.goal, texts(seen)) == ("Click \ufffd.", ["😀", "a\ufffd"])
        assert 'title="a\ufffd"' in env.html()

    def test_what_a_request_brings_is_on_the_screen_after_the_action(self, pages):
        body = """
            <button onclick="ask()">Ask</button><p id="shown"></p>
            <script>
              const ask = () => setTimeout(async () => {
                const texts = await Promise.all([1, 2].map(async (n) =>
                  (await fetch(`${n}.txt`)).text()));
                setTimeout(() => { document.getElementById("shown").textContent = texts; }, 300);
              }, 1900);
            </script>
        """
        pages.write(**{"1_txt": "one", "2_txt": "two"})
        env, seen = pages.show(body + TASK)
        assert texts(click(env, seen, "Ask").observation)[-1] == "one,two"

    def test_a_request_that_ends_without_an_event_is_not_waited_for(self, pages):
        requests = [
            "x.open('GET', 'http://example.org/', false); x.send()",
            "x.open('GET', '1.txt'); x.send(); x.open('GET', '1.txt'); x.send()",
            "x.open('GET', '1.txt'); x.send(); x.open('GET', '1.txt')",
            "x.open('GET', '1.txt'); x.send(); x.send()",
            "x.open('GET', '1.txt', false); x.send(); x.open('GET', '1.txt'); x.send()",
            "x.open('GET', '1.txt'); x.send(); x.abort()",
        ]
        buttons = "".join(
            f"""<button onclick="const x = new XMLHttpRequest(); try {{ {request} }} catch {{ }}
              shown.textContent = 'asked {number}'">{number}</button>"""
            for number, request in enumerate(requests)
        )
        pages.write(**{"1_txt": "one"})
        env, seen = pages.show(f'{buttons}<p id="shown"></p>{TASK}')
        for number in range(len(requests)):
            seen = click(env, seen, str(number)).observation
            assert texts(seen)[-1] == f"asked {number}"


CORE_PAGE = """
    <script src="/core/core.js"></script><link rel="stylesheet" href="../core/core.css">
    <script>
      const genProblem = () => {
        const wanted = core.sample(["one", "two"]);
        document.getElementById("query").textContent = `Click ${wanted}.`;
        for (const text of ["one", "two"]) {
          const button = document.createElement("button");
          button.textContent = text;
          button.onclick = () => core.endEpisode(text === wanted ? 1 : -1, true);
          document.getElementById("area").append(button);
        }
      };
      window.onload = () => core.startEpisode();
    </script>
    <div id="wrap"><div id="query"></div><div id="area"></div></div>
"""


def test_a_page_in_the_form_of_miniwob_uses_the_core_of_the_package(pages):
    for seed, wanted in ((1, "one"), (3, "two")):
        env, seen = pages.show(CORE_PAGE, seed)
        assert (seen.goal, texts(seen)) == (f"Click {wanted}.", ["one", "two"])
        assert click(env, seen, wanted).solved
        assert env.remarks() == []


class TestSite:
    @pytest.fixture
    def site(self, pages):
        pages.write(
            site__index_html="""
                <script src="/task.js"></script>
                <a href="/next.html">link</a> <a href="next" target="_blank">other window</a>
                <form action="next.html" method="post"><button>form</button></form>
                <button onclick="setTimeout(() => { location = 'next.html'; }, 500)">timer</button>
                <button onclick="sessionStorage.bought = 1; location = 'next.html'">buy</button>
                <script src="/shown.js"></script>
            """,
            site__next_html="""
                <script src="task.js"></script><a href="javascript:history.back()">back</a>
                <a href="sub">deeper</a><script src="shown.js"></script>
            """,
            site__sub__index_html="<a href='..'>home</a><script src='/shown.js'></script>",
            site__task_js="""
                window.task = {
                  goal: (seed) => `Buy ${seed}.`,
                  setup(seed) { sessionStorage.number = seed; },
                  reward: (seed) => sessionStorage.bought && sessionStorage.number == seed ? 1 : 0,
                };
            """,
            site__shown_js="""
                const shown = document.createElement("p");
                document.body.append(shown);
                shown.textContent = [location.pathname, Date.now() - 1.6e12, performance.now(),
                  sessionStorage.number].join();
            """,
        )
        return pages

    @pytest.mark.parametrize("way", ["other window", "form"])
    def test_goal_storage_clock_and_ids_go_on_from_page_to_page(self, site, way):
        env = site.open("site", 5)
        first = env.reset()
        assert texts(first)[-1] == "/,0,0,"
        second = click(env, first, way).observation
        assert second.goal == "Buy 5."
        assert texts(second) == [
            "back",
            "deeper",
            "/next,6000,0,5" if way == "other window" else "/next.html,6000,0,5",
        ]
        third = click(env, second, "deeper").observation
        assert (third.goal, texts(third)) == ("Buy 5.", ["home", "/sub/,12000,0,5"])
        ids = [one.id for seen in (first, second, third) for one in seen.elements]
        assert len(ids) == len(set(ids))
        assert texts(click(env, third, "home").observation)[:2] == ["link", "other window"]
        assert windows(env._browser) == 1
        assert env.reset() == first
        assert env.remarks() == []

    def test_a_page_is_left_by_a_timer_and_by_going_back(self, site):
        env = site.open("site")
        seen = click(env, env.reset(), "timer").observation
        assert texts(seen)[-1] == "/next.html,6500,0,1"
        back = click(env, seen, "back")
        assert texts(back.observation)[:2] == ["link", "other window"]
        assert texts(back.observation)[-1] == "/,12500,0,1"
        assert click(env, back.observation, "buy").solved
        assert texts(env.reset())[-1] == "/,0,0,"

    def test_with_the_full_screen_a_wait_may_lead_to_the_next_page(self, site):
        env = site.open("site")
        seen = env.reset(screen="full")
        assert texts(env.step(Wait(1)).observation) == texts(seen)
        run_script(site.browser, "setTimeout(\"location = '/next.html'\", 700)")
        assert texts(env.step(Wait(1)).observation)[-1].startswith("/next.html,")

    def test_a_first_page_may_lead_to_another_at_once(self, pages):
        pages.write(
            site__index_html="<script>location.replace('/start.html');</script>",
            site__start_html=f"<p>here</p>{TASK}",
        )
        assert texts(pages.open("site").reset()) == ["here"]

    def test_pages_that_lead_to_each_other_without_end_are_an_error(self, pages):
        task = "task = {goal: 'g', reward: () => 0}; location.assign"
        pages.write(
            site__index_html=f"<script>{task}('/a.html');</script>",
            site__a_html=f"<script>{task}('/');</script>",
        )
        with pytest.raises(PageError, match=r"site/\w+.html: it is one of pages that lead"):
            pages.open("site").reset()


def declared(**parts):
    """The script of a task with these parts, in JavaScript; those of None are left out."""
    parts = {"goal": "'Wait.'", "reward": "() => 0"} | parts
    known = ", ".join(f"{name}: {text}" for name, text in parts.items() if text)
    return f"<script>window.task = {{{known}}};</script>"


class TestFault:
    @pytest.mark.parametrize(
        ("body", "message"),
        [
            ("<p>A page.</p>", r"it declares no task: set window.task = \{goal, setup"),
            (declared(goal=None), "task.goal must be a text, .* it is missing"),
            (declared(goal="' '"), r'task.goal must be a text, .* it is " "'),
            (declared(goal="() => nope"), r"goal\(1\) threw ReferenceError: nope .*line 1 of pa"),
            (declared(setup="async () => { null.x; }"), r"setup\(1\) threw TypeError: .*line 1"),
            (declared(setup="() => new Promise(() => 1)"), "task.setup.* does not come to an end"),
            (declared(reward=None), "task.reward is not a function"),
            (declared(reward="() => NaN"), r"task.reward\(1\) returned NaN; a reward is a number"),
            (declared(reward="async () => 0"), "returned a promise; a reward is a number"),
            (declared(reward="() => 5"), "returned 5; a reward is a number from -1 to 1"),
            (declared(reward="() => -1"), "the task is over before the first action, with the rew"),
            ("<script>let x = ;</script>", r"no task: .*\n  a script failed: SyntaxError: .*token"),
            ('<script src="/core/core.js"></script>', "genProblem is not defined, which core.js"),
            (CORE_PAGE.replace('id="query"', ""), r"genProblem threw TypeError: Cannot set .*line"),
            (CORE_PAGE.replace('"query").textContent', '"area").title').replace('id="query"', ""),
             "it has no goal: core.js expects it in an element with the id query"),
        ],
    )  # fmt: skip
    def test_a_page_that_can_not_be_a_task_is_an_error_that_names_file_and_reason(
        self, pages, body, message
    ):
        with pytest.raises(PageError, match=rf"pages/page\.html: (?s:.*{message})"):
            pages.show(body)

    def test_a_reward_that_is_wrong_later_is_an_error_of_the_page_that_gave_it(self, pages):
        env, seen = pages.show(
            "<button onclick='x = 1'>Go</button>" + declared(reward="() => window.x ? 'yes' : 0")
        )
        with pytest.raises(PageError, match=r'page.html: task.reward\(1\) returned "yes"'):
            click(env, seen, "Go")


ASKING = {
    "<img src=a.png>": "there is no file /a.png",
    "<style>button:hover { background: url(b.png) }</style>": "there is no file /b.png",
    "<img src=link.txt>": "there is no file /link.txt",
    "<img src=../../secret.txt>": "there is no file /secret.txt",
    "<img src=https://x.test/a.png>":
        "asked for what is not in the folder: https://x.test/a.png (image)",
    "<link rel=stylesheet href=http://x.test/font.css>":
        "asked for what is not in the folder: http://x.test/font.css (stylesheet)",
    "<script>fetch('http://127.0.0.1/').catch(() => 0)</script>":
        "nothing answers http://127.0.0.1/",
    "<iframe src=http://miniwob.localhost/core/core.js></iframe>":
        "asked for what is not in the folder: http://miniwob.localhost/core/core.js (document)",
    "<script>setTimeout(() => nope, 50)</script>":
        "a script failed: ReferenceError: nope is not defined (line 1 of page.html)",
    "<script>Promise.reject(new Error('x'))</script>":
        "a promise was rejected: Error: x (line 1 of page.html)",
    "<script>navigator.serviceWorker.register('sw.js').catch(() => 0)</script>":
        "a service worker was refused: /sw.js",
}  # fmt: skip
"""Parts of a page that ask for something, and what its author gets to know."""

LEADING = {
    "<a href=gone.html>1</a>":
        "a link leads to a page that is not in the folder, and was not followed: /gone.html",
    "<a href=https://x.test/y>2</a>":
        "a link leads out of the folder and was not followed: https://x.test/y",
    "<a href=data.bin>3</a>":
        "a link leads to a file that is not a page, and was not followed: /data.bin",
    "<a href=page.html download>4</a>": "a download was refused: http://pages.localhost/page.html",
    "<button onclick='window.open(1)'>5</button>": "a window was not opened: 1",
    "<form action=http://x.test/><button>6</button></form>":
        "a link leads out of the folder and was not followed: http://x.test/?",
    "<a href=mailto:x@y.test target=_blank>7</a>": "a link to mailto: was not followed",
}  # fmt: skip
"""What leads nowhere, and what its author gets to know."""


def test_what_a_page_did_not_get_is_remarked_once(pages):
    (pages.folder.parent / "secret.txt").write_text("secret")
    pages.write(sw_js="")
    (pages.folder / "link.txt").symlink_to(pages.folder.parent / "secret.txt")
    sandboxed = "<iframe sandbox=allow-scripts srcdoc=Inside></iframe>"
    env, seen = pages.show("".join(ASKING) + sandboxed + declared() + "<button>Go</button>")
    frame = "what is in the element <iframe> is not read, and does not go by the page's clock: "
    frames = [frame + "http://miniwob.localhost/core/core.js", frame + 'sandbox="allow-scripts"']
    assert sorted(env.remarks()) == sorted([*ASKING.values(), *frames])
    assert click(env, seen, "Go").error is None
    assert env.remarks() == []


LATE = """<button>Go</button><script>
    addEventListener("load", async () => {
      await fetch("data.txt");
      document.body.insertAdjacentHTML("beforeend",
        "<iframe src=/there.html></iframe><object data=/there.html></object>");
    });
    document.querySelector("button").onclick = () => document.body.insertAdjacentHTML("beforeend",
      "<iframe src='data:text/html,<p>Far'></iframe>");
    </script>"""


def test_a_frame_that_comes_late_is_remarked_only_if_it_is_not_read(pages):
    pages.write(data_txt="x", there_html="<p>There</p>")
    env, seen = pages.show(declared() + LATE)
    assert texts(seen).count("There") == 2
    assert env.remarks() == []
    click(env, seen, "Go")
    [remark] = env.remarks()
    assert remark.endswith("clock: data:text/html,<p>Far")


def test_what_leads_nowhere_is_remarked_and_leaves_the_page_as_it_is(pages):
    pages.write(data_bin="x")
    env, seen = pages.show("".join(LEADING) + declared())
    for number, remark in enumerate(LEADING.values(), start=1):
        assert click(env, seen, str(number)).observation == seen
        assert env.remarks() == [remark]
    assert windows(pages.browser) == 1


def test_as_much_time_passes_where_a_link_leads_nowhere(pages):
    script = """
        <script>
          const lead = (ms) => {
            setTimeout(() => { said.textContent = "late"; }, ms);
            location = "/gone";
          };
        </script><p id="said">-</p>
        <button onclick="lead(3900)">1</button><button onclick="lead(4100)">2</button>
    """
    env, seen = pages.show(script + declared())
    assert texts(click(env, seen, "1").observation)[0] == "late"
    assert texts(click(env, env.reset(), "2").observation)[0] == "-"


def test_a_page_refreshes_by_its_own_clock(pages):
    pages.write(next_html="<p>There</p>")
    env, seen = pages.show(
        "<meta http-equiv=refresh content='9; url=/next.html'><button>Go</button>" + declared()
    )
    assert texts(seen) == ["Go"]
    assert texts(click(env, seen, "Go").observation) == ["There"]
    assert env.remarks() == []


def test_a_service_worker_is_refused_from_any_frame_and_file(pages):
    pages.write(
        sw_js="",
        frame_html="<script>parent.register(window, 'sw.js')</script>",
    )
    body = """
        <script>
          window.register = async ({ navigator }, script) => {
            await navigator.serviceWorker.register(script).then(
              () => { shown.textContent += " registered"; }, () => { shown.textContent += " no"; });
          };
        </script>
        <p id="shown"></p><button onclick="ask()">Go</button><iframe src="frame.html"></iframe>
        <iframe srcdoc="<script>parent.register(window, '/sw.js')</script>"></iframe>
        <iframe></iframe>
        <script>
          window.task = { goal: "Look.", reward: () => 0 };
          register(frames[2], "http://pages.localhost/sw.js");
          register(window, "/.miniwob-agent/echo?type=text/javascript");
          const ask = async () => {
            const found = await navigator.serviceWorker.getRegistrations();
            shown.textContent = `${found.length} registered`;
          };
        </script>
    """
    env, seen = pages.show(body)

    def comes(text, seen):
        """The browser itself refuses that of the third frame, and lists none, in real time."""
        later = (env.step(Wait(0.1)).observation for _ in range(100))
        return any(texts(one)[0] == text for one in chain([seen], later))

    assert comes("no no no no", seen)
    assert comes("0 registered", click(env, seen, "Go").observation)
    echo = "/.miniwob-agent/echo"
    expected = [f"a service worker was refused: {path}" for path in (echo, "/sw.js")]
    assert sorted(env.remarks()) == expected  # the frames ask in any order


def test_nothing_of_a_page_reaches_the_next_item(pages, page):
    pages.write(
        worker_js="",
        frame_html="<script>navigator.serviceWorker.register('worker.js').catch(() => 0)</script>",
    )
    body = """
        <p id="shown"></p><button>Go</button><iframe src="frame.html"></iframe>
        <script>
          window.task = {
            goal: "Look.",
            async setup() {
              const found = [document.cookie, localStorage.length, sessionStorage.length,
                window.name, (await indexedDB.databases()).length, (await caches.keys()).length,
                (await navigator.serviceWorker.getRegistrations()).length];
              document.getElementById("shown").textContent = found;
              document.cookie = "a=1";
              localStorage.a = sessionStorage.a = window.name = "1";
              await caches.open("a");
              await new Promise((resolve) => { indexedDB.open("a").onsuccess = resolve; });
              window.onbeforeunload = () => "stay";
              for (const type of ["pagehide", "unload", "visibilitychange"]) {
                addEventListener(type, () => {
                  document.cookie = localStorage[type] = sessionStorage[type] = `${type}=1`;
                  caches.open(type);
                }, true);
              }
            },
            reward: () => 0,
          };
        </script>
    """
    env, first = pages.show(body)
    click(env, first, "Go")
    pages.browser.devtools.call("Target.createTarget", url="about:blank")
    again = env.reset()
    assert again == first
    assert texts(again)[0] == ",0,0,,0,0,0"
    assert windows(pages.browser) == 1
    shared = page("click-tab-2")
    seen = shared.reset()
    assert not shared.remarks()
    assert run_script(pages.browser, "return [window.name, document.cookie]") == ["", ""]
    env.reset()
    assert shared.reset() == seen


def test_a_built_site_of_modules_that_load_others_is_read_when_all_are_there(pages):
    pages.write(
        site__index_html="""
            <link rel="stylesheet" href="/assets/style.css">
            <script type="module" src="/assets/app.js"></script><div id="root"></div>
        """
        + TASK,
        site__assets__style_css="@import 'more.css'; p { color: red; }",
        site__assets__more_css="p { width: 100px; }",
        site__assets__app_js="""
            const root = document.getElementById("root");
            root.innerHTML = "<button>About</button>";
            root.firstChild.onclick = async () => {
              history.pushState(null, "", "/about");
              (await import("./about.js")).show(root);
            };
        """,
        site__assets__about_js="""
            export const show = async (root) => (await import("./texts.js")).show(root);
        """,
        site__assets__texts_js="""
            export const show = (root) => { root.innerHTML = `<p>${location.pathname}</p>`; };
        """,
    )
    env = pages.open("site")
    assert texts(click(env, env.reset(), "About").observation) == ["/about"]
    assert env.remarks() == []


def test_a_page_sees_what_is_drawn_before_it_is_read(pages):
    body = """
        <p id="size"></p><p id="sight"></p><p id="scrolled"></p>
        <div id="list" style="height: 50px; overflow: auto"><p style="height: 500px">Long</p></div>
        <button onclick="list.scrollTop = 100">Scroll</button>
        <script>
          const show = (id, text) => { document.getElementById(id).textContent = text; };
          new ResizeObserver(() => show("size", "has a size")).observe(list);
          new IntersectionObserver(() => show("sight", "is in sight")).observe(list);
          list.onscroll = () => show("scrolled", `has scrolled by ${list.scrollTop}`);
        </script>
    """
    env, seen = pages.show(body + TASK)
    assert {"has a size", "is in sight"} < set(texts(seen))
    assert "has scrolled by 100" in texts(click(env, seen, "Scroll").observation)


def test_what_an_element_shows_interest_in_is_there(pages):
    env, seen = pages.show(
        TASK + "<button interestfor=hint>Info</button><p id=hint popover=hint>Hint</p>"
    )
    [button] = [one.id for one in seen.elements if one.text == "Info"]
    assert "Hint" in texts(env.step(Hover(button)).observation)


# What the browser tells a page with its next frame: elements with a button that leads to it.
WITH_FRAMES = {
    "close": """
        <dialog open id="one"><form method="dialog"><button>close</button></form></dialog>
        <script>one.addEventListener("close", () => told("close"));</script>""",
    "close by an attribute": """
        <dialog open id="two" onclose="told('close by an attribute')">
          <button onclick="two.close()">close by an attribute</button></dialog>""",
    "select": """
        <input id="field" value="text"><button onclick="field.select()">select</button>
        <script>field.onselect = () => told("select");</script>""",
    "scrollend": """
        <div id="list" style="height: 50px; overflow: auto"><p style="height: 500px">Long</p></div>
        <button onclick="list.scrollTop = 100">scrollend</button>
        <script>list.onscrollend = () => told("scrollend");</script>""",
    "change of width": """
        <iframe id="frame" width="100" srcdoc="<script>
          matchMedia('(width > 150px)').onchange = () => parent.told('change of width');
          </script>"></iframe>
        <button onclick="frame.width = 200">change of width</button>""",
}


def test_a_page_has_heard_what_comes_with_a_frame_before_it_is_read(pages):
    script = """<style>dialog { position: static }</style><script>
        window.told = (what) => document.body.append(`told of ${what}`);
        </script>"""
    env, seen = pages.show(script + "".join(WITH_FRAMES.values()) + TASK)
    for name in WITH_FRAMES:
        seen = click(env, seen, name).observation
        assert f"told of {name}" in "".join(texts(seen))


SHADOW = """
    <style>p { color: red }</style>
    <sign-up><b slot="name">Your name</b></sign-up>
    <later-on><template shadowrootmode="open"><i>Parsed</i></template></later-on>
    <script>
      customElements.define("sign-up", class extends HTMLElement {
        connectedCallback() {
          const root = this.attachShadow({ mode: "open" });
          root.adoptedStyleSheets = [new CSSStyleSheet()];
          root.innerHTML = `<style>div { overflow: hidden; height: 90px }</style>
            <div><slot name="name"></slot> <input placeholder="Name">
            <inner-button></inner-button></div>`;
        }
      });
      customElements.define("inner-button", class extends HTMLElement {
        connectedCallback() {
          const root = this.attachShadow({ mode: "open" });
          root.innerHTML = "<button>Send</button><p></p>";
          root.querySelector("button").onclick = () => {
            const { value } = this.getRootNode().querySelector("input");
            root.querySelector("p").textContent = `Thank you, ${value}`;
          };
        }
      });
      const task = { goal: "Sign up.", reward: () => 0 };
    </script>
"""


REDRAWN = """
    <div id="box"></div>
    <script>
      let count = 0;
      const draw = () => {
        box.innerHTML = '<button onclick="count += 1; draw()">Next</button><p>-</p>';
        box.firstChild.onmouseover = () => { box.lastChild.textContent = `over ${count}`; };
      };
      draw();
      const task = { goal: "g", reward: () => 0 };
    </script>
"""


@pytest.mark.parametrize("doctype", ["", "<!DOCTYPE html>"])
def test_what_a_page_draws_anew_under_the_mouse_is_notified_of_it(doctype, pages):
    pages.write(page_html=f"{doctype}<body>{REDRAWN}</body>")
    env = pages.open("page")
    seen = env.reset()
    for count in (1, 2):
        seen = click(env, seen, "Next").observation
        assert texts(seen) == ["Next", f"over {count}"]


def test_open_shadow_trees_and_slots_are_read_and_used(pages):
    env, seen = pages.show(SHADOW, screen="full")
    assert {"Your name", "Send", "Parsed"} <= set(texts(seen))
    [field] = [element.id for element in seen.elements if element.tag == "input_text"]
    after = env.step(Enter("Ada", field)).observation
    assert after.focus == field
    after = click(env, after, "Send").observation
    assert "Thank you, Ada" in texts(after)
    assert {name.partition(" of this")[0] for name in env.fonts()} == {"Roboto"}
    [id_] = [element.id for element in after.elements if element.text == "Send"]
    assert f'<button data-ref="{id_}">Send</button>' in env.html()
    assert list(env.remarks()) == []


FRAME = """
    <!DOCTYPE html><body style="height: 900px">
    <p id="time">?</p><p id="chance">?</p><p id="asked">?</p>
    <button style="margin: 40px" onclick="press()">Press</button>
    <div style="height: 500px"></div>
    <label>Note <input id="note"></label>
    <script>
      setTimeout(() => { time.textContent = new Date().getFullYear(); }, 900);
      chance.textContent = Math.random().toFixed(4);
      const press = () => {
        parent.pressed++;
        time.textContent = "pressed";
      };
      fetch("/api/word").then((answer) => answer.json())
        .then((word) => { asked.textContent = word; });
    </script>
"""

FRAMING = """
    <!DOCTYPE html><body style="height: 1500px">
    <p>Above</p>
    <iframe src="/inner.html" width="300" height="150" style="margin: 30px; border: 5px solid">
    </iframe>
    <script>
      var pressed = 0;
      const task = {
        goal: "Press.",
        api: { "GET /api/word": ({ seed }) => `word ${seed}` },
        reward: () => pressed && frames[0].document.getElementById("note").value === "Hi" ? 1 : 0,
      };
    </script>
"""


OTHER_FRAMES = {
    "object": "<object data='/inner.html'></object>",
    "embed": "<embed src='/inner.html'>",
    "shadow": "<p><template shadowrootmode=open><iframe src='/inner.html'></iframe></template>",
    "scaled": """<iframe src='/inner.html' style='transform: translateX(40px) scale(.5)'>
        </iframe>""",
    "zoomed": """<p style='zoom: 2'><iframe src='/inner.html' style='border: 9px solid'>
        </iframe>""",
    "padded": """<iframe src='/inner.html' style='border: 9px solid; padding: 70px 0 0 90px'>
        </iframe>""",
    "stretched": """<iframe src='/inner.html' style='transform: scale(1, 2) translateY(60px)'>
        </iframe>""",
    "mirrored": """<iframe src='/inner.html' style='rotate: y 180deg; transform: scaleY(-1)'>
        </iframe>""",
    "turned": """<p style='rotate: 30deg; scale: .8; margin: 0 90px 90px'>
        <iframe src='/inner.html' style='rotate: 150deg; border: 9px solid'></iframe>""",
    "scrolled": "<iframe src='/inner.html' style='rotate: 180deg' height=60></iframe>",
    "inner": """<iframe src='/middle.html' style='rotate: 90deg; margin: 60px' height=200>
        </iframe>""",
}
"""Frames of other kinds and places, by the names of the buttons in them."""

ENDLESS = [
    "frame.src = '/file.pdf'",
    "frame.src = URL.createObjectURL(new Blob(['%PDF-1.1'], { type: 'application/pdf' }))",
    "frame.src = '/inner.html'; setTimeout(() => frame.remove())",
    "frame.src = '/inner.html'; frame.contentWindow.stop()",
    "frame.contentDocument.open(); frame.contentDocument.write('Never closed')",
]
"""What leads a frame to a page that never loads."""


class TestFrames:
    @pytest.fixture
    def site(self, pages):
        pages.write(site__index_html=FRAMING, site__inner_html=FRAME)
        return pages.open("site", 4)

    def test_a_page_of_the_folder_is_read_and_used_and_the_same_in_each_trial(self, site):
        seen = site.reset(screen="full")
        assert {"Above", "2020", "word 4", "Press"} <= set(texts(seen))
        after = click(site, seen, "Press").observation
        assert "pressed" in texts(after)
        [field] = [element.id for element in after.elements if element.tag == "input_text"]
        last = site.step(Enter("Hi", field))
        assert last.solved
        assert list(site.remarks()) == []
        assert re.search(r"0\.\d{4}", " ".join(texts(seen)))
        assert site.reset(screen="full") == seen

    def test_ids_places_and_pictures_are_those_of_the_whole_page(self, site):
        seen = site.reset()
        ids = [element.id for element in seen.elements if element.id is not None]
        assert len(ids) == len(set(ids))
        [button] = [element for element in seen.elements if element.text == "Press"]
        above = next(element for element in seen.elements if element.text == "Above")
        assert button.x > 70
        assert button.y > above.y + 100
        shot = site.look(Click(button.id), marks=[button.id])
        [(x, y)] = shot.points
        assert shot.marked == (button.id,)
        [(left, top, width, height)] = shot.boxes
        assert left <= x < left + width
        assert top <= y < top + height
        html = site.html()
        assert re.search(rf'<iframe[^>]*>\s*<body.*<button data-ref="{button.id}"', html, re.DOTALL)

    def test_it_shares_the_clipboard_of_the_page(self, pages):
        pages.write(inner_html="<!DOCTYPE html><body><b>Inside</b><input>")
        env, seen = pages.show(f'{COPY}{TASK}<iframe src="/inner.html"></iframe>')
        after = click(env, seen, "Copy").observation
        [inside] = [element.id for element in seen.elements if element.text == "Inside"]
        *_, field = (element.id for element in after.elements if element.value is not None)
        env.step(Click(field))
        pasted = env.step(Paste()).observation
        assert "a link" in [element.value for element in pasted.elements]
        env.step(Select(inside))
        copied = env.step(Copy())
        assert copied.error is None
        assert texts(click(env, copied.observation, "Show").observation).count("Inside") == 2

    @pytest.mark.parametrize("screen", ["tree", *swept("compact")])
    def test_other_kinds_of_frames_are_read_and_used_too(self, pages, screen):
        pages.write(
            inner_html="""<!DOCTYPE html><div style='height: 100px'></div>
                <button onclick='this.remove()'></button><script>
                document.querySelector("button").textContent = decodeURI(location.search.slice(1));
                </script>""",
            middle_html="""<!DOCTYPE html><iframe style='rotate: 20deg'></iframe><script>
                document.querySelector("iframe").src = `/inner.html${location.search}`;
                </script>""",
        )
        shown = (
            f"<div style='height: 450px'>{frame.replace('.html', f'.html?{name}')}</div>"
            for name, frame in OTHER_FRAMES.items()
        )
        env, seen = pages.show(TASK + "".join(shown), screen=screen)
        for name in OTHER_FRAMES:
            assert name not in texts(click(env, seen, name).observation)
        assert list(env.remarks()) == []

    def test_files_of_other_types_are_read_in_frames(self, pages):
        pages.write(inner_md="In")
        (pages.folder / "inner.xhtml").write_text(
            "<html xmlns='http://www.w3.org/1999/xhtml'><body>In</body></html>"
        )
        env, seen = pages.show(f"{TASK}<iframe src=/inner.md></iframe><iframe src=/inner.xhtml>")
        assert texts(seen).count("In") == 2
        assert list(env.remarks()) == []

    def test_a_frame_that_a_script_adds_is_waited_for(self, pages):
        pages.write(inner_html="<!DOCTYPE html><body><p>Inside</p>")
        env, seen = pages.show("""
            <button onclick="add()">Add</button>
            <script>
              const add = () => {
                const frame = document.createElement("iframe");
                frame.src = "/inner.html";
                document.body.append(frame);
              };
              const task = { goal: "Add.", reward: () => 0 };
            </script>
        """)
        assert "Inside" in texts(click(env, seen, "Add").observation)

    def test_a_frame_that_never_loads_is_not_waited_for(self, pages):
        pages.write(inner_html="<p>Inside</p>", file_pdf="%PDF-1.1")
        buttons = "".join(
            f"""<button id=b{number}>Change {number}</button><script>
              b{number}.onclick = () => {{
                const frame = document.body.appendChild(document.createElement("iframe"));
                {change};
                b{number}.textContent = "Changed";
              }};</script>"""
            for number, change in enumerate(ENDLESS)
        )
        env, seen = pages.show(f'<iframe src="/file.pdf"></iframe>{buttons}{TASK}')
        [unread] = env.remarks()
        assert "<iframe> is not read" in unread
        assert unread.endswith("/file.pdf")
        for number in range(len(ENDLESS)):
            after = click(env, seen, f"Change {number}").observation
            assert texts(after).count("Changed") == number + 1


def test_a_page_finds_no_request_that_would_be_sent_once_it_is_left(pages):
    script = "<script>document.querySelector('p').textContent = typeof fetchLater;</script>"
    assert texts(pages.show(f"<p></p>{script}{TASK}")[1]) == ["undefined"]
