"""The fonts of all text: the same on a machine with any fonts or none, and sent with the page."""

import importlib
import os
import shutil
from contextlib import closing

import pytest
from support.own_pages import Pages, click, texts

from pytest_miniwob_agent.browser import local, process
from pytest_miniwob_agent.browser.local import LocalLauncher
from pytest_miniwob_agent.browser.page import page_scripts
from pytest_miniwob_agent.browser.server import BOXES, FAMILIES, FONTS, font_file
from pytest_miniwob_agent.core.errors import BrowserError

TEXT = """
    <p>Ελληνικά, ἀρχή; Кириллица</p> <p>漢字、かな「テスト」 한국어 中文</p>
    <p dir=rtl>مرحبا بالعالم، שלום</p> <p>हिन्दी বাংলা தமிழ் ไทย ລາວ ខ្មែរ မြန်မာ አማርኛ ქართული</p>
    <p>●○■□▲△★☆ ✓✔✗ ☐☑ → ⇒ ↵ ∞ ≤ ∑ ─│┌ █░ ⌘ ⋮ ⚙ ♥♠ ⠿ \U0001d400 \ue03a</p>
    <p>😀 👩‍👩‍👧 🇩🇪 ❤️ ☀ ☀️ 👍🏽 1️⃣</p>
    <p style="width: 120px">Ωmega ἔ مرحبا ● देवनागरी 漢字漢字 and <b>so ἕ अ א</b> <i>on ἕ अ א</i></p>
    <button>حفظ ✓</button> <input value="漢 ● Ω">
"""

OWN_CHOICE = """
    <style>em::before { content: "✓ 漢 serif"; font-family: serif }</style><em></em>
    <canvas width=300 height=40></canvas>
    <img src="data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' width='200' height='30'>
      <text y='20' font-family='Arial'>Arial ● 漢</text></svg>">
    <script>
      const pen = document.querySelector("canvas").getContext("2d");
      pen.font = "bold 20px 'DejaVu Sans', monospace";
      pen.fillText("canvas ● 漢 ✓", 5, 25);
    </script>
"""
"""What chooses another font than all text."""

TASK = "<script>task = { goal: 'Lesen Sie ●.', reward: () => 0 }</script>"

MACHINE = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  {folders}
  <cachedir>{cache}</cachedir>
  <match target="pattern">
    <edit name="family" mode="assign" binding="strong"><string>Noto Sans Thai</string></edit>
    <edit name="weight" mode="assign" binding="strong"><const>bold</const></edit>
  </match>
</fontconfig>
"""


@pytest.fixture
def machine(tmp_path):
    """The environment of a machine that has fonts, and draws everything with another one."""
    packages = dict.fromkeys(font_file(name).parent for name in FONTS if not name.startswith("min"))
    folders = "".join(f"<dir>{path}</dir>" for path in ("/usr/share/fonts", *packages))
    path = tmp_path / "machine.conf"
    path.write_text(MACHINE.format(folders=folders, cache=tmp_path), encoding="utf-8")
    return {"FONTCONFIG_FILE": str(path), "FONTCONFIG_PATH": str(tmp_path), "LANG": "ja_JP.UTF-8"}


def seen(pages):
    env = pages.open("page")
    return env.reset(screen="full"), env.look(whole=True).png, env.fonts()


def elsewhere(pages, see, **options):
    with closing(process.Browser(**options)) as browser:
        return see(Pages(pages.folder, browser)), browser.has_fonts


@pytest.mark.sweep
@pytest.mark.integration
def test_fonts_of_the_machine_make_no_difference(pages, machine, tmp_path):
    pages.make(TEXT + OWN_CHOICE + TASK)
    plain = seen(pages)
    empty = {"FONTCONFIG_FILE": os.devnull, "FONTCONFIG_SYSROOT": str(tmp_path), "FC_LANG": "ar"}
    for env in (machine, empty):
        assert elsewhere(pages, seen, launcher=LocalLauncher(env=env)) == (plain, True)
    assert {"Roboto", "Noto Sans Arabic", "Noto Emoji", "miniwob-agent boxes"} <= set(plain[2])
    assert not [name for name in plain[2] if "of this machine" in name or "DejaVu" in name]


@pytest.mark.integration
def test_what_is_read_of_the_fonts_is_kept_for_the_next_browser_where_it_can_be(tmp_path):
    def start(cache):
        env = {"XDG_CACHE_HOME": str(cache)}
        with closing(process.Browser(launcher=LocalLauncher(env=env))) as browser:
            assert browser.driver
            assert browser.has_fonts
        return {path: path.stat().st_mtime_ns for path in cache.rglob("*.cache-*")}

    kept = start(tmp_path)
    assert kept
    assert start(tmp_path) == kept
    (tmp_path / "file").touch()
    assert start(tmp_path / "file") == {}


@pytest.mark.integration
def test_text_is_the_same_where_the_fonts_are_sent_with_the_page(pages, machine, monkeypatch):
    """As on a Grid and on macOS, whose fonts can't be taken away; also letters that come later."""
    more = f"<button onclick='more.innerHTML = `{TEXT}`'>More</button><div id=more></div>"
    pages.make(TEXT + TASK, later_html=f"<!DOCTYPE html>{more}{TASK}")

    def see(pages):
        env = pages.open("later")
        after = click(env, env.reset(screen="full"), "More")
        picture = env.look(whole=True).png
        return *seen(pages), after, picture

    plain = see(pages)
    monkeypatch.setattr(local, "write_settings", lambda folder: machine["FONTCONFIG_FILE"])
    sent, has_fonts = elsewhere(pages, see)
    assert not has_fonts
    assert not [name for name in sent[2] if "of this machine" in name]
    assert (sent[:2], sent[3:]) == (plain[:2], plain[3:])


BROUGHT = """
    <link rel=stylesheet href=/page.css>
    <style>
      @font-face { font-family: "My Icons"; src: url(/icons.ttf); font-display: optional }
      @font-face { font-family: "Fira Code"; src: url(/icons.ttf) }
      :root { --stack: var(--none, "My Icons"), Arial; --arial: Arial }
      .icon { font: 16px "My Icons", Arial }
      .variable { font-family: var(--stack), serif }
      .machine { font-family: Arial, "My Icons" }
      @media (width > 100px) {
        .list {
          .item { font-family: "My Icons" }
          .nested & { font-family: var(--arial, "My Icons") }
        }
      }
      .important { font-family: "My Icons" !important }
      #important { font-family: Arial }
      @layer base, use;
      @layer use { .layered { font-family: "My Icons" } }
      @layer base { span.layered, :root { font-family: monospace } }
      button { all: unset }
      .before::before { content: "immature"; font-family: "my icons" }
    </style>
    <div id=in-theirs>
      <p><span class=icon>mill</span> <span class=icon><b>will in bold</b></span>
      <p><span class=late>wallow</span> <span class=variable>variable</span> <span>➜ ≤</span>
      <p><span id=important class=important>important</span>
        <span class=list><span class=item>items</span></span>
      <p><span style="font-family: My Icons">inline</span>
        <span style="--stack: 'My Icons'"><span class=variable>inlined</span></span>
      <p><span class=layered>layer</span> <span class=imported>imported</span>
      <p class=icon><button><span>button</span></button> <span id=host></span>
    </div>
    <p><i class=before></i>
    <div id=in-ours class=machine>
      <h2><span>Mammoth</span></h2>
      <p><code>commands</code> <span class="list nested">summary</span></p>
      <p style="font-family: Roboto, 'Noto Sans Thai', serif"><span>swimming 漢 ●</span></p>
    </div>
    <script>
      host.attachShadow({ mode: "open" }).innerHTML = `<span>shadow</span>
        <style>:host { font-family: "My Icons" } i { font-family: Arial }</style> <i>mummy</i>`;
      document.fonts.add(new FontFace("Late", "url(/icons.ttf)"));
      document.fonts.ready.then(() => { document.body.append("ready"); });
    </script>
"""
"""Text in fonts of the page, all of them boxes, and in ours."""

BOX = 7.09375
"""The width of a box in a text of 16 pixels, in pixels."""


@pytest.mark.integration
def test_fonts_that_the_page_brings_are_used(pages, machine, monkeypatch):
    pages.write(
        page_css="@import '/more.css' screen; .late { font-family: Late, 'My Icons' }",
        more_css=".imported { font-family: My Icons }",
    )
    shutil.copy(font_file(BOXES), pages.folder / "icons.ttf")
    pages.make(BROUGHT + TASK)

    def see(pages):
        env = pages.open("page")
        return env.reset(screen="full"), env.look(whole=True).png

    plain = see(pages)
    widths = {
        one.text or "immature": int(dict(one.details)["box"].split(",")[2])
        for one in plain[0].elements
        if one.tag in {"b", "code", "i", "span"}
    }
    in_boxes = {text for text, width in widths.items() if abs(width - BOX * len(text)) < 1}
    in_ours = {"➜ ≤", "mummy", "Mammoth", "commands", "summary", "swimming 漢 ●"}
    assert set(widths) - in_boxes == in_ours
    assert "ready" in [one.text for one in plain[0].elements]

    monkeypatch.setattr(local, "write_settings", lambda folder: machine["FONTCONFIG_FILE"])
    assert elsewhere(pages, see) == (plain, False)


@pytest.mark.integration
def test_a_document_that_gets_other_style_sheets_keeps_its_fonts(pages):
    _, seen = pages.show(f"""{TASK}<p id=said style="font-family: monospace"></p><script>
        const family = () => getComputedStyle(said).fontFamily;
        const [before, sheet] = [family(), new CSSStyleSheet()];
        sheet.replaceSync("p {{ orphans: 7 }}");
        document.adoptedStyleSheets = [sheet];
        said.textContent = `${{before === family()}} ${{getComputedStyle(said).orphans}}`;
        </script>""")
    assert texts(seen) == ["true 7"]


def test_boxes_of_one_width_stand_for_what_no_font_has(pages):
    signs = ["漢", "한", "か", "𓀀", "\ue03a", "\U0001d400", "\U0010fffd", "ᚠ"]
    spans = "".join(f"<span>{sign}</span> " for sign in signs)
    env, _ = pages.show(f"{spans}<span>A</span>{TASK}")
    boxes = {
        one.text: one.details for one in env.reset(screen="full").elements if one.tag == "span"
    }
    widths = [dict(details)["box"].split(",")[2:] for text, details in boxes.items() if text != "A"]
    assert len(widths) == len(signs)
    assert len({tuple(width) for width in widths}) == 1


@pytest.mark.integration
def test_a_remark_says_that_letters_are_boxes_and_what_draws_them(pages, tmp_path, monkeypatch):
    env, _ = pages.show(f"<p>Ω ●</p>{TASK}")
    assert list(env.remarks()) == []
    env, _ = pages.show(f"<p>日本</p>{TASK}")
    [remark] = env.remarks()
    assert "pip install 'pytest-miniwob-agent[fonts]'" in remark
    tmp_path.joinpath("manimgx_fonts_cjk").mkdir()
    tmp_path.joinpath("manimgx_fonts_cjk", "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    page_scripts.cache_clear()

    def remarks(pages):
        env = pages.open("page")
        env.reset()
        return list(env.remarks())

    assert elsewhere(pages, remarks)[0] == []
    page_scripts.cache_clear()


def test_a_font_that_is_not_installed_is_named_with_its_command(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(BrowserError, match="pip install fontpkg-fira-code"):
        font_file("Fira Code")


def test_every_font_is_there_and_the_required_ones_have_less_than_10_megabytes():
    files = [font_file(family) for family in FONTS]
    assert all(path.stat().st_size for path in files)
    assert sum(path.stat().st_size for path in files) < 10_000_000
    assert [family for family in FAMILIES if family not in FONTS] == ["Noto Sans CJK JP"]
