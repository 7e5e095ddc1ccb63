"""The commands by which a gate gets the requests of windows and workers."""

from __future__ import annotations

from pytest_miniwob_agent.browser.devtools import Command
from pytest_miniwob_agent.browser.page import BINDING, worker_script

ATTACHING = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}

WINDOWS = {**ATTACHING, "filter": [{"type": "page"}, {"type": "shared_worker"}]}
"""How the browser attaches to what a page starts."""

WORKERS = {**ATTACHING, "filter": [{"type": "worker"}]}
"""How a window or worker attaches to workers of its own."""

FETCH = {"patterns": [{"urlPattern": "*", "requestStage": "Request"}]}

GATE: tuple[Command, ...] = (
    ("Runtime.enable", {}),
    ("Runtime.addBinding", {"name": BINDING}),
    ("Network.enable", {"maxPostDataSize": 0}),
    ("Network.setCacheDisabled", {"cacheDisabled": True}),
    ("Network.setBypassServiceWorker", {"bypass": True}),
    ("Fetch.enable", FETCH),
    ("Target.setAutoAttach", WORKERS),
)  # fmt: skip

OPEN: tuple[Command, ...] = (
    ("Target.setAutoAttach", {**WORKERS, "autoAttach": False}),
    ("Fetch.disable", {}),
    ("Network.setBypassServiceWorker", {"bypass": False}),
    ("Network.setCacheDisabled", {"cacheDisabled": False}),
    ("Network.disable", {}),
    ("Runtime.removeBinding", {"name": BINDING}),
)  # fmt: skip


def worker_commands(now: float) -> tuple[Command, ...]:
    """The commands for a worker, before it runs: its clock is at `now`, in ms since 1970."""
    return (
        ("Network.enable", {"maxPostDataSize": 0}),
        ("Fetch.enable", FETCH),  # of a shared one; the window has the requests of others
        ("Target.setAutoAttach", WORKERS),
        ("Runtime.evaluate", {"expression": worker_script(now)}),
    )
