"""What a program does on a page that is handed over to it, as actions of the trial."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pytest_miniwob_agent.core.actions import ByProgram
from pytest_miniwob_agent.core.errors import StepLimit
from pytest_miniwob_agent.core.events import Remark
from pytest_miniwob_agent.core.observations import Transition
from pytest_miniwob_agent.episode.trace import Trace


class Program:
    """Writes down what a program does, and refuses it more than `left` actions: a `ProgramLog`."""

    def __init__(self, trace: Trace, left: int, limit: StepLimit) -> None:
        self.left = left
        self._trace = trace
        self._limit = limit
        self._shot = trace.camera.look(trace.last)
        self._said: set[str] = set()

    def refusal(self) -> str | None:
        """The error or the limit that ended the trial; None if there is none."""
        reason = self._trace.halt.reason
        return str(reason) if reason else None

    def acted(self, transition: Transition, seen: Mapping[str, Any]) -> None:
        """Write down actions; those before the last one have left the page as it was."""
        acts = seen["acts"]
        for number, act in enumerate(acts, start=1):
            action = ByProgram(act["what"], act["text"])
            if self._shot is not None:
                points = (tuple(act["point"]),) if act["point"] else ()
                self._trace.show(replace(self._shot, points=points), action)
            before = self._trace.last or transition
            self._trace.act(action, transition if number == len(acts) else before)
            self.left -= 1
        if acts:
            self._shot = self._trace.camera.look(self._trace.last)
        if seen["over"]:
            self._trace.halt.limit = self._limit

    def remark(self, text: str) -> None:
        """Write a remark down, once in a trial."""
        if text not in self._said:
            self._said.add(text)
            self._trace.note(Remark("program", text))
