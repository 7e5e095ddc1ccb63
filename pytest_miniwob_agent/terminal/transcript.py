"""The transcript of an episode: enough to understand a failure without its whole trace."""

from __future__ import annotations

from collections.abc import Mapping

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
