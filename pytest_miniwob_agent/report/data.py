"""Data of the report: a row of the overview and a page for each item, made of the outcomes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePath
from typing import Any

from pytest_miniwob_agent.core.data import canonical_json, to_data
from pytest_miniwob_agent.core.events import (
    Acted,
    Called,
    Event,
    Reflected,
    Remark,
    TrialEnded,
    TrialStarted,
)
from pytest_miniwob_agent.core.observations import Observation
from pytest_miniwob_agent.core.outcome import Outcome, Status
from pytest_miniwob_agent.results.gate import Verdict
from pytest_miniwob_agent.screen import render

WAITS = "It waits for a completion."
"""The reason for which an item of a deferred recording has no result yet."""

_SENT = re.compile(r"\[picture pictures/([0-9a-f]{16}\.png)\]")
"""Stands for a picture in the text of a prompt."""


def unique_ids(cases: Iterable[str]) -> list[str]:
    """Return the ids in the report of the items of some cases; repeated ones get a number."""
    seen: Counter[str] = Counter()
    ids = []
    for case in cases:
        seen[case] += 1
        ids.append(case if seen[case] == 1 else f"{case}~{seen[case]}")
    return ids


def case_of(id_: str) -> str:
    """Return the case of an id in a report."""
    return re.sub(r"~\d+$", "", id_)


def _cause(outcome: Outcome) -> str:
    """Why an item has no result, in words that all items with this cause share."""
    if outcome.status.conclusive:
        return ""
    if outcome.status is Status.WAITING:
        return WAITS
    if outcome.drift is not None:
        from pytest_miniwob_agent.cassettes.drift import heading

        return heading(outcome.drift.causes)
    return outcome.message_of_cause


def gate_data(verdict: Verdict) -> dict[str, Any]:
    """Return a gate and its decision, and as lines its reasons, remarks and warnings."""
    reasons = ["; ".join(filter(None, (r.text, r.hint))) for r in verdict.reasons]
    warnings = [f"warning: {text}" for text in verdict.both.warnings]
    lines = [*reasons, *verdict.notes, *warnings]
    return {"name": str(verdict.gate), "decision": verdict.decision, "lines": lines}


def overview_row(id_: str, outcome: Outcome) -> dict[str, Any]:
    """Return an item's row of the overview."""
    events = outcome.history
    completions = [event.completion for event in events if isinstance(event, Called)]
    trials = [event for event in events if isinstance(event, TrialStarted)]
    endings = [event.ending for event in events if isinstance(event, TrialEnded)]
    counts = [c for call in completions for c in (call.prompt_tokens, call.completion_tokens)]
    known = [count for count in counts if count is not None]
    return {
        "id": id_,
        "category": outcome.case.group,
        "task": outcome.case.task,
        "status": outcome.status,
        "change": outcome.change or "",
        "before": to_data(outcome.earlier),
        "cause": _cause(outcome),
        "solvedAt": outcome.episode.solved_at if outcome.episode is not None else None,
        "trials": len(trials),
        "allowed": outcome.limits.trials if outcome.episode and outcome.limits else None,
        "steps": sum(isinstance(event, Acted) for event in events),
        "calls": len(completions),
        "tokens": sum(known) if known and len(known) == len(counts) else None,
        "ending": endings[-1] if endings else "",
        "goal": trials[0].observation.goal if trials else "",
    }


def item_page(outcome: Outcome) -> dict[str, Any]:
    """Return the data of an item's page that the overview does not need."""
    prompts = (f"{name} {digest}" for name, digest in sorted(outcome.prompts.items()))
    waits = WAITS if outcome.status is Status.WAITING else ""
    return {
        "about": [
            ["agent", outcome.agent],
            ["model", outcome.model],
            ["answered by", ", ".join(outcome.answered_by)],
            ["parameters", canonical_json(outcome.params)],
            ["cassette", f"{outcome.cassette}.yaml" if outcome.cassette else ""],
            ["prompts", ", ".join(prompts)],
        ],
        "reward": outcome.episode.reward if outcome.episode is not None else None,
        "reason": outcome.message or waits,
        "note": outcome.pictures_note,
        **_Frames(outcome).data(),
    }


class _Frames:
    """The frames of an item's film: each has the model calls before an action, and its result.

    The last frame of a trial has its ending and the reflection on it in place of an action. Screens
    are stored once each and referred to by number, as many actions leave the screen unchanged.
    """

    def __init__(self, outcome: Outcome) -> None:
        self._pictures = {(picture.trial, picture.step): picture for picture in outcome.pictures}
        self._frames: list[dict[str, Any]] = []
        self._screens: dict[str, int] = {}
        self._trial = 0
        self._step = 0
        self._observation: Observation | None = None
        self._before: Called | None = None
        for event in outcome.history:
            self._add(event)

    def data(self) -> dict[str, Any]:
        """Return the frames, and the screens."""
        return {"frames": self._frames, "screens": list(self._screens)}

    def _current(self) -> dict[str, Any]:
        """Return the frame of the current trial and step; begin it if it is new."""
        place = self._trial, self._step
        if not self._frames or (self._frames[-1]["trial"], self._frames[-1]["step"]) != place:
            frame: dict[str, Any] = {"trial": place[0], "step": place[1], "calls": [], "other": []}
            if self._observation is not None:
                screen = render(self._observation.elements)
                frame["screen"] = self._screens.setdefault(screen, len(self._screens))
            if (picture := self._pictures.get(place)) is not None:
                data = to_data(picture)
                frame["picture"] = {key: data[key] for key in ("name", "size", "points", "boxes")}
            self._frames.append(frame)
        return self._frames[-1]

    def _add(self, event: Event) -> None:
        match event:
            case TrialStarted(trial=trial, observation=observation):
                self._trial, self._step, self._observation = trial, 0, observation
                self._current()
            case Called():
                self._current()["calls"].append(self._call(event))
            case Acted():
                self._add_action(event)
            case TrialEnded(ending=ending, detail=detail):
                self._current()["end"] = {"ending": ending, "detail": detail}
            case Reflected():
                data = to_data(event)
                names = ("step", "action", "disabled")
                self._current()["reflection"] = {name: data[name] for name in names}
            case Remark():
                self._current()["other"].append(to_data(event))

    def _call(self, call: Called) -> dict[str, Any]:
        """Return a call; one of a conversation with the messages that are new in it."""
        completion = call.completion
        data: dict[str, Any] = {"purpose": call.purpose, "completion": to_data(completion)}
        if (sections := completion.sections) not in ([], [("text", completion.text)]):
            data["sections"] = sections
        if not call.messages:
            return {**data, "prompt": call.prompt}
        new = call.new_since(self._before)
        data["messages"] = [{"role": message.role, "text": str(message)} for message in new]
        data["earlier"] = len(call.messages) - len(new)
        if call.tools != (self._before.tools if self._before else ()):
            data["tools"] = list(call.tools)
        self._before = call
        return data

    def _add_action(self, acted: Acted) -> None:
        action, transition = acted.action, acted.transition
        elements = self._observation.elements if self._observation else ()
        target = next((e for e in elements if e.id == getattr(action, "element", None)), None)
        texts = (target.text, target.placeholder, target.value) if target else ()
        self._current()["action"] = {
            "text": str(action),
            "typed": getattr(action, "text", None) or "",
            # Text that a mark on the element would cover.
            "labelled": any(text and isinstance(text, str) for text in texts),
            "error": transition.error,
            "done": transition.done,
            "reward": transition.reward,
            "changed": self._observation != transition.observation,
        }
        self._step = acted.step + 1
        self._observation = None if transition.done else transition.observation
        self._current()


class SentPictures:
    """Pictures that were sent to a model and have a file in one of the folders; `shown` by name."""

    def __init__(self, folders: Sequence[Path]) -> None:
        paths = [path for folder in reversed(folders) for path in folder.glob("*.png")]
        self._files = {path.name: path for path in paths}
        self.shown: dict[str, Path] = {}

    def of(self, outcome: Outcome) -> dict[str, Any]:
        """Return the pictures of an item's calls, and what changed in those of a drifted one."""
        texts = (event.prompt for event in outcome.history if isinstance(event, Called))
        changed = outcome.drift.pictures if outcome.drift is not None else ()
        return {
            "sent": self._show(name for text in texts for name in _SENT.findall(text)),
            "changed": [
                {"what": f"picture {change.number}: {change.what}"}
                | {
                    kind: name
                    for kind in ("recorded", "present", "difference")
                    for name in self._show([PurePath(getattr(change, kind) or "").name])
                }
                for change in changed
            ],
        }

    def _show(self, names: Iterable[str]) -> list[str]:
        found = [name for name in dict.fromkeys(names) if name in self._files]
        self.shown |= {name: self._files[name] for name in found}
        return found
