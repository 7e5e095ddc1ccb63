"""The page as a tree of roles, names and states, in a real Chromium."""

import itertools
import re

import pytest
from support.own_pages import TASK
from support.sweeps import swept

from pytest_miniwob_agent import Click, Drag, Enter, Scroll, Select, Type, Wait
from pytest_miniwob_agent.screen import render

from .bodies import Bodies

pytestmark = pytest.mark.integration


@pytest.fixture
def open_tree(pages):
    def make(body):
        env, seen = pages.show(TASK + body, screen="tree")
        return env, lines(seen)

    return make


def lines(seen):
    return render(seen.elements).splitlines()


def without_ids(shown):
    return [
        " ".join(word for word in line.split(" ") if not word.startswith("id=")) for line in shown
    ]


STATES = {
    "<h2>Title</h2>": 'heading "Title" level=2',
    "<div role=heading aria-level=4>Sub</div>": 'heading "Sub" level=4',
    "<div role=checkbox aria-checked=mixed tabindex=0>All</div>": 'checkbox "All" checked=mixed',
    "<button aria-expanded=true aria-haspopup=menu>M</button>": 'button "M" expanded haspopup=menu',
    "<button aria-pressed=mixed>P</button>": 'button "P" pressed=mixed',
    "<input aria-label=F required aria-invalid=spelling readonly value='a b'>":
        'textbox "F" value="a b" readonly required invalid=spelling',
    "<input aria-label=Off disabled aria-required=true>":
        'textbox "Off" value="" disabled required',
    "<div role=tab aria-selected=true tabindex=0>T</div>": 'tab "T" selected',
    "<a href=# aria-current=page>Here</a>": 'link "Here" current=page',
    "<div role=slider tabindex=0 aria-label=L aria-valuenow=3 aria-valuemax=9 aria-valuetext=three"
    " style='height:9px'></div>": 'slider "L" value=3 maximum=9 valuetext=three',
    "<progress value=3 max=10 aria-label=P></progress>": 'progressbar "P" value=3 maximum=10',
    "<meter value=.4 aria-label=M></meter>": 'meter "M" value=0.4',
    "<input type=range min=0 max=8 value=2 aria-label=R>":
        'slider "R" value=2 minimum=0 maximum=8',
    "<div contenteditable aria-label=N>Some <b>text</b></div>": 'textbox "N" value="Some text"',
    "<textarea aria-label=T>a\nb</textarea>": 'textbox "T" value="a\\nb"',
    "<details open><summary>S</summary>In</details>":
        'group\n  button "S" expanded\n  text "In"',
    "<details><summary>S</summary>In</details>": 'group\n  button "S" collapsed',
    "<select aria-label=C><option>One<option hidden>No<option selected>Two</select>":
        'combobox "C" value=Two options="One | Two"',
    "<select size=2 aria-label=C><option selected>One<option>Two</select>":
        'listbox "C"\n  option "One" selected\n  option "Two"',
    "<input list=d aria-label=I><datalist id=d><option>Al<option>Be</datalist>":
        'combobox "I" value="" options="Al | Be"',
    "<canvas width=9 height=9>Fallback</canvas>": 'canvas "Fallback"',
    "<table><tr><th aria-sort=ascending>N<tr><td>1</table>":
        'table\n  row\n    columnheader "N" sort=ascending\n  row\n    cell "1"',
    "<table><tr><td><img alt=Yes width=9 height=9></table>":
        'table\n  row\n    cell\n      img "Yes"',
    "<button type=submit value=0>Go</button>": 'button "Go"',
    "<dialog open aria-modal=true>D</dialog>": 'dialog "D" modal',
    "<input type=password value=xy aria-label=P>": 'textbox "P" value="••" type=password',
    "<ul><li>One<li><a href=#>Two</a></ul>":
        'list\n  listitem "One"\n  listitem\n    link "Two"',
    "<nav aria-label=Main><a href=#>A</a></nav>": 'navigation "Main"\n  link "A"',
    "<p>Some <b>bold</b> text</p>": 'text "Some bold text"',
    "<span onclick=1>A</span> <span>B</span>": 'text "A" clickable\ntext "B"',
    "<ul role=presentation><li>One</ul>": 'text "One"',
    "<div class=swatch style='width:9px;height:9px;background:red'></div>": "generic class=swatch",
    "<div style='height:9px;cursor:pointer' class=card><b>A</b><br><button>B</button></div>":
        'generic clickable\n  text "A"\n  button "B"',
    "<button><svg class=bin width=9 height=9><path d=M0,0L9,9 /></svg></button>":
        "button class=bin",
    "<svg width=9 height=9><title>Icon</title><path d=M0,0L9,9 /></svg>": 'img "Icon"',
    "<svg width=30 height=20><text y=15>10%</text><path d=M0,0L9,9 /></svg>": 'text "10%"',
    "<svg class=star width=9 height=9 style='cursor:pointer'></svg>":
        "generic class=star clickable",
    "<img alt='' width=9 height=9>": "",
    "<svg width=30 height=20><g><title>March</title><path d=M0,0L9,9 /></g>"
    "<path d=M0,0L9,9><title>April</title></path></svg>": 'generic "March"\ngeneric "April"',
    "<svg width=9 height=9><a href=#><title>Go</title><path d=M0,0L9,9 /></a></svg>": 'link "Go"',
    "<i title=Edit style='display:inline-block;width:9px;height:9px'></i>": 'generic "Edit"',
    "<div aria-label=Bar><button title=Archive>A</button></div>":
        'generic "Bar"\n  button "A" title=Archive',
    "<p><span title='Ann Lee'>AL</span></p>": 'text "AL" title="Ann Lee"',
    "<div class=sky style='height:9px;background:linear-gradient(red, blue)'></div>":
        "generic class=sky",
    "<select aria-label=G><optgroup label=F><option>Fig<optgroup label=G><option>Fig</select>":
        'combobox "G" value=Fig options="F: Fig | G: Fig"',
    "<input list=e aria-label=J><datalist id=e><option value=CDG label=Paris></datalist>":
        'combobox "J" value="" options="CDG (Paris)"',
    "<div inert><button>Off</button>Text</div>": 'button "Off" inert\ntext "Text" inert',
    "<ul><li draggable=true>One</ul><i style='cursor:grab'>G</i>":
        'list\n  listitem "One" draggable\ntext "G" draggable',
    "<x-switch></x-switch>": 'switch "Dark" checked disabled',
    "<input role=combobox aria-label=C aria-activedescendant=o autofocus>"
    "<div role=listbox><div role=option id=o>O</div></div>":
        'combobox "C" value="" focused\nlistbox\n  option "O" active',
}  # fmt: skip


def together(bodies):
    """Parts of one page, none of which is a list with its neighbours."""
    return "".join(
        f"<{tag}>{body}</{tag}>"
        for body, tag in zip(bodies, itertools.cycle(("div", "section")), strict=False)
    )


SWITCH = """<script>
    customElements.define("x-switch", class extends HTMLElement {
      constructor() {
        super().attachShadow({mode: "open"}).innerHTML = "<b style='background:red'>&nbsp;</b>";
        Object.assign(this.attachInternals(),
          {role: "switch", ariaLabel: "Dark", ariaChecked: "true", ariaDisabled: "true"});
      }
    });
    </script>"""


def test_roles_names_values_and_states_are_shown(open_tree):
    _, [_, *shown] = open_tree(SWITCH + together(STATES))
    expected = "\n".join(filter(None, STATES.values()))
    assert [line.removesuffix(" outside") for line in without_ids(shown)] == expected.split("\n")


NAMES = {
    "<label for=e>E-mail</label><input id=e>": 'textbox "E-mail"',
    "<label>Age <input></label>": 'textbox "Age"',
    "<button aria-label='Close window'>X</button>": 'button "Close window" shows=X',
    "<i id=a hidden>Hid</i><i id=b>den</i><input aria-labelledby='a b'>":
        'textbox "Hid den"',
    "<img alt='A cat' width=9 height=9>": 'img "A cat"',
    "<button title=Tip></button>": 'button "Tip"',
    "<input placeholder=you@x>": 'textbox "you@x"',
    "<label>L<input placeholder=you@x></label>": 'textbox "L" value="" placeholder="you@x"',
    "<fieldset><legend>Size</legend>x</fieldset>": 'group "Size"',
    "<table><caption>Cap</caption><tr><td>1</table>": 'table "Cap"',
    "<figure><figcaption>Fig</figcaption>x</figure>": 'figure "Fig"',
    "<button><img alt=Save width=9 height=9> all</button>": 'button "Save all"',
    "<button>A<span hidden>B</span><i aria-hidden=true>C</i></button>": 'button "A"',
    "<input type=submit>": 'button "Submit"',
    "<button><span style='display:contents'>Buy now</span></button>": 'button "Buy now"',
    "<style>#nine::before{content:attr(class)'%'}</style><button id=nine class=9></button>":
        'button "9%"',
    "<style>#n::before{content:'Normal'}</style><a href=# id=n></a>": 'link "Normal"',
    "<style>#x::before{content:'✕'}</style><button id=x></button>": 'button "✕"',
    "<style>#y::before{content:'✎';display:block}</style><button id=y>Edit</button>":
        'button "✎ Edit"',
    "<style>#i::before{content:'\\f00d'}</style><button id=i class=icon></button>":
        "button class=icon",
    "<style>#t::before{content:'\\f00d' / 'Shut'}</style><button id=t></button>": 'button "Shut"',
    "<style>#h::after{content:'Tip';opacity:0}</style><button id=h>Hint</button>": 'button "Hint"',
    "<style>#r::after{content:' *'}</style><label id=r for=s>Who</label><input id=s>":
        'textbox "Who *"',
    "<style>#d::before{content:'✓ '}</style><p id=d>Done</p>": 'text "✓ Done"',
    '<button>"\n\\</button>': r'button "\" \\"',
}  # fmt: skip


def test_a_thing_has_the_name_that_assistive_technology_says(open_tree):
    _, shown = open_tree(together(NAMES))
    said = without_ids(shown)
    expected = iter(NAMES.values())
    wanted = next(expected)
    for line in said:
        if line.startswith(wanted):
            wanted = next(expected, None)
        if wanted is None:
            return
    raise AssertionError(f"{wanted} is not in its place in {said}")


EDITORS = {
    "<p>One <b>bold</b></p><p>Two</p>": ("One bold\nTwo", r' value="One bold\nTwo"'),
    "<span>import</span> <span>os</span>": ("import os", ' value="import os"'),
    "<p><span>Hello </span><b>you</b></p>": ("Hello you", ' value="Hello you"'),
    "One<br>Two<br>": ("One\nTwo", r' value="One\nTwo"'),
    "<pre>if a:<br>  b<br><br>c</pre>": ("if a:\n  b\n\nc", r' value="if a:\n  b\n\nc"'),
    "<p>a&nbsp; b</p><p>&#xfeff;<br></p><p hidden>c</p><p>d</p>":
        ("a  b\n\nd", r' value="a  b\n\nd"'),
    "<p>Ask <b contenteditable=false><i>@</i><i>Ann</i></b> now</p>":
        ("Ask @Ann now", ' value="Ask @Ann now"'),
    "<style>.hint::before { content: 'Write here' }</style><p class=hint><br></p>":
        ("", ' value="" shows="Write here"'),
    "<i style='pointer-events:none'>Write here</i>": ("", ' value="" shows="Write here"'),
    "<p>Go <a href=#>there</a>, <b>now</b></p><p>End</p>":
        ("Go there, now\nEnd", '\n  text "Go"\n  link "there"\n  text ", now"\n  text "End"'),
    "<p>Say</p><ul><li>One<li>Two</ul>":
        ("Say\nOne\nTwo", '\n  text "Say"\n  list\n    listitem "One"\n    listitem "Two"'),
    "<h2>Head</h2><p>Text</p>": ("Head\nText", '\n  heading "Head" level=2\n  text "Text"'),
    "<p>Up</p><table><tr><td>1</table>":
        ("Up\n1", '\n  text "Up"\n  table\n    row\n      cell "1"'),
    "<p>Ask <b role=button contenteditable=false>@Ann</b> now</p>":
        ("Ask @Ann now", '\n  text "Ask"\n  button "@Ann"\n  text "now"'),
}  # fmt: skip


def test_an_editor_has_its_text_as_value_which_lines_below_it_replace_on_screen(open_tree):
    env, shown = open_tree("".join(f"<div contenteditable>{inner}</div>" for inner in EDITORS))
    expected = "\n".join("textbox" + line for _, line in EDITORS.values()).split("\n")
    assert [line.removesuffix(" outside") for line in without_ids(shown[1:])] == expected
    editors = [one for one in env.reset(screen="tree").elements if one.role == "textbox"]
    assert [one.value for one in editors] == [value for value, _ in EDITORS.values()]


EDITED = "<p>See <a href=#>this</a></p>"
FRAMED = ['iframe "F"', "  textbox", '    text "See"', '    link "this"']

READ = {
    "a frame whose body is edited is an editor": (
        f"<iframe title=F srcdoc='<body contenteditable>{EDITED}</body>'></iframe>", FRAMED
    ),
    "a frame in design mode is an editor": (
        f"""<iframe title=F srcdoc='<body>{EDITED}<script>document.designMode = "on"</script>'>
        </iframe>""",
        FRAMED,
    ),
    "code has a text for each line": (
        "<pre><div><i>import</i><i> os</i></div><div><i>a</i> <i>=</i></div>",
        ['text "import os"', 'text "a ="'],
    ),
    "a cell or a field with a name has the text beside what is in it": (
        """<table><tr><td aria-label=Total>7 <button>More</button></table>
        <h1 contenteditable>Title</h1>""",
        [
            "table", "  row", '    cell "Total"', '      text "7"', '      button "More"',
            'heading "Title" value=Title level=1',
        ],
    ),
    "a label of a field that does not show is a line of its own": (
        "<p>Drop it, or <label>choose <input type=file hidden></label></p>",
        ['text "Drop it, or"', 'text "choose"'],
    ),
    "a box below what its label draws is not covered": (
        """<label style="position: relative">
          <input type=checkbox style="opacity: 0; pointer-events: none">
          <b style="position: absolute; inset: 0; background: red"></b>Wifi</label>""",
        ['checkbox "Wifi"'],
    ),
    "a text ends with its paragraph": (
        "<p>See <a href=#>this</a> first.</p><p>Then <a href=#>that</a>.</p>",
        ['text "See"', 'link "this"', 'text "first."', 'text "Then"', 'link "that"', 'text "."'],
    ),
    "parts of a text that listen for clicks are lines of their own": (
        """<p>Home / <span id=docs>Docs</span> / <b id=page>Page</b> of <i>it</i></p>
        <p>Title <svg id=icon width=9 height=9><rect width=9 height=9 /></svg></p>
        <button>Save <b id=now>now</b></button><i role=tab>File <b id=shut>×</b></i>
        <button><b id=send>Send</b></button><div id=around>All of <b>this</b></div>
        <div contenteditable>Dear <b id=mention>Ann</b></div>
        <script>
          docs.onclick = icon.onpointerdown = () => {};
          for (const one of [page, now, shut, send, around, mention]) {
            one.addEventListener("click", () => {});
          }
        </script>""",
        [
            'text "Home /"', 'text "Docs" clickable', 'text "/"', 'text "Page" clickable',
            'text "of it"', 'text "Title"', "generic class=icon clickable", 'button "Save now"',
            '  text "now" clickable', 'tab "File ×"', '  text "×" clickable', 'button "Send"',
            'text "All of this"', 'textbox value="Dear Ann"',
        ],
    ),
}  # fmt: skip


def test_parts_of_a_page_are_lines(pages, browser):
    bodies = Bodies(pages, browser)
    for name, (body, expected) in READ.items():
        assert without_ids(lines(bodies.show(body))) == expected, name


SHADOW = """
    <x-field aria-label="Of the host"></x-field>
    <x-button><b slot=name>Slotted</b> default</x-button>
    <x-labelled></x-labelled><p id=outer>Outer</p>
    <iframe title=Frame srcdoc="<button>Inside</button>"></iframe>
    <script>
      const define = (name, html) => customElements.define(name, class extends HTMLElement {
        constructor() { super(); this.attachShadow({mode: "open"}).innerHTML = html; }
      });
      define("x-field", "<input>");
      define("x-button", "<button><slot name=name></slot></button><i><slot></slot></i>");
      define("x-labelled", "<span id=inner>Inner</span><input aria-labelledby='inner outer'>");
    </script>"""


@pytest.mark.parametrize("mode", ["open", "closed"])
def test_shadow_trees_slots_and_frames_are_nested_in_place(open_tree, mode):
    _, shown = open_tree(SHADOW.replace('"open"', f'"{mode}"'))
    assert without_ids(shown) == [
        'textbox "Of the host" value=""', 'button "Slotted"', 'text "default"', 'text "Inner"',
        'textbox "Inner Outer" value=""', 'text "Outer"', 'iframe "Frame"', '  button "Inside"',
    ]  # fmt: skip


CLOSED = """
    <x-own><i>Slotted</i></x-own>
    <p><template shadowrootmode="closed"><button>Declared</button></template></p>
    <script>
      customElements.define("x-own", class extends HTMLElement {
        constructor() {
          super();
          const root = this.attachShadow({ mode: "closed" });
          root.innerHTML = "<button>Go</button><slot></slot>";
          root.addEventListener("click", (event) => { this.inner = event.composedPath().length; });
          this.mode = root.mode;
        }
      });
      onclick = (event) => {
        const own = document.querySelector("x-own"), { assignedSlot } = own.firstElementChild;
        const found = [own.shadowRoot, own.mode, assignedSlot, event.target.localName];
        document.querySelector("i").textContent =
          `${found} ${own.inner - event.composedPath().length}`;
      };
    </script>"""


def test_a_closed_shadow_tree_is_read_and_used_and_closed_to_the_page(open_tree):
    env, shown = open_tree(CLOSED)
    assert without_ids(shown) == ['button "Go"', 'text "Slotted"', 'button "Declared"']
    after = without_ids(lines(env.step(Click(1)).observation))
    assert after[1] == 'text ",closed,,x-own 2"'


def test_a_box_that_a_label_draws_has_its_state_and_can_be_ticked(open_tree):
    env, shown = open_tree("""
        <label><input type=checkbox style="opacity:0;position:absolute">One</label>
        <label><input type=radio style="position:absolute;width:1px;height:1px;
          clip-path:inset(50%)"><b style="background:red">.</b>Two</label>
        <input type=checkbox id=three hidden><label for=three>Three</label>""")
    assert without_ids(shown) == ['checkbox "One"', 'radio ".Two"', 'checkbox "Three"']
    for line in shown:
        after = env.step(Click(int(line.split("id=")[1])))
        assert after.error is None
    assert [line.split()[-1] for line in lines(after.observation)] == ["checked"] * 3


def test_areas_of_a_picture_are_where_they_are_clicked(open_tree):
    env, shown = open_tree("""
        <img usemap=#m width=100 height=50 alt=Plan style="border:9px solid"><p id=said>-</p>
        <map name=m onclick="said.textContent = event.target.alt; event.preventDefault()">
          <area coords=0,0,40,40 href=# alt=Left>
          <area shape=circle coords=70,25,20 href=# alt=Right>
          <area shape=poly coords=40,0,60,0,50,10 alt=Top></map>""")
    assert without_ids(shown) == [
        'img "Plan"', 'text "-"', 'link "Left"', 'link "Right"', 'generic "Top"'
    ]  # fmt: skip
    for line, name in zip(shown[2:], ["Left", "Right", "Top"], strict=True):
        after = env.step(Click(int(line.split("id=")[1])))
        assert f'text "{name}"' in lines(after.observation)[1]


def test_a_sealed_frame_without_scripts_is_read_and_used(open_tree, pages):
    pages.write(mail_html="<script>document.body.append('ran')</script><p>Three</p>")
    env, shown = open_tree("""
        <iframe sandbox srcdoc="<script>document.body.append('ran')</script>
          <details><summary>More</summary>Mail</details>"></iframe>
        <iframe sandbox=allow-same-origin srcdoc="<p>Two</p>"></iframe>
        <iframe sandbox=allow-popups src=/mail.html></iframe>""")
    assert without_ids(shown) == [
        "iframe", "  group", '    button "More" collapsed', "iframe", '  text "Two"',
        "iframe", '  text "Three"',
    ]  # fmt: skip
    assert '    text "Mail"' in without_ids(lines(env.step(Click(3)).observation))


@pytest.mark.parametrize("screen", ["tree", *swept("full", "compact")])
def test_a_password_is_dots_unless_it_was_typed(open_tree, screen):
    env, _ = open_tree("<input type=password value=secret><input type=password>")
    first, second = env.reset(screen=screen).elements
    assert (first.value, second.value) == ("••••••", "")
    assert "secret" not in env.html()
    first, second = env.step(Enter("new", second.id)).observation.elements
    assert (first.value, second.value) == ("••••••", "new")
    first, _ = env.step(Enter("x", first.id)).observation.elements
    assert first.value == "•••••••"
    env.step(Select(first.id))
    first, _ = env.step(Type("mine")).observation.elements
    assert first.value == "mine"


def test_of_class_names_there_are_those_that_tell_lines_apart(open_tree):
    button = (
        "<button class='a-button a-round m_8d3afb97'><svg class='icon {}' width=9 height=9></svg>"
    )
    icons = ["icon-edit", "icon-bin", "icon-edit", "icon-bin"]
    _, shown = open_tree(
        "".join(map(button.format, icons)) + "<button class='x z css-1q2w3e last'></button>"
    )
    assert [line.split(" ", 2)[2] for line in shown] == [
        *(f"class={icon}" for icon in icons), 'class="z last"',
    ]  # fmt: skip


DIAGRAM = """
    <svg width=400 height=200 class=editor><g class=grid></g>
      <g class=node><rect width=100 height=60 fill=#ddf /><text x=10 y=20>Source</text>
        <text x=10 y=40>Text</text><circle class=out cx=100 cy=30 r=6 /></g>
      <g class=node transform="translate(200,60)"><rect width=100 height=60 fill=#fdd /><g>
        <text x=10 y=20>Target</text></g><circle class=in cy=30 r=6 style=cursor:crosshair /></g>
      <g class=axis><line y2=9 stroke=red /><text y=150>10</text></g>
      <g class=key><rect y=170 width=9 height=9 /><text x=15 y=180>Red</text></g></svg>
    <p id=said>-</p><script>
    const grid = document.querySelector(".grid");
    for (let at = 0; at < 100; at++) {
      grid.innerHTML += `<line x1=${at * 20} x2=${at * 20} y2=2000 stroke=#eee />`;
    }
    const svg = document.querySelector("svg");
    const name = ({ target }) => target.getAttribute("class");
    svg.onmousedown = (down) => { svg.onmouseup = (up) => {
      said.textContent = `${name(down)} to ${name(up)}`;
    }; };
    </script>"""


def test_nodes_of_a_diagram_have_their_ports_and_lines_of_a_grid_do_not_count(open_tree):
    env, shown = open_tree(DIAGRAM)
    assert without_ids(shown) == [
        "img",
        "  generic", '    text "Source"', '    text "Text"', "    generic class=out",
        "  generic", '    text "Target"', "    generic class=in",
        '  text "10"', '  text "Red"', 'text "-"',
    ]  # fmt: skip
    out, into = (int(line.split()[1][3:]) for line in shown if "class=" in line)
    assert 'text "out to in"' in without_ids(lines(env.step(Drag(out, into)).observation))


def test_a_line_in_a_diagram_can_be_used_though_its_box_has_no_width(open_tree):
    env, shown = open_tree("""
        <svg width=300 height=200>
          <g role=group aria-label="A to B" tabindex=0 onclick="said.textContent = 'chosen'">
            <path d="M50.5 10V150" stroke=red stroke-width=2 /></g>
          <line x1=9 x2=9 y2=100 stroke=#eee /></svg><p id=said>-</p>""")
    assert shown == ["img id=1", '  group "A to B" id=2', 'text "-" id=3']
    assert 'text "chosen" id=3' in lines(env.step(Click(2)).observation)


# As grids draw them: rows that are reused in any order, names and boxes around controls to click.
ROW = """
    <div role=row style="top:{}px"><div role=gridcell>{}</div><div role=gridcell>
      <span class=css-1x2y3z><input type=checkbox aria-label=Pick></span></div></div>"""
GRID = """
    <style>[role=grid] {{ height: 100px; width: 300px; overflow: auto; position: relative }}
      [role=row] {{ position: absolute; height: 40px; left: 0 }}
      [role=row] > * {{ float: left; width: 90px }} input {{ width: 80px; height: 20px }}
      .css-1x2y3z {{ cursor: pointer; display: block }}
      .handle {{ float: right; padding: 5px; cursor: ew-resize }}</style>
    <div role=grid><div role=rowgroup>{}<div role=row style="top:0"><div role=columnheader>
      <i class="css-1x2y3z handle"></i><span onclick="said.textContent = 'sorted'">Age</span>
      </div></div></div></div><p id=said>-</p>"""


def test_a_grid_has_its_rows_in_order_and_says_each_thing_once(open_tree):
    places = {"Dan": 160, "Ann": 40, "Cid": 120, "Bob": 80}
    rows = (ROW.format(top, name) for name, top in places.items())
    env, shown = open_tree(GRID.format("".join(rows)))
    cells = ('    gridcell "{}"', '    checkbox "Pick"')
    seen = [
        line.format(name)
        for name in ("Ann", "Bob", "Cid", "Dan")
        for line in ("  row" if name in ("Ann", "Bob") else "  row outside", *cells)
    ]
    assert without_ids(shown) == [
        'grid scroll="0 of 100"', "  row", '    columnheader "Age"', "      generic class=handle",
        *seen, 'text "-"',
    ]  # fmt: skip
    [header] = [int(line.split("id=")[1]) for line in shown if "columnheader" in line]
    assert 'text "sorted"' in without_ids(lines(env.step(Click(header)).observation))


def test_an_editor_that_draws_its_text_itself_is_a_field(open_tree):
    env, shown = open_tree("""
        <style>.box > * { position: absolute; inset: 0; background: white }
          .box #field { width: 0; height: 0 } textarea { z-index: -1 }</style>
        <div class=box style="width:200px;height:50px;position:relative">
          <div id=field role=textbox aria-label=Code tabindex=0></div>
          <textarea readonly aria-hidden=true></textarea><div id=said>let</div></div>
        <script>
        const context = field.editContext = new EditContext();
        context.ontextupdate = ({ text }) => { said.textContent += text; };
        said.onmousedown = (event) => { event.preventDefault(); field.focus(); };
        </script>""")
    assert shown == ['textbox "Code" id=1', 'text "let" id=3']
    env.step(Click(1))
    after = lines(env.step(Type("ter")).observation)
    assert after == ['textbox "Code" id=1 focused', 'text "letter" id=3']


ROWS = "".join(f"<tr><td>Row {number}<td><button>Del</button>" for number in range(1000))


def test_of_a_long_list_there_is_what_is_in_sight_and_how_much_more(open_tree):
    env, shown = open_tree(
        f"<div style='height:100px;overflow:auto'><table>{ROWS}</table></div><button>After</button>"
    )
    assert shown[0].startswith('generic id=1 scroll="0 of ')
    assert "Row 0" in shown[3]
    assert shown[-1].startswith('button "After"')
    rows = sum(line.strip().startswith("row") for line in shown)
    assert shown[-2].strip() == f"and {1000 - rows} more rows, scroll"
    below = lines(env.step(Scroll(1, 5000)).observation)
    more = [int(line.split()[1]) for line in below if " more rows, scroll" in line]
    assert len(more) == 2
    assert 990 < sum(more) < 1000
    assert 'cell "Row 0"' not in "\n".join(below)


@pytest.mark.parametrize(
    "body",
    [
        "<div style='height:100px;overflow:auto'>{}</div>",
        """<iframe srcdoc='<div style="height:100px;overflow:auto">{}</div>'></iframe>""",
        "<button>Here</button>{}",
    ],
    ids=["box", "frame", "page"],
)
def test_a_page_is_read_once_the_wheel_has_scrolled_it(open_tree, browser, body):
    """Also where the browser, which scrolls in another process, is slower than three frames."""
    env, _ = open_tree(body.format("<p style=height:3000px>Long</p>"))
    browser.call("(() => { window.requestAnimationFrame = (run) => setTimeout(run); })")
    after = lines(env.step(Scroll(1, 50)).observation)
    assert [line for line in after if 'scroll="50 of ' in line]


def test_ids_stay_and_what_is_out_of_sight_or_covered_says_so(open_tree):
    env, shown = open_tree("""
        <button onclick="late.hidden = false">Show</button><p id=late hidden>Late</p>
        <div style="position:relative;width:60px"><button>Under</button>
          <div style="position:absolute;inset:0;background:red" class=over></div></div>
        <p style="margin-top:900px">Low</p>""")
    assert shown[0].startswith('page scroll="0 of ')
    assert shown[1:] == [
        'button "Show" id=1', 'button "Under" id=2 covered', "generic id=3 class=over",
        'text "Low" id=4 outside',
    ]  # fmt: skip
    after = lines(env.step(Click(1)).observation)
    assert after[1:] == [
        'button "Show" id=1 focused', 'text "Late" id=5', *shown[2:]
    ]  # fmt: skip
    assert lines(env.reset(screen="tree")) == shown


def test_what_changes_while_an_agent_waits_is_a_line(open_tree):
    env, _ = open_tree("""
        <p id=said>Not yet</p><script>
        let count = 0;
        setInterval(() => { said.textContent = `At ${++count}`; }, 500);
        </script>""")
    screen, *changes = lines(env.step(Wait(1)).observation)
    assert re.fullmatch(r'text "At \d" id=1', screen)
    assert [re.sub(r"[\d.]+", "N", line) for line in changes] == [
        'change at="N s" of="id=N" text="At N"', 'change at="N s" of="id=N" text="At N"'
    ]  # fmt: skip


def test_the_next_page_of_a_trial_is_a_tree_too(open_tree, pages):
    pages.write(next_html=f"<body>{TASK}<h1>There</h1></body>")
    env, shown = open_tree("<a href=next.html>On</a>")
    assert shown == ['link "On" id=1']
    assert lines(env.step(Click(1)).observation) == ['heading "There" id=2 level=1']
