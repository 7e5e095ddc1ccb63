"""The task pages over HTTP: one server per worker, for its browser."""

from __future__ import annotations

import base64
import json
import mimetypes
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, quote

from pytest_miniwob_agent.browser.fonts import served_font
from pytest_miniwob_agent.core.errors import BrowserError
from pytest_miniwob_agent.loopback import LoopbackServer
from pytest_miniwob_agent.tasks.catalogue import INDEX, TaskPage, page_path, pages_folder

HOST = "miniwob.localhost"
"""The name of the server in the browser: pages see the same address whatever its port is."""

ORIGIN = f"http://{HOST}"

OWN_HOST = "pages.localhost"
"""The name of the server for your own pages: another site, with storage of its own."""

OWN_ORIGIN = f"http://{OWN_HOST}"

SHARED = ("/core/", "/common/")
"""Folders of the package that your own pages may load scripts and styles from."""

POLICY = "default-src 'self' data: blob: 'unsafe-inline' 'unsafe-eval'; form-action 'self'"
"""What your own pages may load. Nothing else can be reached anyway; with the policy they hear of
what they did not get (page/leaving.js)."""

ECHO = "/.miniwob-agent/echo"
"""The path at which the server sends back what it gets (page/requests.js)."""

ANSWERED = "x-miniwob-answer"
"""The header with which a request has its answer with it, which the server sends back."""

WRITING = ("POST", "PUT", "PATCH", "DELETE")
"""The methods that a file does not answer where a script asks."""

UNANSWERED = "nothing answers"
"""Begins the remark on a request of a script that got no answer (also page/leaving.js)."""


def page_url(task: str) -> str:
    """The address of a task's page."""
    return f"{ORIGIN}/{page_path(task).relative_to(pages_folder()).as_posix()}"


def own_page_url(page: TaskPage) -> str:
    """The address of a page of your own; that of a site ends in `/`."""
    assert page.root is not None
    path = page.file.relative_to(page.root).as_posix()
    return f"{OWN_ORIGIN}/{quote('' if path == INDEX else path)}"


class Serving(NamedTuple):
    """The address and port to listen on (0 for any), and the browser's name for the address."""

    listen: str = "127.0.0.1"
    port: int = 0
    name: str = "127.0.0.1"


class PageServer:
    """Serves the files of the installed `miniwob` package, and one folder of own pages.

    Attributes:
        address: its host and port, as the browser names them.
        root: the folder whose files `OWN_HOST` has now; None for none.
        missed: what `OWN_HOST` was asked for in vain, as remarks; whoever reads them empties it.

    Raises:
        BrowserError: the port can't be opened.
    """

    def __init__(self, serving: Serving) -> None:
        self.root: Path | None = None
        self.missed: set[str] = set()
        self._types = mimetypes.MimeTypes()  # without the tables of the machine
        try:
            # More threads than the browser has connections, or waitress warns of its queue.
            server = LoopbackServer(self._serve, 8, serving.listen, serving.port)
        except OSError as error:
            raise BrowserError(
                f"the pages can't be served on {serving.listen}:{serving.port}: {error}; "
                "--miniwob-serve HOST[:PORT] names another address or port"
            ) from error
        self.address = f"{serving.name}:{server.port}"
        self.close = server.close

    def _serve(
        self, environ: Mapping[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        """Answer with the file of a path; a form that is sent gets a page as a link does."""
        asked = str(environ["PATH_INFO"]).encode("latin-1").decode(errors="replace")
        own = str(environ.get("HTTP_HOST")).partition(":")[0] == OWN_HOST
        is_head = environ["REQUEST_METHOD"] == "HEAD"
        font = served_font(asked)
        path = font or (self.own_file(asked) if own else _file_in(pages_folder(), asked))
        status, body = "200 OK", b""
        headers = {"Cache-Control": "no-cache"}  # your own pages may change
        if environ.get("HTTP_SERVICE_WORKER") == "script":  # it would outlast the page
            status = "403 Forbidden"
            self.missed.add(f"a service worker was refused: {asked}")
        elif own and (said := environ.get("HTTP_X_MINIWOB_ANSWER")):
            answer = json.loads(said)
            status, body = f"{answer['status']} -", base64.b64decode(answer["body"])
            headers |= {name.title(): value for name, value in answer["headers"]}
        elif own and asked == ECHO:
            query = dict(parse_qsl(environ["QUERY_STRING"]))
            status, body = f"{query.get('status', '200')} -", environ["wsgi.input"].read()
            headers["Content-Type"] = query.get("type", "")
        elif path is None and asked == "/favicon.ico":
            status = "204 No Content"  # only some browsers ask, and show an error otherwise
        elif path is None or (own and _by_script(environ) and environ["REQUEST_METHOD"] in WRITING):
            status = "404 Not Found"
            if own and not is_head:
                self.missed.add(_missed(environ, asked))
        elif own and path.name == INDEX and not asked.endswith(("/", f"/{INDEX}")):
            status, headers["Location"] = "301 Moved", quote(f"{asked}/")
        else:
            body = path.read_bytes()
            kind = self.media_type(path)
            if kind.startswith("text/") or kind == "application/javascript":
                kind += "; charset=utf-8"
            headers["Content-Type"] = kind
            if font:
                headers["Access-Control-Allow-Origin"] = "*"  # a sandboxed frame has no origin
            if font or not own:
                headers["Cache-Control"] = "public, max-age=31536000, immutable"
        if own:
            headers["Content-Security-Policy"] = POLICY
        start_response(status, [*headers.items(), ("Content-Length", str(len(body)))])
        return [] if is_head else [body]

    def media_type(self, path: Path) -> str:
        """The media type of a file, by its name."""
        return self._types.guess_type(path.name)[0] or "application/octet-stream"

    def own_file(self, asked: str) -> Path | None:
        """The file of a path, in the folder or among those that the package shares; or None.

        As with usual servers of sites, `/help` is also `help/index.html` or `help.html`.
        """
        if self.root is None:
            return None
        path = asked.strip("/")
        for name in (path, f"{path}/{INDEX}", f"{path}.html"):
            if file := _file_in(self.root, name):
                return file
        return _file_in(pages_folder(), asked) if asked.startswith(SHARED) else None


def _file_in(folder: Path, path: str) -> Path | None:
    root = folder.resolve()
    file = (root / path.replace("\0", "").lstrip("/")).resolve()
    return file if file.is_relative_to(root) and file.is_file() else None


def _by_script(environ: Mapping[str, Any]) -> bool:
    return bool(environ.get("HTTP_SEC_FETCH_DEST") == "empty")


def _missed(environ: Mapping[str, Any], asked: str) -> str:
    """Return the remark on an unanswered request."""
    if _by_script(environ):
        return f"{UNANSWERED} {environ['REQUEST_METHOD']} {asked}"
    return f"there is no file {asked}"
