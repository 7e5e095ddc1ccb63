"""The task pages over HTTP: a server of one worker, which its browser alone reaches.

Chromium keeps the compiled scripts of pages that come over HTTP, and never those of files.
"""

from __future__ import annotations

import mimetypes
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from waitress.server import create_server
from waitress.wasyncore import close_all

from pytest_miniwob_agent.core.errors import BrowserError
from pytest_miniwob_agent.tasks.catalogue import page_path, pages_folder

HOST = "miniwob.localhost"
"""The name of the server in the browser: pages see the same address whatever its port is."""

ORIGINS = {"http": f"http://{HOST}", "file": "file://"}
"""The ways in which pages come to the browser, with the origin of their storage."""


def page_url(task: str, way: str = "http") -> str:
    """The address of a task's page, by a way of `ORIGINS`."""
    path = page_path(task)
    if way == "file":
        return path.as_uri()
    return f"{ORIGINS[way]}/{path.relative_to(pages_folder()).as_posix()}"


class PageServer:
    """Serves the files of the installed `miniwob` package on loopback, and nothing else.

    Attributes:
        port: the port, which the system has chosen.

    Raises:
        BrowserError: no port can be opened.
    """

    def __init__(self) -> None:
        folder = pages_folder()
        self._files: dict[str, Path] = {
            f"/{path.relative_to(folder).as_posix()}": path
            for path in folder.rglob("*")
            if path.is_file()
        }
        self._types = mimetypes.MimeTypes()  # without the tables of the machine
        self._sockets: dict[int, Any] = {}
        try:
            # More threads than the browser has connections, or waitress warns of its queue.
            server: Any = create_server(
                self._answer, self._sockets, host="127.0.0.1", port=0, threads=8
            )
        except OSError as error:
            raise BrowserError(
                f"the pages can't be served on 127.0.0.1: {error}; --miniwob-pages=file loads "
                "them from disk"
            ) from error
        self._server = server
        self.port = int(server.effective_port)
        self._thread = threading.Thread(target=server.run, name="miniwob-pages", daemon=True)
        self._thread.start()

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

    def close(self) -> None:
        """Close all connections and end the threads."""
        # In the server's own thread, which waits for them.
        self._server.trigger.pull_trigger(lambda: close_all(self._sockets))
        self._thread.join()
        self._server.task_dispatcher.shutdown()


def _with_charset(kind: str) -> str:
    """Return a content type; texts are UTF-8, which Chromium finds out itself of a file."""
    is_text = kind.startswith("text/") or kind == "application/javascript"
    return f"{kind}; charset=utf-8" if is_text else kind
