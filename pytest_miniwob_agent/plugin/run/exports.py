"""Exports to other reporting plugins: an item's properties, transcript and picture.

They are made in the process that runs the item, under pytest-xdist the worker: the Allure plugin
writes its files there, and pytest-html and pytest-json-report send theirs with the item's report.
"""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from pytest_miniwob_agent.core.outcome import Outcome
from pytest_miniwob_agent.core.text import sanitize_line

_GIVEN: pytest.StashKey[dict[str, str]] = pytest.StashKey()


def properties(outcome: Outcome) -> list[tuple[str, str | int]]:
    """Return an item's `user_properties`, which JUnit's XML and pytest-json-report show."""
    found: dict[str, str | int | None] = {
        "case": outcome.case.id,
        "agent": sanitize_line(outcome.agent),
        "model": sanitize_line(outcome.model),
        "outcome": str(outcome.status),
    }
    if (episode := outcome.episode) is not None:
        found |= {
            "solved_at": episode.solved_at,
            "endings": " ".join(episode.endings),
            "trials": len(episode.endings),
            "steps": episode.steps,
            "calls": episode.calls,
            "tokens": episode.tokens,
        }
    else:
        found["reason"] = sanitize_line(outcome.reason) or None
    return [(f"miniwob_{name}", value) for name, value in found.items() if value is not None]


class Exports:
    """Gives an item's transcript, and its picture if there is one, to reporting plugins.

    Args:
        plugins: the plugins that report on this run: `html`, `json`, `allure`.
    """

    def __init__(self, plugins: list[str]) -> None:
        self._plugins = plugins

    def give(self, item: pytest.Item, report: Any, transcript: str, picture: Path | None) -> None:
        """Attach the transcript to an item, and the picture, a PNG file."""
        given = item.stash[_GIVEN] = {"miniwob_transcript": transcript}
        if picture is not None:
            given["miniwob_picture"] = str(picture)
        if "html" in self._plugins:
            from pytest_html import extras

            more = [extras.text(transcript, name="transcript")]
            if picture is not None:
                more.append(extras.png(b64encode(picture.read_bytes()).decode(), "last screen"))
            report.extras = [*getattr(report, "extras", ()), *more]
        if "allure" in self._plugins:
            import allure

            allure.attach(transcript, "transcript", allure.attachment_type.TEXT)
            if picture is not None:
                allure.attach.file(str(picture), "last screen", allure.attachment_type.PNG)

    @pytest.hookimpl(optionalhook=True)
    def pytest_json_runtest_metadata(self, item: pytest.Item) -> dict[str, str]:
        """Answer pytest-json-report, which asks at each part of an item."""
        return item.stash.get(_GIVEN, {})
