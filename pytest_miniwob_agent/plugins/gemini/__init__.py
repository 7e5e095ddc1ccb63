"""Google's API, `generateContent`, also on Vertex AI. `api` describes its requests and answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_miniwob_agent.models.api import API


def pytest_miniwob_apis() -> list[API]:
    from pytest_miniwob_agent.plugins.gemini.api import Gemini, Vertex

    return [Gemini(), Vertex()]
