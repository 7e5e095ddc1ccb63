"""What is told of an episode that a person is to understand without opening its full trace."""

from __future__ import annotations

import shlex
from pathlib import Path

from pytest_miniwob_agent.core import Acted, Episode, TrialStarted, brief, shortened, shown

DEFAULT = Path("cassettes")
"""The folder of cassettes that `show` reads unless it is told of another."""


def transcript(episode: Episode, more: str = "") -> str:
    """The episode as `explain()` tells it, the last screen, and the command that shows the rest."""
    from pytest_miniwob_agent.screen import render  # parses XML, for which no passing item waits

    lines = [episode.explain()]
    screens = [
        event.observation if isinstance(event, TrialStarted) else event.transition.observation
        for event in episode.events
        if isinstance(event, TrialStarted | Acted)
    ]
    if screens and screens[-1].elements:
        lines.append("last screen:")
        screen = render(screens[-1].elements).splitlines()
        lines += shortened([f"  {brief(line)}" for line in screen])
    if more:
        lines.append(f"all of it: {more}")
    return "\n".join(lines)


def trace_command(cassette: str, folder: Path) -> str:
    """The command that opens the full trace of an item, by the name of its cassette."""
    command = ["miniwob-agent", "cassettes", "show", cassette]
    if shown(folder) != DEFAULT:
        command += ["--cassettes", str(shown(folder))]
    return shlex.join(command)
