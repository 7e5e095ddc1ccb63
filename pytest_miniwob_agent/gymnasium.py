"""The pages as environments for Gymnasium, with BrowserGym's observations and action texts.

Importing this module registers one for each task: `gymnasium.make("miniwob-agent/click-tab-2-v0")`.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from pytest_miniwob_agent.browser.miniwob_page import MiniwobPage
from pytest_miniwob_agent.browser.process import Browser
from pytest_miniwob_agent.browsergym.player import SCREENSHOT, Player
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.tasks.catalogue import installed_tasks

NAMESPACE = "miniwob-agent"

MAX_SEED = 2**31
"""Problems of a reset without a seed are drawn from the seeds below this one."""


class Unicode(spaces.Text):
    """Any string."""

    def __init__(self) -> None:
        super().__init__(max_length=200, min_length=0)

    def contains(self, x: Any) -> bool:
        """Return True for every string."""
        return isinstance(x, str)


class MiniwobEnv(gymnasium.Env[dict[str, Any], str]):
    """A task as an environment; it has a browser of its own, started by the first `reset`.

    Observations have the keys of `browsergym.Player`, actions are strings such as `click("12")`.
    The reward is 1.0 for any raw reward above 0, otherwise 0.0, and `info` has the page's
    `raw_reward` and `seed`. Pages stand still between actions, so that equal seeds and actions lead
    to equal observations. `max_episode_steps` of `gymnasium.make` sets a limit of actions.

    Args:
        task: a task of MiniWoB++.
        screenshot: False leaves `screenshot` out, which makes steps faster.
        browser: the browser's executable; None looks for one.
    """

    def __init__(self, task: str, *, screenshot: bool = True, browser: str | None = None) -> None:
        self._task, self._screenshot = task, screenshot
        self._browser = Browser(browser)
        self._player: Player | None = None
        self._seed = 0
        texts = ("goal", "axtree_txt", "pruned_html", "focused_element_bid", "last_action",
                 "last_action_error")  # fmt: skip
        known: dict[str, spaces.Space[Any]] = {text: Unicode() for text in texts}
        for key, names in (
            ("goal_object", ("type", "text")),
            ("chat_messages", ("role", "message")),
        ):
            known[key] = spaces.Sequence(spaces.Dict({name: Unicode() for name in names}))
        if screenshot:
            known["screenshot"] = spaces.Box(0, 255, SCREENSHOT, np.uint8)
        self.observation_space = spaces.Dict(known)
        self.action_space = Unicode()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Load the page afresh; `seed` is the page's own, as in the ids of items."""
        super().reset(seed=seed)
        self._seed = int(self.np_random.integers(MAX_SEED)) if seed is None else seed
        page = MiniwobPage(
            self._browser, Case(self._task, installed_tasks()[self._task], self._seed)
        )
        self._player = Player(page, screenshot=self._screenshot)
        return self._player.reset(), self._info(0.0)

    def step(self, action: str) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Play an action text."""
        if self._player is None:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        seen, after = self._player.step(action)
        return seen, float(after.reward > 0), after.done, False, self._info(after.reward)

    def _info(self, reward: float) -> dict[str, Any]:
        return {"raw_reward": reward, "seed": self._seed}

    def close(self) -> None:
        """End the browser."""
        self._browser.close()


for name in installed_tasks():
    gymnasium.register(
        f"{NAMESPACE}/{name}-v0",
        entry_point=f"{__name__}:{MiniwobEnv.__name__}",
        kwargs={"task": name},
    )
