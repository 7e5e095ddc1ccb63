"""The task pages over HTTP: a server of one worker, for its browser.

Chromium keeps the compiled scripts of pages that come over HTTP, and never those of files.
"""

from __future__ import annotations

import mimetypes
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from pytest_miniwob_agent.core.errors import BrowserError
from pytest_miniwob_agent.loopback import LoopbackServer
from pytest_miniwob_agent.tasks.catalogue import page_path, pages_folder

HOST = "miniwob.localhost"
"""The name of the server in the browser: pages see the same address whatever its port is."""

ORIGINS = {"http": f"http://{HOST}", "file": "file://"}
"""The schemes of the addresses of task pages, with the origin of their storage."""


def page_url(task: str, scheme: str = "http") -> str:
    """The address of a task's page, by a scheme of `ORIGINS`."""
    path = page_path(task)
    if scheme == "file":
        return path.as_uri()
    return f"{ORIGINS[scheme]}/{path.relative_to(pages_folder()).as_posix()}"


class PageServer:
    """Serves the files of the installed `miniwob` package, and nothing else.

    Args:
        host: the address to listen on.
        port: the port; 0 for one that the system chooses.
        hint: the way out where that is not possible.

    Attributes:
        port: the port that it listens on.

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
        path = self._files.get(asked)
        if path is None:
            start_response("404 Not Found", [("Content-Length", "0")])
            return []
        body = path.read_bytes()
        kind, _ = self._types.guess_type(path.name)
        headers = [
            ("Content-Type", _with_charset(kind or "application/octet-stream")),
            ("Content-Length", str(len(body))),
            ("Cache-Control", "public, max-age=31536000, immutable"),
        ]
        start_response("200 OK", headers)
        return [body]


def _with_charset(kind: str) -> str:
    """Return a content type; texts are UTF-8, which Chromium finds out itself of a file."""
    is_text = kind.startswith("text/") or kind == "application/javascript"
    return f"{kind}; charset=utf-8" if is_text else kind
