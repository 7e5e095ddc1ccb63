"""The event loops of agents in a thread, apart from that of the tests."""

from __future__ import annotations

import asyncio
import sys
from asyncio import AbstractEventLoop
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace


class AgentLoops:
    """The event loops that agents find running in a thread: each its own or none, not the tests'.

    Where a loop runs, neither `asyncio.run` nor Playwright's synchronous API starts another. One
    runs while pytest is called in a coroutine, such as a cell of Jupyter. And that API leaves its
    loop running: pytest-playwright's after the first test with `page`, an agent's after its first
    episode.
    """

    def __init__(self) -> None:
        self._left: dict[str, AbstractEventLoop] = {}

    @contextmanager
    def running(self, agent: object) -> Iterator[None]:
        """Have the agent's loop, as it left it, in the place of the tests'.

        One that was given objects of the tests' loop, such as a page of Playwright, finds that.
        """
        theirs = asyncio._get_running_loop()
        if theirs is not None and _uses(agent, theirs):
            yield
            return
        task = theirs and asyncio.current_task(theirs)
        if theirs and task:  # from Python 3.14 on, a thread has one task at a time
            asyncio.tasks._leave_task(theirs, task)
        # By this name, HTTP clients find out which library of loops they run on.
        library = getattr(sys.modules.get("sniffio"), "thread_local", SimpleNamespace(name=None))
        their_library, library.name = library.name, None
        own = self._left.pop(type(agent).__module__, None)
        asyncio._set_running_loop(own if own and own.is_running() else None)
        try:
            yield
        finally:
            if own := asyncio._get_running_loop():
                self._left[type(agent).__module__] = own
            asyncio._set_running_loop(theirs)
            library.name = their_library
            if theirs and task:
                asyncio.tasks._enter_task(theirs, task)


def _uses(agent: object, loop: AbstractEventLoop) -> bool:
    """True if the agent, something that it holds, or its module has objects of a loop."""
    held = [*getattr(agent, "__dict__", {}).values()]
    inner = [one for each in held for one in getattr(each, "__dict__", {}).values()]
    module = vars(sys.modules[type(agent).__module__]).values()
    return any(getattr(one, "_loop", None) is loop for one in (*held, *inner, *module))
