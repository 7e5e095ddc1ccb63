"""The reward of an `AppTask` on a page of Playwright, for `miniwob-agent show --as playwright`."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_miniwob_agent.core.app import AppTask, AppTrial, PageRequest
from pytest_miniwob_agent.core.observations import Element, Observation

if TYPE_CHECKING:
    from playwright.sync_api import Download, Page, Request


class Judge:
    """Asks the `reward` of a task whether the app says that a page of Playwright has solved it.

    Make it before the page is used: its trial has the requests and the downloads from then on. Of
    what the page shows, the trial has the lines of its text, without roles, values and ids.

    Args:
        task: the task.
        app: the value of its fixture, or its address.
        page: a page of Playwright's synchronous API.
        seed: the item's.
    """

    def __init__(self, task: AppTask, app: Any, page: Page, seed: int) -> None:
        self._task, self._app, self._page, self._seed = task, app, page, seed
        self._requests: list[Request] = []
        self._downloads: list[Download] = []
        # Playwright takes no built-in functions.
        page.context.on("request", lambda request: self._requests.append(request))
        page.on("download", lambda download: self._downloads.append(download))

    def assert_solved(self, answer: str | None = None, *, timeout: float = 5.0) -> None:
        """Assert that the reward is 1, within some seconds while it is 0.

        `answer` is what the agent answered.

        Raises:
            AssertionError: it is not.
        """
        task, end = self._task, time.monotonic() + timeout
        while not (said := task.call("reward", self._app, self._trial(answer))):
            if time.monotonic() > end:
                break
            self._page.wait_for_timeout(100)
        assert said == 1, (
            f"reward of AppTask {task.name!r} says {said!r}, and not that it is solved"
        )

    def _trial(self, answer: str | None) -> AppTrial:
        page = self._page.context.pages[-1]
        lines = page.locator("body").inner_text().splitlines()
        shown = tuple(Element(None, "text", text=line) for line in lines if line.strip())
        goal = self._task.goal_text(self._seed)
        downloads = {
            one.suggested_filename: hashlib.sha256(Path(one.path()).read_bytes()).hexdigest()
            for one in self._downloads
        }
        requests = [
            PageRequest(
                one.resource_type, one.method, one.url, one.headers, one.post_data_buffer or b""
            )
            for one in self._requests
        ]
        return AppTrial(self._seed, page.url, Observation(goal, shown), answer, downloads, requests)
