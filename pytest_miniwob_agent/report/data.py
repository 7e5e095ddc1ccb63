"""Data of the report: outcomes as its pages need them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
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
from pytest_miniwob_agent.core.outcome import Outcome, Picture, Status
from pytest_miniwob_agent.screen import render


def named(outcomes: Iterable[Outcome]) -> Iterator[tuple[str, Outcome]]:
    """Yield outcomes by their id in the report; a second one of a case gets a number."""
    seen: Counter[str] = Counter()
    for outcome in outcomes:
        case = outcome.case.id
        seen[case] += 1
        yield case if seen[case] == 1 else f"{case}~{seen[case]}", outcome


def setup(outcomes: Iterable[Outcome]) -> list[str]:
    """Return the agents and the models that the items ran with."""
    pairs = [(outcome.agent, outcome.model) for outcome in outcomes]
    return [", ".join(sorted(set(names))) for names in zip(*pairs, strict=True)]


def row(id_: str, outcome: Outcome) -> dict[str, Any]:
    """Return an item as the overview lists it."""
    events = outcome.history
    completions = [event.completion for event in events if isinstance(event, Called)]
    trials = [event for event in events if isinstance(event, TrialStarted)]
    endings = [event.ending for event in events if isinstance(event, TrialEnded)]
    counts = [
        count
        for completion in completions
        for count in (completion.prompt_tokens, completion.completion_tokens)
    ]
    known = [count for count in counts if count is not None]
    return {
        "id": id_,
        "category": outcome.case.category,
        "task": outcome.case.task,
        "seed": id_.rpartition("/")[2],
        "status": outcome.status,
        "change": outcome.change or "",
        "solvedAt": outcome.episode.solved_at if outcome.episode is not None else None,
        "trials": len(trials),
        "allowed": outcome.trials,
        "steps": sum(isinstance(event, Acted) for event in events),
        "calls": len(completions),
        "tokens": sum(known) if known and len(known) == len(counts) else None,
        "ending": endings[-1] if endings else "",
        "goal": trials[0].observation.goal if trials else "",
    }


def item(outcome: Outcome) -> dict[str, Any]:
    """Return what the item's page shows beyond the overview's line."""
    prompts = ", ".join(f"{name} {digest}" for name, digest in sorted(outcome.prompts.items()))
    waits = "It waits for a completion." if outcome.status is Status.WAITING else ""
    return {
        "about": [
            ["agent", outcome.agent],
            ["model", outcome.model],
            ["parameters", canonical_json(outcome.params)],
            ["cassette", f"{outcome.cassette}.yaml" if outcome.cassette else ""],
            ["prompts", prompts],
        ],
        "reward": outcome.episode.reward if outcome.episode is not None else None,
        "reason": outcome.message or waits,
        "note": outcome.pictures_note,
        **_Film(outcome.pictures).show(outcome.history),
    }


class _Film:
    """The trials as frames of a film: what led to an action, and the action with its result.

    A trial's last frame has no action, but how it ended and what was learnt from it. Screens, which
    often stay as they were, are stored once.
    """

    def __init__(self, pictures: Iterable[Picture]) -> None:
        self._pictures = {(picture.trial, picture.step): picture for picture in pictures}
        self._frames: list[dict[str, Any]] = []
        self._screens: dict[str, int] = {}
        self._trial = 0
        self._step = 0
        self._seen: Observation | None = None

    def show(self, events: Sequence[Event]) -> dict[str, Any]:
        """Return the frames of the events, and the screens that they refer to by number."""
        for event in events:
            self._add(event)
        return {"frames": self._frames, "screens": list(self._screens)}

    def _frame(self) -> dict[str, Any]:
        """Return the frame that is being filled."""
        here = self._trial, self._step
        if not self._frames or (self._frames[-1]["trial"], self._frames[-1]["step"]) != here:
            frame: dict[str, Any] = {
                "trial": self._trial, "step": self._step, "calls": [], "other": [],
            }  # fmt: skip
            if self._seen is not None:
                screen = render(self._seen.elements)
                frame["screen"] = self._screens.setdefault(screen, len(self._screens))
            if (picture := self._pictures.get(here)) is not None:
                data = to_data(picture)
                frame["picture"] = {key: data[key] for key in ("name", "size", "points", "boxes")}
            self._frames.append(frame)
        return self._frames[-1]

    def _add(self, event: Event) -> None:
        match event:
            case TrialStarted(trial=trial, observation=observation):
                self._trial, self._step, self._seen = trial, 0, observation
                self._frame()
            case Called(purpose=purpose, prompt=prompt, completion=completion):
                self._frame()["calls"].append(
                    {"purpose": purpose, "prompt": prompt, "completion": to_data(completion)}
                )
            case Acted():
                self._add_action(event)
            case TrialEnded(ending=ending, detail=detail):
                self._frame()["end"] = {"ending": ending, "detail": detail}
            case Reflected():
                data = to_data(event)
                self._frame()["reflection"] = {
                    key: data[key] for key in ("step", "action", "disabled")
                }
            case Remark():
                self._frame()["other"].append(to_data(event))

    def _add_action(self, acted: Acted) -> None:
        after = acted.transition
        self._frame()["action"] = {
            "text": str(acted.action),
            "typed": getattr(acted.action, "text", None) or "",
            "error": after.error,
            "done": after.done,
            "reward": after.reward,
            "changed": self._seen != after.observation,
        }
        self._step = acted.step + 1
        self._seen = None if after.done else after.observation
        self._frame()
