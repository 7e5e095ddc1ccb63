"""One episode: an agent on a page with a model, within limits and written down.

- `env`: what the agent may do with the page.
- `llm`: the model as the agent gets it.
- `program`: what a program does on a page that is handed over to it.
- `trace`: writes down what happens; both of them tell it.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Sequence

from pytest_miniwob_agent.core.case import Case, Limits
from pytest_miniwob_agent.core.errors import CallLimit, CassetteError, limit_in
from pytest_miniwob_agent.core.events import Episode, Remark
from pytest_miniwob_agent.core.protocols import Agent, Model, Observer, Page
from pytest_miniwob_agent.episode.env import AgentEnv
from pytest_miniwob_agent.episode.llm import AgentLLM
from pytest_miniwob_agent.episode.trace import Stopped, Trace


def run_episode(
    case: Case,
    agent: Agent,
    env: Page,
    llm: Model,
    limits: Limits,
    *,
    model: str,
    observers: Sequence[Observer] = (),
) -> Episode:
    """Let the agent work on the case until it returns or a limit is reached.

    With an `HTTPModel` the agent can use all of `LLM`; `model` is the model's id. `MiniwobError`s
    of the environment and the model are raised, and other errors but those after the end.
    """
    trace = Trace(env, observers, limits.trials)
    page = AgentEnv(env, limits, agent, trace)
    calls = AgentLLM(llm, model, limits, trace)
    for observer in observers:
        observer.before_episode(case)
    limit = None
    try:
        solving = agent.solve(page, calls, trace.note)
        if inspect.iscoroutine(solving):
            asyncio.run(solving)
    except (Exception, BaseExceptionGroup, Stopped) as error:
        limit = limit_in(error) or (trace.limit if isinstance(trace.limit, CallLimit) else None)
        if limit is None and trace.error is None:
            if not trace.over:
                raise
            text = f"the agent failed after the end: {type(error).__name__}: {error}"
            trace.note(Remark("exception", text))
    finally:
        calls.close()
    if trace.error is not None:
        if isinstance(trace.error, CassetteError):
            trace.take_picture()  # of what led to a call that is not recorded
        raise trace.error
    trace.end_trial(limit or trace.limit)
    return Episode(case, agent.name, model, trace.events)
