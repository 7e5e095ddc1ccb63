"""`miniwob-agent show` and `play`: an item's whole episode, told in the terminal as it is replayed.

Both replay the item. What only stands in a cassette, `miniwob-agent cassettes show` prints.
"""

from __future__ import annotations

import os
import sys
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_miniwob_agent.cli.arguments import Commands, add_pytest_args
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.observations import Element
from pytest_miniwob_agent.core.text import (
    sanitize,
    sanitize_line,
    sanitize_lines,
    shorten,
    shorten_lines,
)

Data = Mapping[str, Any]


def add(commands: Commands) -> None:
    """Add the arguments of `show` and `play`."""
    parser = commands.add_parser(
        "show",
        help="print an item's whole episode: screens, calls, actions, reflections",
        description="Replay an item from its cassette and print its whole episode: the goal, and "
        "for each trial the screens as the model saw them, the calls, the actions and their "
        "effects, the ending, and the reflection. An item that drifts is shown up to the drift. No "
        "model is called and nothing is written. Exits with 1 if the item has no result. To print "
        "a cassette without running anything: miniwob-agent cassettes show.",
        epilog="Items are those that pytest would run here: miniwob-agent show click-tab/3 -- "
        "tests/test_mine.py --miniwob-seeds=3",
    )
    _add_item(parser)
    parser.set_defaults(run=show)
    _add_play(commands)


def _add_play(commands: Commands) -> None:
    parser = commands.add_parser(
        "play",
        help="show a recorded episode in a window, an action at a time",
        description="Replay an item in the browser's window. The terminal shows what happens as "
        "`miniwob-agent show` does. Before each action it shows the action, with the pointer "
        "already in place, and waits for Enter; q quits. No model is called and nothing is "
        "written.",
        epilog="It needs a terminal and a display. Without a display: miniwob-agent show. A whole "
        "run in a window: pytest --miniwob-headed --miniwob-slowmo=500",
    )
    _add_item(parser)
    parser.add_argument(
        "--auto",
        type=_milliseconds,
        metavar="MS",
        help="do not ask; continue after this number of milliseconds",
    )
    parser.set_defaults(run=play)


def _add_item(parser: ArgumentParser) -> None:
    parser.add_argument(
        "case",
        metavar="CASE",
        help="an item's id (n-screen-n-step/click-menu-2/1000) or its end (click-menu-2/1000); "
        "or pytest's id of it",
    )
    add_pytest_args(parser)
    parser.add_argument(
        "--full", action="store_true", help="print prompts, and completions in full"
    )


def _milliseconds(text: str) -> int:
    if not text.isdecimal():
        raise ArgumentTypeError(f"{text!r} must be a number of milliseconds")
    return int(text)


def show(options: Namespace) -> int:
    """Print an item's episode; 1 if the run could not tell what becomes of the item."""
    from pytest_miniwob_agent.plugin.replaying import replay

    told = _Told(full=options.full)
    replay(options.case, options.pytest_args, told.hear)
    return told.status


def play(options: Namespace) -> int:
    """Show an item's episode in a window, an action at a time.

    Raises:
        UsageError: there is nobody to ask, or nowhere to show it.
    """
    from pytest_miniwob_agent.plugin.replaying import replay

    if options.auto is None and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "play asks before each action, for which it needs a terminal; --auto MS goes on by "
            "itself, and `miniwob-agent show` prints all at once"
        )
    if sys.platform == "linux" and not (
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    ):
        raise UsageError(
            "play opens a window, and there is no display to open it on (DISPLAY is not set); "
            "`miniwob-agent show` needs none"
        )
    told = _Played(options.auto, full=options.full)
    window = ["--miniwob-headed", "--miniwob-slowmo=1"]
    try:
        replay(options.case, [*options.pytest_args, *window], told.hear, stepwise=True)
    except KeyboardInterrupt:
        print()
        return 130
    return told.status


class _Told:
    """Prints what happens in a replay."""

    def __init__(self, *, full: bool) -> None:
        self._full = full
        self._calls = 0
        self._screen = ""
        self.status = 1
        """0 once the item has come to a result."""

    def hear(self, kind: str, data: Any) -> bool:
        """Print what is told; whether to go on."""
        match kind:
            case "item":
                self._print([f"item: {sanitize(data)}"])
            case "again":
                self._calls = 0
                self._print(["\nThe browser was lost: the episode begins again in a new one."])
            case "event":
                self._print(self._event(data))
            case "outcome":
                self._print(self._outcome(data))
                self.status = 0 if "episode" in data else 1
        return True

    def _print(self, lines: Iterator[str] | list[str]) -> None:
        for line in lines:
            print(line, flush=True)

    def _event(self, event: Data) -> Iterator[str]:
        from pytest_miniwob_agent.report.site import action_text

        match event["kind"]:
            case "trial":
                if event["trial"] == 1:
                    yield f"goal: {sanitize_line(event['observation']['goal'])}"
                yield f"\n=== trial {event['trial']} ==="
                self._screen = ""
                yield from self._seen(event["observation"])
            case "call":
                yield from self._call(event)
            case "act":
                after = event["transition"]
                yield f"\naction {event['step']}: {sanitize_line(action_text(event['action']))}"
                if after["error"]:
                    yield f"  impossible: {self._line(after['error'])}"
                if after["done"]:
                    yield f"  the page ends the trial with reward {after['reward']:g}"
                else:
                    yield from self._seen(after["observation"])
            case "end":
                detail = f", {self._line(event['detail'])}" if event["detail"] else ""
                yield f"\ntrial {event['trial']} ends: {event['ending']}{detail}"
            case "reflect":
                yield from self._reflection(event)
            case "remark":
                yield f"\n{sanitize_line(event['what'])}:"
                yield from self._text(event["text"])
            case _:  # of an agent of one's own
                yield f"\n{sanitize_line(event)}"

    def _seen(self, observation: Data) -> Iterator[str]:
        from pytest_miniwob_agent.screen import render

        screen = render(Element(**one) for one in observation["elements"])
        if screen == self._screen:
            yield "screen: as before"
            return
        self._screen = screen
        yield "screen:"
        for line in screen.splitlines():
            yield f"  {sanitize(line)}"

    def _call(self, event: Data) -> Iterator[str]:
        self._calls += 1
        completion = event["completion"]
        counts = completion["prompt_tokens"], completion["completion_tokens"]
        tokens = "" if None in counts else f", {counts[0]:,} + {counts[1]:,} tokens"
        yield f"\ncall {self._calls}, {sanitize_line(event['purpose'])}{tokens}"
        if self._full:
            yield "  prompt:"
            yield from self._text(event["prompt"])
            yield "  completion:"
        yield from self._text(completion["text"])

    def _reflection(self, event: Data) -> Iterator[str]:
        if event["step"] is None:
            yield "reflection: could not be read"
            return
        yield f"reflection: action {event['step']} is to be {sanitize_line(event['action'])}"
        if event["disabled"]:
            ids = ", ".join(f"id={id_}" for id_ in event["disabled"])
            yield f"  not to be clicked there any more: {ids}"

    def _outcome(self, outcome: Data) -> Iterator[str]:
        item = outcome["item"]
        who = f"{item['agent']} with {item['model'] or 'no model'}"
        if (episode := outcome.get("episode")) is not None:
            solved = episode["solved_at"]
            verdict = f"solved in trial {solved}" if solved else "not solved"
            yield f"\n{verdict}, best reward {episode['reward']:g}: {sanitize_line(who)}"
        else:
            yield f"\nit goes no further: {sanitize_line(who)}"
            reason = outcome.get("message") or outcome.get("budget") or "a completion is missing"
            yield sanitize_lines(str(reason))

    def _text(self, text: str) -> Iterator[str]:
        """A text of the model's, or for it, indented; of a long one the two ends."""
        lines = text.splitlines()
        if not self._full:
            lines = shorten_lines([shorten(line) for line in lines])
        for line in lines:
            yield f"    {sanitize(line)}"

    def _line(self, text: str) -> str:
        return sanitize_line(text) if self._full else shorten(text)


class _Played(_Told):
    """The same, and asks before each action; `auto` milliseconds later it goes on by itself."""

    def __init__(self, auto: int | None, *, full: bool) -> None:
        super().__init__(full=full)
        self._auto = auto

    def hear(self, kind: str, data: Any) -> bool:
        """Print what is told, and wait before what comes next; whether to go on."""
        if kind != "next":
            return super().hear(kind, data)
        from pytest_miniwob_agent.report.site import action_text

        what = f"the {data} ends here"
        if not isinstance(data, str):
            what = f"next: {sanitize_line(action_text(data))}"
        if self._auto is not None:
            print(f"\n{what}", flush=True)
            time.sleep(self._auto / 1000)
            return True
        try:
            answer = input(f"\n{what}  [Enter goes on, q quits] ")
        except EOFError:
            answer = "q"
        if answer.strip().lower() not in ("q", "quit"):
            return True
        self.status = 0
        return False
