"""Graders that ask a model, as "LLM as a judge" does (Zheng et al., 2023, section 3).

Their calls are on the item's tape with the purpose `judge`, apart from the agent's: with a model of
their own, beyond the agent's limits, and in none of its counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_miniwob_agent.agents.prompts import Prompts
from pytest_miniwob_agent.core.actions import Answer
from pytest_miniwob_agent.core.data import canonical_json, digest
from pytest_miniwob_agent.core.errors import MiniwobError, UsageError
from pytest_miniwob_agent.core.events import Acted, Episode, Origin, TrialStarted
from pytest_miniwob_agent.core.grades import Grade
from pytest_miniwob_agent.core.observations import Observation, Shot
from pytest_miniwob_agent.core.protocols import Observer
from pytest_miniwob_agent.core.text import nearest, sanitize_line, shorten
from pytest_miniwob_agent.plugins.graders.grader import Grader
from pytest_miniwob_agent.plugins.graders.trajectory import describe_actions
from pytest_miniwob_agent.screen import render

if TYPE_CHECKING:
    from pytest_miniwob_agent.cassettes.recording import RecordedModel

FOLDER = Path(__file__).with_name("prompts")

SEES = {
    "screen": "What the browser showed last:",
    "screens": "What the browser showed, before each action:",
    "picture": "What the browser showed last is in picture 1.",
}
"""What a judge can see of the page, by the values of `sees`."""

UNCHECKED = "compared with no labels of people"

REPLIES = 2
"""Replies of which one must have a verdict."""

_VERDICT = re.compile(r"\W*VERDICT\W+(YES|NO)\W*", re.I)


class JudgeError(MiniwobError):
    """No reply of a judge has a verdict."""


OpenModel = Callable[[str | None], AbstractContextManager["RecordedModel"]]
"""Opens a model for a judge, by its id or, with None, by the options."""


@dataclass(frozen=True, slots=True)
class Judge(Grader):
    """A grader that asks a model; see `judged`."""

    question: str = ""
    model: str | None = None
    sees: str = "screen"
    labels: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)

    def judge(self, episode: Episode, picture: Shot | None, open_model: OpenModel) -> Grade:
        """Ask the model.

        Raises:
            JudgeError: neither its first nor its second reply has a verdict.
            MiniwobError: it can't be asked.
        """
        from pytest_miniwob_agent.models.requests import chat_request, read_completion

        if self.sees == "picture" and picture is None:
            raise UsageError(f'{self.name}: this page has no pictures: give sees="screen"')
        prompts, evidence = Prompts(FOLDER), self._read(episode)
        prompt = prompts.fill(
            "judge", question=self.question.strip(), title=SEES[self.sees], **evidence
        )
        if self.sees == "picture" and picture is not None:
            prompt.pictures = (picture.png,)
        files = {**prompt.files, "the question": digest(self.question)}
        origin = Origin("judge", 0, 0, files, "", digest(canonical_json(evidence)))
        messages: list[dict[str, Any]] = [{"role": "user", "content": prompt.content}]
        with open_model(self.model) as llm:
            for _ in range(REPLIES):
                request = chat_request(llm.model, messages, self.params)
                said = read_completion(llm.post(request, origin), text_only=True).text
                *reason, last = said.strip().splitlines() or [""]
                if verdict := _VERDICT.fullmatch(last):
                    score = float(verdict[1].upper() == "YES")
                    checked = f"labels of people in {self.labels}" if self.labels else UNCHECKED
                    judge = f"{llm.model}, {checked}"
                    return Grade(score, sanitize_line(" ".join(reason)), self.name, judge)
                messages += [
                    {"role": "assistant", "content": said},
                    {"role": "user", "content": str(prompts.fill("again"))},
                ]
        raise JudgeError(f"{self.name}: the reply of {llm.model} has no verdict: {shorten(said)}")

    def _read(self, episode: Episode) -> dict[str, str]:
        answers = [each.action.text for each in _acted(episode) if isinstance(each.action, Answer)]
        return {
            "goal": quoted(_goal(episode)),
            "actions": quoted("\n".join(describe_actions(episode))),
            "answer": quoted(answers[-1] if answers else ""),
            "screens": "" if self.sees == "picture" else self._screens(episode),
        }

    def _screens(self, episode: Episode) -> str:
        screens = [render(seen.elements) for seen in _observations(episode) if seen.elements]
        shown = screens if self.sees == "screens" else screens[-1:]
        return "\n\n".join(map(quoted, shown)) or quoted("")


def judged(
    question: str,
    *,
    name: str = "judged",
    model: str | None = None,
    sees: str = "screen",
    labels: str = "",
    **params: Any,
) -> Judge:
    """Make a grader that asks a model whether something is so.

    Args:
        question: a statement or a question, in plain words: what must be so for it to pass.
        name: the grader's name in results, gates and reports.
        model: the model's id; by default that of `--miniwob-judge-model`.
        sees: what it sees beside the goal, the actions and the answer: the last `screen`, all
            `screens`, or a `picture` of the last one.
        labels: a file with labels of people that it was compared with (`miniwob-agent judges`), of
            which the report tells; relative to pytest's root directory.
        params: parameters of the call, such as `temperature`.

    Raises:
        UsageError: there is no question, or no such thing to be seen.
    """
    if not isinstance(question, str) or not question.strip():
        raise UsageError(f"judged needs a question, a string, not {question!r}")
    if sees not in SEES:
        raise UsageError(
            f"judged sees {', '.join(SEES)}, not {sees!r}{nearest(str(sees), list(SEES))}"
        )
    return Judge(name, _not_alone, question, model, sees, labels, params)


def _not_alone(episode: Episode) -> bool:
    raise UsageError("a judge grades in a run: it needs the item's model calls")


def quoted(text: str) -> str:
    """Mark each line of a string as evidence, so that no text can leave its part of the prompt."""
    return "\n".join(f"> {line}" for line in text.splitlines() or ["(nothing)"])


class LastPicture(Observer):
    """Keeps the last picture of an episode."""

    wants_pictures = True

    def __init__(self) -> None:
        self.shot: Shot | None = None

    def before_episode(self, case: Any) -> None:
        self.shot = None

    def on_picture(self, shot: Shot, trial: int, step: int, action: Any) -> None:
        self.shot = shot


def _acted(episode: Episode) -> Iterable[Acted]:
    return (event for event in episode.events if isinstance(event, Acted))


def _observations(episode: Episode) -> Iterator[Observation]:
    for event in episode.events:
        if isinstance(event, TrialStarted):
            yield event.observation
        elif isinstance(event, Acted):
            yield event.transition.observation


def _goal(episode: Episode) -> str:
    return next((seen.goal for seen in _observations(episode)), "")
