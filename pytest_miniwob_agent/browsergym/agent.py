"""An agent with BrowserGym's interface as an agent of an item."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from pytest_miniwob_agent.browsergym.player import Player
from pytest_miniwob_agent.core.actions import Action
from pytest_miniwob_agent.core.events import Note
from pytest_miniwob_agent.core.protocols import LLM, Environment


class BrowserGymAgent:
    """An agent that answers observations with action texts; subclasses `make` it.

    It plays one trial, a call of `get_action(obs)` for each action, as BrowserGym's loop does. An
    action of None ends it. `obs_preprocessor` is not called: observations have what it makes.

    Attributes:
        name: the folder of the agent's cassettes.
        screenshot: False leaves `screenshot` out of observations, which saves a picture per action.
    """

    name: str
    screenshot: ClassVar[bool] = True

    def __init__(self) -> None:
        self._player: Player | None = None

    def make(self, llm: LLM) -> Any:
        """Return a new object with `get_action(obs)`, which calls the model through `llm`.

        `get_action` returns an action text, or a pair of it and what is known about it.
        """
        raise NotImplementedError(f"{type(self).__name__}.make(llm) returns the agent to play")

    def solve(self, env: Environment, llm: LLM, note: Callable[[Note], None]) -> None:
        """Play a trial."""
        agent = self.make(llm)
        self._player = Player(env, screenshot=self.screenshot)
        seen = self._player.reset()
        while True:
            answer = agent.get_action(seen)
            text = answer[0] if isinstance(answer, tuple) else answer
            if text is None:
                return
            seen, transition = self._player.step(text)
            if transition.done:
                return

    def counts(self, action: Action) -> bool:
        """Count an action text once, whatever it takes to carry it out."""
        return self._player is None or action is self._player.counted
