"""Google's API, `generateContent` below `/v1beta`. `api` describes its requests and answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_miniwob_agent.models.api import API


def pytest_miniwob_apis() -> list[API]:
    from pytest_miniwob_agent.plugins.gemini.api import Gemini

    return [Gemini()]
