"""Episodes as text: whole, for `miniwob-agent show` and `play`, and in short where they failed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.events import (
    Acted,
    Called,
    Episode,
    Event,
    Reflected,
    Remark,
    TrialEnded,
    TrialStarted,
)
from pytest_miniwob_agent.core.observations import Element, Observation
from pytest_miniwob_agent.core.outcome import Outcome
from pytest_miniwob_agent.core.protocols import Observer
from pytest_miniwob_agent.core.text import (
    counted,
    listed,
    sanitize,
    sanitize_line,
    sanitize_lines,
    section_lines,
    shorten,
    shorten_lines,
)
from pytest_miniwob_agent.screen import render


class EpisodePrinter(Observer):
    """Prints an episode to standard output; if `full`, with whole completions and their prompts."""

    def __init__(self, *, full: bool) -> None:
        self.outcome: Outcome | None = None
        """The item's outcome, once the item has ended."""
        self._full = full
        self._begun = False

    def before_episode(self, case: Case) -> None:
        again = "\nThe browser was lost: the episode begins again in a new one."
        print(again if self._begun else f"item: {case}", flush=True)
        self._begun = True
        self._calls = 0
        self._screen = ""
        self._tools: tuple[str, ...] = ()
        self._before: Called | None = None  # the last call of a conversation

    def on_event(self, event: Event) -> None:
        for line in self._lines(event):
            print(line, flush=True)

    def after_item(self, outcome: Outcome) -> None:
        self.outcome = outcome
        if not self._begun:
            print(f"item: {outcome.case}")
        who = sanitize_line(f"{outcome.result.agent} with {outcome.result.model or 'no model'}")
        if (episode := outcome.episode) is not None:
            verdict = f"solved in trial {episode.solved_at}" if episode.solved else "not solved"
            verdict += f"; {shorten(why)}" if (why := outcome.result.assertion) else ""
            print(f"\n{verdict}, best reward {episode.reward:g}: {who}")
            for grade in outcome.result.grades:
                print(f"grader {shorten(grade)}")
        else:
            print(f"\nit goes no further: {who}")
            print(sanitize_lines(outcome.message or "a completion is missing"))
        if (names := outcome.answered_by) and names != [outcome.result.model]:
            print(f"answered by: {sanitize_line(listed(names))}")

    def _lines(self, event: Event) -> Iterator[str]:
        match event:
            case TrialStarted(trial=trial, observation=observation):
                if trial == 1:
                    yield f"goal: {sanitize_line(observation.goal)}"
                yield f"\n=== trial {trial} ==="
                self._screen = ""
                yield from self._screen_lines(observation)
            case Called():
                yield from self._call_lines(event)
            case Acted(step=step, action=action, transition=transition):
                yield f"\naction {step}: {sanitize_line(action)}"
                if transition.error:
                    yield f"  impossible: {self._line(transition.error)}"
                if transition.done:
                    yield f"  the page ends the trial with reward {transition.reward:g}"
                else:
                    yield from self._screen_lines(transition.observation)
            case TrialEnded(trial=trial, ending=ending, detail=detail):
                reason = f", {self._line(detail)}" if detail else ""
                yield f"\ntrial {trial} ends: {ending}{reason}"
            case Reflected(step=None):
                yield "reflection: could not be read"
            case Reflected(step=step, action=action, disabled=disabled):
                yield f"reflection: action {step} should be {sanitize_line(action)}"
                if disabled:
                    ids = ", ".join(f"id={id_}" for id_ in disabled)
                    yield f"  not to be clicked there again: {ids}"
            case Remark(what=what, text=text):
                yield f"\n{sanitize_line(what)}:"
                yield from self._text_lines(text)

    def _screen_lines(self, observation: Observation) -> Iterator[str]:
        screen = render(observation.elements)
        if screen == self._screen:
            yield "screen: as before"
            return
        self._screen = screen
        yield "screen:"
        for line in screen.splitlines():
            yield f"  {sanitize(line)}"

    def _call_lines(self, call: Called) -> Iterator[str]:
        self._calls += 1
        counts = call.completion.tokens
        tokens = f", {counts[0]:,} + {counts[1]:,} tokens" if counts else ""
        yield f"\ncall {self._calls}, {sanitize_line(call.purpose)}{tokens}"
        if call.messages and call.tools != self._tools:
            self._tools = call.tools
            yield f"  tools: {self._line(', '.join(call.tools) or 'none')}"
        if self._full:
            yield "  prompt:"
            if call.messages:
                new = call.new_since(self._before)
                if earlier := len(call.messages) - len(new):
                    yield f"    … {counted(earlier, 'earlier message')}"
                for message in new:
                    yield f"    [{sanitize_line(message.role)}]"
                    yield from self._text_lines(str(message))
            else:
                yield from self._text_lines(call.prompt)
            yield "  completion:"
        for name, text in call.completion.sections:
            for line in section_lines(name, text, full=self._full):
                yield f"    {line}"
        if call.messages:
            self._before = call

    def _text_lines(self, text: str) -> Iterator[str]:
        lines = text.splitlines()
        if not self._full:
            lines = shorten_lines([shorten(line) for line in lines])
        for line in lines:
            yield f"    {sanitize(line)}"

    def _line(self, text: str) -> str:
        return sanitize_line(text) if self._full else shorten(text)


def transcript(episode: Episode, more: Mapping[str, str]) -> str:
    """Return the episode as `explain()` has it, the last screen, and where to see more."""
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
