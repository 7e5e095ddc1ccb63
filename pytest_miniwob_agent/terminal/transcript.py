"""The transcript of an episode: enough to understand a failure without its whole trace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from pytest_miniwob_agent.core.events import Acted, Episode, TrialStarted
from pytest_miniwob_agent.core.observations import Element
from pytest_miniwob_agent.core.text import shorten, shorten_lines


def transcript(episode: Episode, more: Mapping[str, str]) -> str:
    """Return the episode as `explain()` has it, the last screen, and where to see more."""
    from pytest_miniwob_agent.screen import render

    lines = [episode.explain()]
    screen: tuple[Element, ...] = ()
    for event in episode.events:
        match event:
            case TrialStarted(observation=observation):
                screen = observation.elements
            case Acted(transition=transition) if not transition.done:
                screen = transition.observation.elements
    if screen:  # the one that the model saw: a page that has judged may have nothing left on it
        lines.append("last screen:")
        lines += shorten_lines([f"  {shorten(line)}" for line in render(screen).splitlines()])
    return "\n".join([*lines, *(f"{what}: {where}" for what, where in more.items())])


def colour_transcript(report: pytest.TestReport, episode: Episode) -> None:
    """Have pytest show a failure in colour if it begins with the episode's transcript."""
    if str(report.longrepr).startswith(episode.explain().partition("\n")[0]):
        report.longrepr = _Coloured(report.longrepr)  # type: ignore[assignment]


class _Coloured:
    """A transcript in colour where pytest uses it.

    Args:
        failure: pytest's representation of the failure, whose text begins with a transcript.
    """

    def __init__(self, failure: Any) -> None:
        self._failure = failure
        self.reprcrash = getattr(failure, "reprcrash", None)

    def __str__(self) -> str:
        return str(self._failure)

    def toterminal(self, writer: Any) -> None:
        """Write the lines: verdict and lost rewards red, names of parts bold."""
        for number, line in enumerate(str(self).splitlines()):
            lost = number == 0 or "  -> reward -" in line or line.startswith("  impossible")
            part = line.startswith(("trial ", "goal: ", "last screen:", "all of it: "))
            writer.line(line, red=lost, bold=number == 0 or part)
