"""The task pages over HTTP, one server per worker for its browser, and the fonts of all text.

Fonts are files of Python packages, the same on every machine, and none of its own. Roboto comes
first. What it lacks is drawn with the next font of `FONTS` that has it, and what they all lack as a
box. A browser finds them by settings of fontconfig; one that does not use those, as on
macOS, gets them from the page.
"""

from __future__ import annotations

import base64
import importlib.util
import mimetypes
import struct
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote
from xml.sax.saxutils import escape

from pytest_miniwob_agent.connections import LoopbackServer
from pytest_miniwob_agent.core.errors import BrowserError
from pytest_miniwob_agent.tasks.catalogue import page_path, pages_folder

FAMILY = "miniwob-agent"
"""The family of the first font."""

BOXES = "miniwob-agent boxes"
"""The family of the last one, which has a box for every character (docs/shapes_and_boxes.py)."""

NOTO = ("Noto Sans", *(f"Noto Sans {script}" for script in (
    "Arabic", "Armenian", "Bengali", "Devanagari", "Ethiopic", "Georgian", "Gujarati", "Gurmukhi",
    "Hebrew", "Kannada", "Khmer", "Lao", "Malayalam", "Myanmar", "Oriya", "Sinhala", "Tamil",
    "Telugu", "Thai", "Symbols",
)))  # fmt: skip

FONTS = {
    FAMILY: ("font_roboto", "files/Roboto-Regular.ttf"),
    "miniwob-agent shapes": (__package__, "shapes.ttf"),
    **{name: ("manimgx_fonts", f"{name.replace(' ', '')}[wght].ttf") for name in NOTO},
    "Fira Code": ("fontpkg_fira_code", "files/FiraCode[wght].ttf"),
    "Noto Emoji": ("manimgx_fonts", "NotoEmoji[wght].ttf"),
    BOXES: (__package__, "boxes.ttf"),
}
"""The package and the file of each font, by its family, in the order in which they are tried."""

CJK = ("Noto Sans CJK JP", "manimgx_fonts_cjk")
"""The family and the package of Chinese, Japanese and Korean, of the extra `fonts`. It is too large
to be sent to a browser, or to be required."""

FAMILIES = (*list(FONTS)[:-1], CJK[0], BOXES)
"""The families of all text, in their order."""


def own_name(family: str) -> str:
    """The name of a family in pages, which a page's own font of that family does not have."""
    return family if family.startswith(FAMILY) else f"{FAMILY} {family}"


SERVED = "/.miniwob-agent/fonts/"
"""Where the server of pages has the fonts, by their families."""

HAS_FONTS = f"""(() => {{
  const pen = document.createElement("canvas").getContext("2d");
  const width = (families) => {{
    pen.font = `100px ${{families}}`;
    return pen.measureText("miniwob").width;
  }};
  return width("'{FAMILY}', '{BOXES}'") !== width("'{BOXES}'");
}})"""
"""A function that returns True in a browser that finds the fonts by itself."""

GREY_LETTERS = """
    <edit name="antialias" mode="assign"><bool>true</bool></edit>
    <edit name="autohint" mode="assign"><bool>false</bool></edit>
    <edit name="hinting" mode="assign"><bool>false</bool></edit>
    <edit name="hintstyle" mode="assign"><const>hintnone</const></edit>
    <edit name="rgba" mode="assign"><const>none</const></edit>
  """

SETTINGS = f"""<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  {{folders}}
  <cachedir prefix="xdg">pytest-miniwob-agent/fonts</cachedir>
  <cachedir>{{cache}}</cachedir>
  {{names}}
  <match target="pattern">
    <edit name="family" mode="append_last" binding="strong">{{families}}</edit>
    <edit name="weight" mode="assign"><const>regular</const></edit>
    <edit name="slant" mode="assign"><const>roman</const></edit>{GREY_LETTERS}</match>
  <match target="font">{GREY_LETTERS}</match>
</fontconfig>
"""
"""Settings of fontconfig without those of the machine: of what a page asks for, whatever is not
there is the first font that has the character, in its one weight. What fontconfig has read of the
fonts is kept for the next browser, as that takes a quarter of a browser's start; if the user's
folder for such files can't be written, it ends with this one."""

NAMED = """
  <match target="pattern">
    <test name="family"><string>{}</string></test>
    <edit name="family" mode="assign" binding="strong"><string>{}</string></edit>
  </match>"""

MACHINES = ("FONTCONFIG_", "FC_", "FREETYPE_")
"""How variables begin that would change what fontconfig finds and how its fonts are drawn."""


def font_file(family: str) -> Path:
    """The file of a font.

    Raises:
        BrowserError: its package is not installed.
    """
    package, name = FONTS[family]
    folder = package_folder(package)
    if folder is None:
        distribution = package.replace("_", "-")
        raise BrowserError(
            f"the {distribution} package is not installed: pip install {distribution}"
        )
    return folder / name


def package_folder(package: str) -> Path | None:
    """The folder of a package, or None if it is not installed."""
    spec = importlib.util.find_spec(package)
    return Path(spec.origin).parent if spec and spec.origin else None


def write_settings(folder: Path) -> Path:
    """Write a file for `FONTCONFIG_FILE` into a folder that it may use, and return its path.

    It draws letters in grey and without hinting anywhere. Text of the page keeps to its own
    outlines anyway (page/style.js), but text in drawings follows fontconfig
    (https://fontconfig.pages.freedesktop.org/fontconfig/fontconfig-user.html), and a headless shell
    has settings of its own.

    Raises:
        BrowserError: as for `font_file`.
    """
    folders = dict.fromkeys(font_file(family).parent for family in FONTS)
    if cjk := package_folder(CJK[1]):
        folders[cjk] = None
    found = ("Roboto", *FAMILIES[1:])
    own = map(own_name, FAMILIES)
    text = SETTINGS.format(
        folders="".join(f"<dir>{escape(str(one))}</dir>" for one in folders),
        names="".join(map(NAMED.format, own, found)),
        families="".join(f"<string>{one}</string>" for one in found),
        cache=escape(str(folder / "fonts")),
    )
    path = folder / "fonts.conf"
    path.write_text(text, encoding="utf-8")
    return path


def sent_font(family: str) -> tuple[str, str]:
    """The source of a font that comes with the page, as CSS, and the characters it is asked for."""
    if family not in (FAMILY, BOXES):
        return f"url({SERVED}{quote(family)})", ranges(family)
    return base64.b64encode(font_file(family).read_bytes()).decode(), "U+0-10FFFF"


def served_font(path: str) -> Path | None:
    """The file of a font that a page asks for, by the path of its address."""
    family = path.removeprefix(SERVED)
    return font_file(family) if family != path and family in FONTS else None


@cache
def ranges(family: str) -> str:
    """The characters of a font, as CSS writes them (`unicode-range`), from its table `cmap`
    (https://learn.microsoft.com/typography/opentype/spec/cmap).
    """
    font = font_file(family).read_bytes()
    (cmap,) = struct.unpack_from(">I", font, font.index(b"cmap") + 8)
    (last,) = struct.unpack_from(">I", font, cmap + 8 * font[cmap + 3])  # the widest of its parts
    part = font[cmap + last :]
    kind, size, groups = struct.unpack_from(">H4xH4xI", part)
    if kind == 4:
        ends, starts = (struct.unpack_from(f">{size // 2}H", part, at) for at in (14, 16 + size))
    else:
        starts, ends, _ = zip(*struct.iter_unpack(">III", part[16 : 16 + 12 * groups]), strict=True)
    pairs = zip(starts, ends, strict=True)
    return ",".join(f"U+{start:X}-{end:X}" for start, end in pairs)


HOST = "miniwob.localhost"
"""The name of the server in the browser: pages see the same address whatever its port is."""

ORIGIN = f"http://{HOST}"


def page_url(task: str) -> str:
    """The address of a task's page."""
    return f"{ORIGIN}/{page_path(task).relative_to(pages_folder()).as_posix()}"


class Serving(NamedTuple):
    """The address and port to listen on (0 for any), and the browser's name for the address.

    `hint` says how to choose another address or port.
    """

    listen: str = "127.0.0.1"
    port: int = 0
    name: str = "127.0.0.1"
    hint: str = ""


class PageServer:
    """Serves the files of the installed `miniwob` package.

    Attributes:
        address: its host and port, as the browser names them.

    Raises:
        BrowserError: the port can't be opened.
    """

    def __init__(self, serving: Serving) -> None:
        try:
            # More threads than the browser has connections, or waitress warns of its queue.
            server = LoopbackServer(self._serve, 8, serving.listen, serving.port)
        except OSError as error:
            raise BrowserError(
                f"the pages can't be served on {serving.listen}:{serving.port}: {error}"
                + (serving.hint and f"; {serving.hint}")
            ) from error
        self.address = f"{serving.name}:{server.port}"
        self.close = server.close

    def _serve(
        self, environ: Mapping[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        asked = str(environ["PATH_INFO"]).encode("latin-1").decode(errors="replace")
        font = served_font(asked)
        path = font or file_in(pages_folder(), asked)
        status, body = "200 OK", b""
        headers = {}
        if environ.get("HTTP_SERVICE_WORKER") == "script":  # it would outlast the page
            status = "403 Forbidden"
        elif path is None and asked == "/favicon.ico":
            status = "204 No Content"  # only some browsers ask, and show an error otherwise
        elif path is None:
            status = "404 Not Found"
        else:
            body = path.read_bytes()
            headers["Content-Type"] = media_type(path)
            headers["Cache-Control"] = "public, max-age=31536000, immutable"
            if font:
                headers["Access-Control-Allow-Origin"] = "*"  # a sandboxed frame has no origin
        start_response(status, [*headers.items(), ("Content-Length", str(len(body)))])
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]


MORE_TYPES = {
    ".jsonld": "application/ld+json",
    ".md": "text/markdown",
    ".webp": "image/webp",
    ".woff": "font/woff",
    ".woff2": "font/woff2",
    ".xhtml": "application/xhtml+xml",
}
"""Media types that Python's own table lacks, in some versions of it."""


@cache
def _types() -> mimetypes.MimeTypes:
    types = mimetypes.MimeTypes()  # without the tables of the machine
    for end, kind in MORE_TYPES.items():
        types.add_type(kind, end)
    return types


def media_type(path: Path) -> str:
    """The media type of a file, by its name, with the character set if it is text."""
    kind = _types().guess_type(path.name)[0] or "application/octet-stream"
    is_text = kind.startswith("text/") or kind == "application/javascript"
    return f"{kind}; charset=utf-8" if is_text else kind


def file_in(folder: Path, path: str) -> Path | None:
    """The file of a path in a folder; None if there is none, or if it is elsewhere."""
    root = folder.resolve()
    with suppress(OSError):  # no file has a name that is so long
        file = (root / path.replace("\0", "").lstrip("/")).resolve()
        if file.is_relative_to(root) and file.is_file():
            return file
    return None
