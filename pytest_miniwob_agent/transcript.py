"""What is told of an episode that a person is to understand without opening its full trace."""

from __future__ import annotations

import shlex
from pathlib import Path

from pytest_miniwob_agent.core import Acted, Element, Episode, TrialStarted, brief, shortened, shown

DEFAULT = Path("cassettes")
"""The folder of cassettes that `show` reads unless it is told of another."""


def transcript(episode: Episode, more: str = "") -> str:
    """The episode as `explain()` tells it, the last screen, and the command that shows the rest."""
    from pytest_miniwob_agent.screen import render  # parses XML, for which no passing item waits

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
        lines += shortened([f"  {brief(line)}" for line in render(screen).splitlines()])
    if more:
        lines.append(f"all of it: {more}")
    return "\n".join(lines)


def trace_command(cassette: str, folder: Path) -> str:
    """The command that opens the full trace of an item, by the name of its cassette."""
    command = ["miniwob-agent", "cassettes", "show", cassette]
    if shown(folder) != DEFAULT:
        command += ["--cassettes", str(shown(folder))]
    return shlex.join(command)
