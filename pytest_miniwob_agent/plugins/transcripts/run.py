"""What the plugins that report on a run get of each item."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from pytest_miniwob_agent.core.outcome import Outcome

_GIVEN: pytest.StashKey[dict[str, str]] = pytest.StashKey()


class Exports:
    """Gives an item's transcript, and its last picture if there is one, to reporting plugins.

    That happens in the process that runs the item, under pytest-xdist the worker: the Allure plugin
    writes its files there, pytest-html and pytest-json-report send theirs with the item's report.

    Args:
        plugins: the plugins that report on this run: `html`, `json`, `allure`.
    """

    name = "miniwob-transcripts-run"

    def __init__(self, plugins: list[str]) -> None:
        self._plugins = plugins

    def pytest_miniwob_transcript(
        self, item: pytest.Item, report: Any, text: str, outcome: Outcome
    ) -> None:
        given = item.stash[_GIVEN] = {"miniwob_transcript": text}
        picture: Path | None = None
        if outcome.pictures:
            find, name = item.config.hook.pytest_miniwob_picture, outcome.pictures[-1].name
            picture = find(config=item.config, name=name)
        if picture is not None:
            given["miniwob_picture"] = str(picture)
        if "html" in self._plugins:
            from pytest_html import extras

            more = [extras.text(text, name="transcript")]
            if picture is not None:
                more.append(extras.png(b64encode(picture.read_bytes()).decode(), "last screen"))
            report.extras = [*getattr(report, "extras", ()), *more]
        if "allure" in self._plugins:
            import allure

            allure.attach(text, "transcript", allure.attachment_type.TEXT)
            if picture is not None:
                allure.attach.file(str(picture), "last screen", allure.attachment_type.PNG)

    @pytest.hookimpl(optionalhook=True)
    def pytest_json_runtest_metadata(self, item: pytest.Item) -> dict[str, str]:
        """Answer pytest-json-report, which asks at each part of an item."""
        return item.stash.get(_GIVEN, {})
