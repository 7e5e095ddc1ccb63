"""One episode: an agent on a page with a model, within limits and written down.

- `env`: what the agent may do with the page.
- `llm`: the model as the agent gets it.
- `trace`: writes down what happens; both of them tell it.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Sequence

from pytest_miniwob_agent.core.case import Case, Limits
from pytest_miniwob_agent.core.errors import CassetteError
from pytest_miniwob_agent.core.events import Episode
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

    Args:
        case: the problem, for the episode's record.
        agent: what works on it.
        env: the page.
        llm: the model; with an `HTTPModel`, all of `LLM` can be used.
        limits: trials, actions and model calls that are allowed.
        model: the model's id, for the episode's record.
        observers: called as the episode goes on.

    Raises:
        MiniwobError: whatever the environment or the model raises.
    """
    trace = Trace(env, observers)
    page = AgentEnv(env, limits, agent, trace)
    calls = AgentLLM(llm, model, limits, trace)
    for observer in observers:
        observer.before_episode(case)
    limit = None
    try:
        solving = agent.solve(page, calls, trace.note)
        if inspect.isawaitable(solving):
            asyncio.run(_wait_for(solving))
    except (Exception, BaseExceptionGroup, Stopped) as error:
        limit = trace.limit_behind(error)
        if limit is None and trace.error is None:
            raise
    finally:
        calls.close()
    if trace.error is not None:
        if isinstance(trace.error, CassetteError):
            trace.take_picture()  # of what led to a call that is not recorded
        raise trace.error
    trace.end_trial(limit or trace.limit)
    return Episode(case, agent.name, model, trace.events)


async def _wait_for(solving: Awaitable[None]) -> None:
    await solving
