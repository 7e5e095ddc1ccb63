"""What other plugins that report on a run are given of an item: properties, transcript, picture.

All of it in the process that runs the item, under pytest-xdist the worker: the Allure plugin writes
its files there, and what the reports of pytest-html and pytest-json-report hold travels from there.
"""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from pytest_miniwob_agent.core.text import sanitize_line
from pytest_miniwob_agent.results.file import Result

_GIVEN: pytest.StashKey[dict[str, str]] = pytest.StashKey()


def properties(result: Result) -> list[tuple[str, str | int]]:
    """An item's `user_properties`: those of JUnit's XML, and pytest-json-report takes them too."""
    found: dict[str, str | int | None] = {
        "case": result.case,
        "agent": sanitize_line(result.agent),
        "model": sanitize_line(result.model),
        "outcome": str(result.outcome),
    }
    if result.conclusive:
        tokens = [count for count in result.tokens.values() if count is not None]
        found |= {
            "solved_at": result.solved_at,
            "endings": " ".join(result.endings),
            "trials": len(result.endings),
            "steps": result.steps,
            "calls": sum(result.calls.values()),
            "tokens": sum(tokens) if len(tokens) == len(result.tokens) else None,
        }
    else:
        found["reason"] = sanitize_line(result.reason) or None
    return [(f"miniwob_{name}", value) for name, value in found.items() if value is not None]


class Exports:
    """Hands an item's transcript, and its picture if there is one, to plugins that report."""

    def __init__(self, plugins: list[str]) -> None:
        self._plugins = plugins

    def give(self, item: pytest.Item, report: Any, transcript: str, picture: Path | None) -> None:
        """Attach to an item what its last report is about; the picture is a PNG file."""
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
        """What pytest-json-report asks for at each part of an item."""
        return item.stash.get(_GIVEN, {})
