"""The addresses of a page that is handed over: those of a browser's remote debugging port.

They are below a secret path, or at a port of their own for clients that take a host and port alone.
"""

from __future__ import annotations

import json
import re
import secrets
import threading
from collections.abc import Callable
from contextlib import closing
from http import HTTPStatus
from typing import Any

from websockets.http11 import Request, Response
from websockets.sync.client import ClientConnection
from websockets.sync.server import ServerConnection, serve

from pytest_miniwob_agent.browser.devtools import Client
from pytest_miniwob_agent.browser.program import Names

BROWSER, PAGE, VERSION, LIST = "browser", "page", "version", "list"

_PATHS = {
    VERSION: re.compile(r"/json/version/?"),
    LIST: re.compile(r"/json(/list)?/?"),
    PAGE: re.compile(r"/devtools/page/(?P<id>\w+)"),
    BROWSER: re.compile(r"/?|/devtools/browser/[\w-]+"),
}


class Endpoint:
    """A server on loopback, at a port of its own, whose WebSockets are commands and events.

    Attributes:
        port: its port.
        address: `127.0.0.1:PORT/SECRET`, without a scheme; or without a secret.

    Args:
        take: gets each WebSocket, and the id of the target that its path names, or None.
        connect: opens a connection to the browser.
        names: what clients get in place of names that differ from run to run.
        timeout: wall-clock seconds in which the browser answers.
        secret: the beginning of its paths. Without one, it is for any client of this machine, but
            for pages in browsers.
    """

    def __init__(
        self,
        take: Callable[[ServerConnection, str | None], None],
        connect: Callable[[], ClientConnection],
        names: Names,
        timeout: float,
        secret: str = "",
    ) -> None:
        self._take, self._connect, self._names, self._timeout = take, connect, names, timeout
        self._path = secret and f"/{secret}"
        self._server = serve(
            self._serve,
            "127.0.0.1",
            0,
            process_request=self._answer,
            compression=None,
            max_size=None,
            ping_interval=None,
            close_timeout=0.2,  # the program may hang, or wait in this thread
        )
        self.port = int(self._server.socket.getsockname()[1])
        self.address = f"127.0.0.1:{self.port}{self._path}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Take no more clients; those that are connected stay."""
        self._server.shutdown()

    def _serve(self, client: ServerConnection) -> None:
        assert client.request is not None
        path = _PATHS[PAGE].fullmatch(self._below(client.request))
        self._take(client, path and path["id"])

    def _below(self, request: Request) -> str:
        return request.path.partition("?")[0][len(self._path) :]

    def _answer(self, client: ServerConnection, request: Request) -> Response | None:
        """Answer a request; None for a WebSocket."""
        # Another name may be a web page's, which has it resolve to this machine.
        named = [host.partition(":")[0] for host in request.headers.get_all("Host")]
        foreign = not self._path and named not in (["127.0.0.1"], ["localhost"])
        if foreign or "Origin" in request.headers:  # programs send none, and web pages do
            return client.respond(HTTPStatus.FORBIDDEN, "Only programs get this page.\n")
        known = secrets.compare_digest(request.path[: len(self._path)], self._path)
        below = self._below(request)
        kind = next((kind for kind, path in _PATHS.items() if path.fullmatch(below)), None)
        if not known or kind is None:
            return client.respond(HTTPStatus.NOT_FOUND, "No page is handed over at this address.\n")
        if kind in (BROWSER, PAGE):
            return None
        answer = client.respond(
            HTTPStatus.OK, json.dumps(self._version() if kind == VERSION else self._targets())
        )
        del answer.headers["Content-Type"]
        answer.headers["Content-Type"] = "application/json; charset=UTF-8"
        return answer

    def _version(self) -> dict[str, str]:
        found = self._ask("Browser.getVersion")
        return {
            "Browser": found["product"],
            "Protocol-Version": found["protocolVersion"],
            "User-Agent": found["userAgent"],
            "V8-Version": found["jsVersion"],
            "WebKit-Version": f"537.36 ({found['revision']})",  # as every Chromium has it
            "webSocketDebuggerUrl": f"ws://{self.address}/devtools/browser/1",
        }

    def _targets(self) -> list[dict[str, str]]:
        return [
            {
                "description": "",
                "id": target["targetId"],
                "title": target["title"],
                "type": target["type"],
                "url": target["url"],
                "webSocketDebuggerUrl": f"ws://{self.address}/devtools/page/{target['targetId']}",
            }
            for target in self._ask("Target.getTargets")["targetInfos"]
        ]

    def _ask(self, method: str) -> dict[str, Any]:
        """Send a command without a session; raises an error if the browser does not answer."""
        with closing(Client(self._connect())) as browser:
            sent = browser.post({"method": method, "params": {}})
            with browser.changed:
                browser.changed.wait_for(lambda: sent.answer or browser.lost, self._timeout)
        result: dict[str, Any] = json.loads(
            self._names.to_program(json.dumps(sent.answer["result"]))
        )
        return result
