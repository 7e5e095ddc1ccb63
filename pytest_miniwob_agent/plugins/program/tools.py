"""The page of an item as the tools of an MCP server, for programs without a browser of their own.

The protocol is that of https://modelcontextprotocol.io, over its transport Streamable HTTP. Each
action is a tool, as for a model that calls tools; `observe` shows the page, `reset` begins another
trial, and `answer` ends one on an app.
"""

from __future__ import annotations

import secrets
import socket
import threading
from typing import Any

from pytest_miniwob_agent.core.actions import (
    Action,
    Answer,
    DialogAction,
    InputAction,
    NavigationAction,
    Upload,
)
from pytest_miniwob_agent.core.errors import LimitReached, MiniwobError, UsageError
from pytest_miniwob_agent.core.observations import Observation, Transition
from pytest_miniwob_agent.core.parsing import tools_of
from pytest_miniwob_agent.core.protocols import Environment
from pytest_miniwob_agent.episode.llm import OVER
from pytest_miniwob_agent.screen import render

OBSERVE = ("observe", "Show the page: the goal, and its elements with the ids that actions take.")
RESET = ("reset", "Begin another trial of the task, on a page that is loaded anew.")


class ToolServer:
    """Serves the tools of a trial that has begun, on 127.0.0.1.

    Attributes:
        url: the server's address, with a secret in its path.
        over: True once the page has judged, or a limit or an error has ended the episode.
        error: what ended it, to be raised; None if the page has judged.
        reward: the page's verdict; 0 while it is undecided.

    Raises:
        UsageError: the packages of the extra `mcp` are missing.
    """

    def __init__(self, env: Environment, start: Observation) -> None:
        try:
            import uvicorn
            from mcp import types
            from mcp.server.lowlevel import Server
        except ImportError as error:
            raise UsageError(
                f"a program with tools needs MCP ({error}): pip install 'pytest-miniwob-agent[mcp]'"
            ) from None
        self._env = env
        self._last = Transition(start)
        self.error: BaseException | None = None
        self.reward = 0.0

        async def list_tools(context: Any, params: Any) -> Any:
            return types.ListToolsResult(
                tools=[
                    types.Tool(name=name, description=text, input_schema=schema)
                    for name, text, schema in self._tools()
                ]
            )

        async def call_tool(context: Any, params: Any) -> Any:
            text, failed = self._call(params.name, params.arguments or {})
            content: list[Any] = [types.TextContent(type="text", text=text)]
            return types.CallToolResult(content=content, is_error=failed)

        path = f"/{secrets.token_urlsafe(16)}/mcp"
        server = Server("pytest-miniwob-agent", on_list_tools=list_tools, on_call_tool=call_tool)
        app = server.streamable_http_app(
            streamable_http_path=path, json_response=True, stateless_http=True
        )
        listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{listening.getsockname()[1]}{path}"
        config = uvicorn.Config(app, log_level="error", lifespan="on", timeout_graceful_shutdown=1)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([listening],), daemon=True)
        self._thread.start()

    @property
    def over(self) -> bool:
        """True once the page has judged, or a limit or an error has ended the episode."""
        return self._last.done or self.error is not None

    def close(self) -> None:
        """End the server."""
        self._server.should_exit = True
        self._thread.join()

    def _tools(self) -> list[tuple[str, str, dict[str, Any]]]:
        """Return names, descriptions and schemas of the tools that the page takes now."""
        seen = self._last.observation
        kinds: list[Any] = [Action, DialogAction]
        kinds += [InputAction, NavigationAction] if seen.further else []
        kinds += [[Upload]] if seen.files else []
        kinds += [[Answer]] if seen.answers else []
        functions = [tool["function"] for kind in kinds for tool in tools_of(kind)]
        nothing = {"type": "object", "properties": {}, "additionalProperties": False}
        own = [(name, text, nothing) for name, text in (OBSERVE, RESET)]
        return own + [(one["name"], one["description"], one["parameters"]) for one in functions]

    def _call(self, name: str, arguments: dict[str, Any]) -> tuple[str, bool]:
        """Carry out a call; what it leads to, and whether it failed."""
        env = self._env
        try:
            if name == OBSERVE[0]:
                return self._shown(), False
            if name == RESET[0]:
                self._last = Transition(env.reset(screen=env.default_screen))
                return self._shown(), False
            if self._last.done:
                return OVER, True
            self._last = env.call(name, arguments)
        except (MiniwobError, LimitReached) as error:
            self.error = error
            return str(error), True
        if self._last.done:
            self.reward = self._last.reward
            return OVER, False
        return self._last.error or self._shown(), self._last.error is not None

    def _shown(self) -> str:
        if self._last.done:
            return OVER
        seen = self._last.observation
        dialog = f"\nA dialog is open: {seen.dialog}" if seen.dialog else ""
        return f"Goal: {seen.goal}\nPage:\n{render(seen.elements)}{dialog}"
