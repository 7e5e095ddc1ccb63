"""One episode: an agent on a page with a model, within limits and written down.

- `env`: what the agent may do with the page, dialogs that it leaves open, and a program on a page
  that is handed over to it.
- `llm`: the model as the agent gets it.
- `trace`: writes down what happens; both of them tell it.
"""

from __future__ import annotations

import asyncio
import inspect
import re
import sys
import traceback
from asyncio import AbstractEventLoop
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

from pytest_miniwob_agent.core.case import Case, Limits
from pytest_miniwob_agent.core.errors import CallLimit, CassetteError, limit_in
from pytest_miniwob_agent.core.events import Ending, Episode, Remark, TrialEnded
from pytest_miniwob_agent.core.files import display_path
from pytest_miniwob_agent.core.pace import Pace
from pytest_miniwob_agent.core.protocols import Agent, Model, Observer, Paced, Page
from pytest_miniwob_agent.core.text import sanitize_line
from pytest_miniwob_agent.episode.env import AgentEnv, Turns
from pytest_miniwob_agent.episode.llm import AgentLLM
from pytest_miniwob_agent.episode.trace import Stopped, Trace


class AgentLoops:
    """The event loops that agents find running in a thread: each its own or none, not the tests'.

    While a loop runs, neither `asyncio.run` nor Playwright's synchronous API starts another. One
    runs while pytest is called in a coroutine, such as a cell of Jupyter. And that API leaves its
    loop running: pytest-playwright's after the first test with `page`, an agent's after its first
    episode. Functions of asyncio that begin with an underscore are for those who implement loops,
    and documented.
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
            asyncio._leave_task(theirs, task)
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
                asyncio._enter_task(theirs, task)


def _uses(agent: object, loop: AbstractEventLoop) -> bool:
    held = [*getattr(agent, "__dict__", {}).values()]
    inner = [one for each in held for one in getattr(each, "__dict__", {}).values()]
    module = vars(sys.modules[type(agent).__module__]).values()
    return any(getattr(one, "_loop", None) is loop for one in (*held, *inner, *module))


_PACKAGE = Path(__file__).parents[1]


def run_episode(
    case: Case,
    agent: Agent,
    env: Page,
    llm: Model,
    limits: Limits,
    *,
    model: str,
    observers: Sequence[Observer] = (),
    raising: bool = False,
) -> Episode:
    """Let the agent work on the case until it returns, fails, or a limit is reached.

    With an `HTTPModel` the agent can use all of `LLM`; `model` is the model's id. `MiniwobError`s
    of the environment and the model are raised. Another exception is the agent's: it ends the
    trial, and a remark has its traceback. It is raised where nothing was played, where the model
    failed or a package is missing, and where `raising` asks for it.
    """
    __tracebackhide__ = True
    turns = Turns()
    trace = Trace(env, [turns, *observers], limits)
    halt = trace.halt
    pace = llm.pace if isinstance(llm, Paced) else Pace()
    page = AgentEnv(env, agent, trace, turns, pace)
    calls = AgentLLM(
        llm,
        model,
        trace,
        page.paused,
        ends_with_trial=getattr(agent, "calls_end_with_trial", False),
    )
    for observer in observers:
        observer.before_episode(case)
    limit = None
    try:
        solving = agent.solve(page, calls, trace.note)
        if inspect.iscoroutine(solving):
            with AgentLoops().running(None):
                asyncio.run(solving)
    except (Exception, BaseExceptionGroup, Stopped) as error:
        limit = limit_in(error) or (halt.limit if isinstance(halt.limit, CallLimit) else None)
        if limit is None and halt.error is None:
            halt.error = trace.refused
        if limit is None and halt.error is None:
            not_the_agents = trace.last is None or halt.broken or isinstance(error, ImportError)
            if not trace.over and (not_the_agents or raising):
                raise
            when = " after the end" if trace.over else ""
            reason = sanitize_line(f"{type(error).__name__}: {error}")
            shown = "\n".join([f"the agent failed{when}: {reason}", *_traceback(error, agent)])
            trace.note(Remark("exception", shown))
            if not trace.over:
                trace.note(TrialEnded(Ending.EXCEPTION, reason))
    finally:
        page.end()
        calls.close()
    if halt.error is not None:
        if isinstance(halt.error, CassetteError):
            trace.take_picture()  # of what led to a call that is not recorded
        raise halt.error
    trace.end_trial(limit or halt.limit)
    return Episode(case, agent.name, model, trace.log.events)


def _traceback(error: BaseException, agent: Agent) -> Iterator[str]:
    # As pytest's `--tb=short`, from the agent's own file on.
    frames = traceback.TracebackException.from_exception(error).stack
    own = inspect.getsourcefile(type(agent))
    first = next((place for place, frame in enumerate(frames) if frame.filename == own), 0)
    for frame in frames[first:]:
        path = Path(frame.filename)
        if frame.filename == own or not path.is_relative_to(_PACKAGE):
            *installed, inside = re.split(r"/(?:site-packages|lib/python3\.\d+)/", path.as_posix())
            shown = display_path(Path(inside) if installed else path)
            name = shown.name if shown.is_absolute() else shown  # the same on every machine
            yield f"{name}:{frame.lineno}: in {frame.name}"
            yield f"    {frame.line}"
