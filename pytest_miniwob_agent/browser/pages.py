"""The task pages over HTTP: a server of one worker, for its browser.

Chromium keeps the compiled scripts of pages that come over HTTP, and never those of files.
"""

from __future__ import annotations

import mimetypes
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pytest_miniwob_agent.core.errors import BrowserError
from pytest_miniwob_agent.loopback import LoopbackServer
from pytest_miniwob_agent.tasks.catalogue import page_path, pages_folder
from pytest_miniwob_agent.tasks.pages import INDEX, TaskPage

HOST = "miniwob.localhost"
"""The name of the server in the browser: pages see the same address whatever its port is."""

ORIGINS = {"http": f"http://{HOST}", "file": "file://"}
"""The schemes of the addresses of the package's pages, with the origin of their storage."""

OWN_HOST = "pages.localhost"
"""The name of the server for pages of one's own: another site, with storage of its own."""

OWN_ORIGIN = f"http://{OWN_HOST}"

SHARED = ("/core/", "/common/")
"""Folders of the package that pages of one's own may load scripts and styles from."""

POLICY = "default-src 'self' data: blob: 'unsafe-inline' 'unsafe-eval'; form-action 'self'"
"""What pages of one's own may load. Nothing else can be reached anyway; with the policy they hear
of each thing that they did not get (page/leaving.js)."""


def page_url(task: str, scheme: str = "http") -> str:
    """The address of a task's page, by a scheme of `ORIGINS`."""
    path = page_path(task)
    if scheme == "file":
        return path.as_uri()
    return f"{ORIGINS[scheme]}/{path.relative_to(pages_folder()).as_posix()}"


def own_page_url(page: TaskPage) -> str:
    """The address of a page of one's own; that of a site ends in `/`."""
    assert page.root is not None
    path = page.file.relative_to(page.root).as_posix()
    return f"{OWN_ORIGIN}/{quote('' if path == INDEX else path)}"


class PageServer:
    """Serves the files of the installed `miniwob` package, and one folder of own pages.

    Args:
        host: the address to listen on.
        port: the port; 0 for one that the system chooses.
        hint: the way out where that is not possible.

    Attributes:
        port: the port that it listens on.
        root: the folder whose files `OWN_HOST` has now; None for none.
        missed: the paths that were asked of `OWN_HOST` in vain; whoever reads them empties it.

    Raises:
        BrowserError: the port can't be opened.
    """

    def __init__(self, host: str = "127.0.0.1", port: int = 0, hint: str = "") -> None:
        folder = pages_folder()
        self._files: dict[str, Path] = {
            f"/{path.relative_to(folder).as_posix()}": path
            for path in folder.rglob("*")
            if path.is_file()
        }
        self.root: Path | None = None
        self.missed: set[str] = set()
        self._types = mimetypes.MimeTypes()  # without the tables of the machine
        try:
            # More threads than the browser has connections, or waitress warns of its queue.
            self._server = LoopbackServer(self._answer, 8, host, port)
        except OSError as error:
            raise BrowserError(
                f"the pages can't be served on {host}{f':{port}' if port else ''}: {error}"
                + (f"; {hint}" if hint else "")
            ) from error
        self.port = self._server.port
        self.close = self._server.close

    def _answer(
        self, environ: Mapping[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        asked = str(environ["PATH_INFO"]).encode("latin-1").decode(errors="replace")
        if str(environ.get("HTTP_HOST")).partition(":")[0] == OWN_HOST:
            return self._answer_own(asked, environ, start_response)
        path = self._files.get(asked)
        if path is None:
            start_response("404 Not Found", [("Content-Length", "0")])
            return []
        body, headers = self._content(path)
        kept = ("Cache-Control", "public, max-age=31536000, immutable")
        start_response("200 OK", [*headers, kept])
        return [body]

    def _content(self, path: Path) -> tuple[bytes, list[tuple[str, str]]]:
        """A file, and the headers that describe it."""
        body = path.read_bytes()
        kind, _ = self._types.guess_type(path.name)
        described = _with_charset(kind or "application/octet-stream")
        return body, [("Content-Type", described), ("Content-Length", str(len(body)))]

    def _answer_own(
        self, asked: str, environ: Mapping[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        """Answer a request of an own page; a form that is sent gets a page as a link does."""
        path = self.own_file(asked)
        if path is None:
            if environ["REQUEST_METHOD"] != "HEAD" and asked != "/favicon.ico":
                self.missed.add(asked)
            start_response("404 Not Found", [("Content-Length", "0"), *_FRESH])
            return []
        if path.name == INDEX and not asked.endswith(("/", f"/{INDEX}")):
            location = quote(f"{asked}/")
            start_response("301 Moved", [("Location", location), ("Content-Length", "0"), *_FRESH])
            return []
        body, headers = self._content(path)
        start_response("200 OK", [*headers, ("Content-Security-Policy", POLICY), *_FRESH])
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]

    def own_file(self, asked: str) -> Path | None:
        """The file of a path, in the folder or among those that the package shares; or None.

        As with usual servers of sites, `/help` is also `help/index.html` or `help.html`.
        """
        if self.root is None or "\0" in asked:
            return None
        root = self.root.resolve()
        path = root / asked.strip("/")
        for each in (path, path / INDEX, path.with_name(f"{path.name}.html")):
            file = each.resolve()
            if file.is_relative_to(root) and file.is_file():
                return file
        return self._files.get(asked) if asked.startswith(SHARED) else None


_FRESH = [("Cache-Control", "no-cache")]
"""Headers of answers that are asked for again each time: own pages may change."""


def _with_charset(kind: str) -> str:
    """Return a content type; texts are UTF-8, which Chromium finds out itself of a file."""
    is_text = kind.startswith("text/") or kind == "application/javascript"
    return f"{kind}; charset=utf-8" if is_text else kind
