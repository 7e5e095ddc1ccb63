"""The folder of a frozen page: its files, and a HAR file with what only scripts ask for."""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from pytest_miniwob_agent.browser.frozen.har import ELSEWHERE, Exchange, har_text, target_of
from pytest_miniwob_agent.browser.pages import OWN_ORIGIN
from pytest_miniwob_agent.core.files import write_atomically
from pytest_miniwob_agent.tasks.catalogue import DATA
from pytest_miniwob_agent.tasks.pages import INDEX

TASK = "task.js"
"""The script of the task, which a person writes; all pages load it."""

_TEXT = ("html", "css", "javascript", "json", "xml", "svg", "text/plain")

_FIRST = re.compile(r"<head\b[^>]*>|<html\b[^>]*>|<!doctype[^>]*>", re.IGNORECASE)

_GUARDS = re.compile(
    r"""\sintegrity\s*=\s*("[^"]*"|'[^']*')"""  # of files that are rewritten
    r"""|<meta\b[^>]*http-equiv\s*=\s*["']?(content-security-policy|refresh)\b[^>]*>""",
    re.IGNORECASE,
)


class Frozen(NamedTuple):
    """What was written: the numbers of files and of recorded answers."""

    files: int
    answers: int


def write_site(folder: Path, page: str, exchanges: Sequence[Exchange]) -> Frozen:
    """Write the folder of a page, and return what it has.

    Files are what pages load by themselves. The answers to scripts, and all that has no path of its
    own, are in `index.har`. Addresses of recorded servers in texts become those of the folder.

    Raises:
        OSError: a file can't be written.
    """
    origins = sorted({"://".join(urlsplit(one.url)[:2]) for one in exchanges}, key=len)[::-1]
    files: dict[str, bytes] = {}
    answers: list[Exchange] = []
    for one in exchanges:
        changed = one._replace(body=_localized(one, page, origins))
        name = _file_name(target_of(one.url, page), one)
        taken = name and any(_clash(name, other) for other in files)
        if name and not taken and files.setdefault(name, changed.body) == changed.body:
            continue
        answers.append(changed)
    start = _file_name(target_of(page, page), Exchange("GET", page, "", 200, "text/html", "", b""))
    if INDEX not in files:
        files[INDEX] = _with_task(f'<script>location.replace("/{start}");</script>\n').encode()
    for name, body in files.items():
        write_atomically(folder / name, body)
    if not (folder / TASK).exists():
        text = (DATA / "frozen-task.js").read_text("utf-8")
        write_atomically(folder / TASK, text.replace("{page}", page))
    if answers:
        write_atomically(folder / "index.har", har_text(page, answers))
    return Frozen(len(files), len(answers))


def _file_name(target: str, one: Exchange) -> str:
    """Return the file of a response below the folder; empty if it is for the HAR file."""
    path, _, query = target.partition("?")
    html = "html" in one.type
    suffix = PurePosixPath(path).suffix
    static = html or ("json" not in one.type and mimetypes.guess_type(path)[0] is not None)
    if (one.method, one.status) != ("GET", 200) or not static or (html and query):
        return ""
    name = unquote(path).strip("/")
    if path.endswith("/"):
        name = f"{name}/{INDEX}".lstrip("/")
    elif html and suffix not in (".html", ".htm", ".xhtml"):
        name += ".html"
    parts = name.split("/")
    unsafe = {"", ".", ".."} & set(parts) or any(len(part) > 200 for part in parts) or "\\" in name
    return "" if unsafe or name in (TASK, "index.har") else name


def _clash(name: str, other: str) -> bool:
    """True if one would have to be a folder and a file."""
    return name.startswith(f"{other}/") or other.startswith(f"{name}/")


def _localized(one: Exchange, page: str, origins: Sequence[str]) -> bytes:
    """Return the body of a response with the addresses that it has in the folder."""
    if not any(kind in one.type for kind in _TEXT):
        return one.body
    text = one.body.decode(errors="surrogateescape")
    for origin in origins:
        host = origin.partition("://")[2]
        own = "" if origin == "://".join(urlsplit(page)[:2]) else f"{ELSEWHERE}{host}"
        here = f"{OWN_ORIGIN}{own}"
        end = r"(?![\w.:-])"  # of the host
        for colon, slash in ((":", "/"), (":", r"\/"), ("%3A", "%2F")):
            there = here.replace(":", colon).replace("/", slash).replace("\\", r"\\")
            pattern = re.escape(f"{colon}{slash}{slash}{host}") + end
            text = re.sub(f"https?{pattern}", there, text)
        shown = here.partition(":")[2]
        text = re.sub(f"""(?<=["'(=])//{re.escape(host)}{end}""", shown, text)
    if "html" in one.type:
        text = _with_task(_GUARDS.sub("", text))
    return text.encode(errors="surrogateescape")


def _with_task(html: str) -> str:
    """Return a page that loads the task before all other scripts."""
    found = max(_FIRST.finditer(html[:5000]), key=lambda match: match.end(), default=None)
    at = found.end() if found else 0
    return f'{html[:at]}<script src="/{TASK}"></script>{html[at:]}'
