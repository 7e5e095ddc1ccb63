"""Pages whose scripts replace what the language and the browser have."""

import functools

import pytest
from support.own_pages import Pages, click, on_screens, texts
from support.sweeps import swept

from pytest_miniwob_agent.core.actions import Choose, Enter, Wait

pytestmark = pytest.mark.integration

PAGE = """<!DOCTYPE html><html><head><meta charset="utf-8">
    <script>
      const [apply, put, fill] = [Reflect.apply,
        ...["textContent", "innerHTML"].map((name) => Object.getOwnPropertyDescriptor(
          name === "innerHTML" ? Element.prototype : Node.prototype, name).set)];
      const later = setTimeout;
      let chosen = 0;
    </script>
    <script>{script}</script>
    </head><body>
    <p id="shown">Nothing</p>
    <form class="all fields"><label>Name <input type="text" placeholder="name"></label>
      <select><option>one</option><option>two</option></select>
      <textarea>text</textarea><input type="checkbox" checked></form>
    <ul style="height: 30px; overflow: auto"><li>a</li><li>b</li><li>c</li><li>d</li></ul>
    <div><template shadowrootmode="open"><b>In a shadow</b> <slot></slot></template>given</div>
    <iframe src="/inner.html" style="height: 40px"></iframe>
    <svg width="40" height="20"><polygon points="1,1 30,1 15,15" fill="red"></polygon></svg>
    <button onclick="later(function () {{ apply(put, shown, ['Later']) }}, 700)">Go</button>
    <button onclick="chosen = 1">Done</button>
    <script>
      var task = {{ goal: "Click Done.", reward: function () {{ return chosen; }},
        setup: function (seed) {{ later(function () {{ apply(put, shown, ["Begun"]) }}, 300); }} }};
    </script></body></html>"""

BREAK = """
    const broken = function () { throw new Error("broken"); };
    const names = Object.getOwnPropertyNames, define = Object.defineProperty;
    const describe = Object.getOwnPropertyDescriptor, symbols = Object.getOwnPropertySymbols;
    const all = names(window), { window: here } = window;
    const breakAll = (...owners) => {
      const found = owners.flatMap((owner) =>
        [...names(owner), ...(typeof owner === "function" ? [] : symbols(owner))]
          .map((name) => ({ owner, name, ...describe(owner, name) })));
      for (let at = 0; at < found.length; at++) {
        const { owner, name, configurable, get, value } = found[at];
        const works = get || typeof value === "function";
        if (name === "constructor" || !configurable || !works) continue;
        define(owner, name, { __proto__: null, value: broken, writable: true });
      }
    };
    const classes = all.filter((name) => /^[A-Z]/.test(name) && typeof window[name] === "function");
    const language = RegExp("^(Array|Big|Bool|Date|Error|Function|Iter|Map|Num|Obj|Promise|Reg|"
      + "Set|String|Sym|Weak)");
"""
"""Functions that replace all that an object has."""

SABOTAGE = {
    "classes": "for (const name of classes) here[name] = broken;",
    "functions": """for (const name of all) {
        if (/^[a-z]/.test(name) && typeof here[name] === "function") here[name] = broken;
      }""",
    "namespaces": "breakAll(JSON, Math, Reflect, Intl);",
    "no-namespaces": "JSON = Math = Reflect = Intl = Symbol = console = null;",
    "statics": "breakAll(...classes.map((name) => window[name]));",
    "language": """
      const iterators = [[], new Map(), new Set(), ""].map((one) => one[Symbol.iterator]());
      breakAll(...classes.filter((name) => language.test(name))
        .map((name) => window[name].prototype).filter(Boolean),
        ...iterators.map((one) => Object.getPrototypeOf(one)));""",
    "browser": """breakAll(...classes.filter((name) => !language.test(name))
        .map((name) => window[name].prototype).filter(Boolean));""",
    "document": """for (const name in document) {
        try { define(document, name, { get: broken, set: broken }) } catch {}
      }""",
    "replaceable": """for (const name of ["parent", "self", "length", "status", "frames", "event",
          "name", "closed", "opener", "origin", "external", "screen", "innerWidth", "innerHeight",
          "scrollX", "scrollY", "performance", "navigation", "visualViewport", "crypto"]) {
        try { here[name] = "replaced"; } catch {}
      }""",
    "deleted": "for (const name of all) { try { delete here[name]; } catch {} }",
    "frozen": """for (const name of classes) {
        Object.freeze(window[name]);
        if (window[name].prototype) Object.freeze(window[name].prototype);
      }""",
    "additions": """for (const owner of [Object, Array, String, Function, Number]) {
        owner.prototype.added = broken;
        for (const name of ["get", "set", "value", "once", "signal", "detail", "own", "error"]) {
          if (!(name in owner.prototype)) owner.prototype[name] = "added";
        }
      }""",
    "toJSON": """for (const owner of [Object, Array, String, Number]) {
        owner.prototype.toJSON = () => '"converted"';
      }""",
}

FIELDS = [
    "tagName", "localName", "id", "attributes", "children", "childNodes", "parentNode",
    "parentElement", "getAttribute", "setAttribute", "matches", "contains", "closest", "style",
    "value", "elements", "submit", "ownerDocument", "querySelector", "querySelectorAll",
    "getBoundingClientRect", "getClientRects", "checkVisibility", "textContent", "shadowRoot",
    "childElementCount", "assignedSlot", "scrollTop", "scrollHeight", "clientHeight", "isConnected",
    "placeholder", "nodeType", "previousSibling", "scrollIntoView", "type", "checked", "selected",
    "disabled", "addEventListener", "focus", "method", "action", "labels", "label", "alt", "role",
    "title", "list", "ariaHidden", "ariaLabel", "isContentEditable", "getRootNode", "required",
]  # fmt: skip
"""Properties of a form that its fields hide by their names."""

DOCUMENTS = [
    "body", "images", "activeElement", "createElement", "createRange", "createTreeWalker",
    "documentElement", "elementFromPoint", "getElementById", "querySelector", "querySelectorAll",
    "scrollingElement", "styleSheets", "readyState", "baseURI", "execCommand", "fonts",
]  # fmt: skip
"""Properties of a document that elements hide by their names."""

WINDOWS = [
    "document", "performance", "parent", "top", "location", "core", "miniwobAgent", "Promise",
    "getComputedStyle", "jQuery", "WOB_DONE_GLOBAL", "navigation",
]  # fmt: skip
"""Properties of a window that elements have as their ids."""


def named(before=""):
    fields = "".join(f'<input name="{before}{name}" size="1">' for name in FIELDS)
    images = "".join(f'<img name="{before}{name}" src="data:,">' for name in DOCUMENTS)
    links = "".join(f'<a id="{before}{name}">link</a>' for name in WINDOWS)
    return f"<form>In a form {fields}</form>{images}{links}"


@pytest.fixture(scope="module")
def show(browser, tmp_path_factory):
    """Play the page with a script in its head; yields all that is seen."""
    pages = Pages(tmp_path_factory.mktemp("hostile"), browser)
    pages.write(inner_html="<!DOCTYPE html><body><button>Framed</button></body>")

    def play(screen, script="", more=""):
        pages.write(page_html=PAGE.format(script=script).replace("</body>", f"{more}</body>"))
        env = pages.open("page")
        seen = env.reset(screen=screen)
        ids = {element.tag: element.id for element in seen.elements if element.id}
        yield str(seen)
        yield env.html()
        yield str(env.step(Enter("Ann", ids["input_text"])))
        yield str(env.step(Choose(ids["select"], "two")))
        yield str(click(env, seen, "Go"))
        yield str(env.look(marks=list(ids.values())).boxes)
        if screen != "compact":
            yield str(env.step(Wait(0.1)))
        judged = click(env, seen, "Done")
        yield str(judged)
        assert judged.solved
        yield str(env.remarks())

    return play


@pytest.fixture(scope="module")
def expected(show):
    return functools.cache(lambda screen: list(show(screen)))


FEW = ("statics", "browser")
"""Those that are no sweeps."""


@pytest.mark.parametrize(("name", "screen"), on_screens(SABOTAGE, few=FEW))
def test_what_a_page_replaces_changes_nothing_of_what_is_read(show, expected, name, screen):
    script = "(function () {" + BREAK + SABOTAGE[name] + "})();"
    assert list(show(screen, script)) == expected(screen)


@pytest.mark.parametrize("screen", ["tree", *swept("compact", "full")])
def test_names_of_elements_change_nothing_of_what_is_read(show, screen):
    expected = [text.replace("plain-", "") for text in show(screen, more=named("plain-"))]
    assert list(show(screen, more=named())) == expected


def test_names_of_elements_change_nothing_of_what_is_sent(pages):
    pages.write(second_html="<!DOCTYPE html><body><p>Second</p></body>")
    form = named().replace("<form>", '<form action="/sent" method="post" target="_blank">')
    env, seen = pages.show(
        form.replace("</form>", "<input type=submit value=Send></form>")
        + """<button onclick="ask()">Ask</button><p>Nothing</p>
        <script>
          const ask = async () => {
            const said = await (await fetch("/api")).json();
            document.getElementsByTagName("p")[0].textContent = said;
          };
          window.task = { goal: "Send it.", reward: () => 0, api: {
            "GET /api": () => "answered",
            "POST /sent": () => Response.redirect("/second.html", 303),
          } };
        </script>"""
    )
    assert "answered" in texts(click(env, seen, "Ask").observation)
    assert texts(click(env, seen, "Send").observation) == ["Second"]
    assert env.remarks() == []
