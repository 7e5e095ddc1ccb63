"""What a run prints: a letter or word for each item, a line of figures, and the summary.

docs/output.md lists the letters. The line of figures shows calls, tokens, money and the time left
while a run records. It is shown only on a terminal that can redraw it; elsewhere the summary has
the figures: drift, errors, episodes, and the ledger of model calls.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_miniwob_agent.cassettes.folder import ASIDE, other_models
from pytest_miniwob_agent.core.chat import Usage
from pytest_miniwob_agent.core.outcome import Change, DriftDetails, Outcome, Result, Status
from pytest_miniwob_agent.core.text import (
    command_lines,
    counted,
    first_items,
    fitting_table,
    listed,
    percent,
    sanitize,
    sanitize_line,
    sanitize_lines,
    wrap,
)
from pytest_miniwob_agent.models.budget import Price, money, tokens, total_cost
from pytest_miniwob_agent.tasks.catalogue import CATEGORIES, OTHER

TestStatus = tuple[str, str, Any]
"""Category, letter and word, as of the hook `pytest_report_teststatus`."""


def report_status(result: str, outcome: Outcome) -> TestStatus | None:
    """Return the status of a report with this outcome, None if pytest's own will do.

    `result` is pytest's own outcome of it: `passed`, `failed` or `skipped`.
    """
    match result:
        case "failed" if outcome.status is Status.DRIFTED:
            return "drifted", "D", ("drift", {"red": True})
        case "failed" if outcome.change is Change.REGRESSED:
            return "failed", "F", ("REGRESSED", {"red": True})
        case "skipped" if outcome.change is Change.REGRESSED:
            return "regressed", "L", ("REGRESSED", {"yellow": True})
        case "skipped" if outcome.status is Status.WAITING:
            return "waiting", "w", ("waiting", {"yellow": True})
        case "skipped" if outcome.status is Status.BUDGET:
            return "budget", "b", ("budget", {"yellow": True})
        case "passed" if outcome.change is Change.PROGRESSED:
            return "progressed", "P", ("PROGRESSED", {"green": True})
    return None


def verbose_status(
    status: TestStatus, report: pytest.TestReport, setup_seconds: float
) -> TestStatus:
    """Add the item's outcome, calls, steps and seconds to the word of a verbose run."""
    category, letter, word = status
    outcome: Outcome | None = getattr(report, "miniwob", None)
    if outcome is None or not word:
        return status
    word, *markup = word if isinstance(word, tuple) else (word,)
    shown = outcome_word(outcome)
    expected = {Status.SOLVED: "PASSED", Status.UNSOLVED: "FAILED"}.get(outcome.status, shown)
    word = shown if word == expected else f"{word} {shown}"
    if (episode := outcome.episode) is not None:
        word += (
            f"  {counted(episode.calls, 'call')}, {counted(episode.steps, 'step')}, "
            f"{report.duration + setup_seconds:.1f} s"
        )
    return category, letter, (word, *markup) if markup else word


def outcome_word(outcome: Outcome) -> str:
    """Return an outcome in a word: `solved@2`, an ending such as `NO_CHANGE`, `drift`."""
    if (episode := outcome.episode) is not None:
        if outcome.result.assertion:
            return "assertion"
        if failed := episode.failed_grades:
            return sanitize_line(failed[0].grader)
        if episode.solved:
            return f"solved@{episode.solved_at}"
        return episode.endings[-1].name if episode.endings else "no trial"
    if outcome.status is Status.ERROR:
        return sanitize_line(outcome.error or "no episode")
    return "drift" if outcome.status is Status.DRIFTED else str(outcome.status)


_CLEAR = "\x1b[J"  # erases everything after the cursor
# Makes room below the cursor by moving down and up, which scrolls and keeps the column; saves the
# position, and goes to the beginning of the next line.
_BELOW = "\x1bD\x1bM\x1b7\x1b[B\r"
_BACK = "\x1b8"  # restores the position


class Progress:
    """Shows the totals of the items that have ended; a plugin of the controller.

    The line is drawn after each of pytest's steps and erased before the next one, so that it never
    mixes with other output.
    """

    def __init__(self, session: pytest.Session, find_price: Callable[[str], Price | None]) -> None:
        self._session = session
        self._config = session.config
        self._find_price = find_price
        self._done = 0
        self._recorded = 0
        self._spent = Usage()
        self._parts: list[tuple[Usage, Price | None]] = []
        self._terminal = self._redrawable()
        self._begun = time.monotonic()

    def _redrawable(self) -> Any:
        config = self._config
        terminal: Any = config.pluginmanager.get_plugin("terminalreporter")
        logged = config.getoption("log_cli_level", None) or (
            config.pluginmanager.has_plugin("logging-plugin") and config.getini("log_cli")
        )
        captured = config.getoption("capture", "no") != "no"
        # Lines of a log and output of tests come at any time, without a hook around them.
        if terminal is None or terminal.verbosity < 0 or logged or not captured:
            return None
        return (
            terminal if terminal.isatty and os.environ.get("TERM") not in (None, "dumb") else None
        )

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def _redraw(self) -> Generator[None, None, None]:
        self._write(_CLEAR)
        yield
        if self._terminal is not None:
            writer = self._config.get_terminal_writer()
            column = writer.width_of_current_line
            if not column or column % writer.fullwidth:  # past the last one it can't be saved
                line = self._line()[: writer.fullwidth - 1]
                self._write(f"{_BELOW}{line}{_BACK}")

    pytest_runtest_logstart = pytest_runtest_logfinish = _redraw

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Generator[None, None, None]:
        if (outcome := getattr(report, "miniwob", None)) is not None:
            for model, _, spent in outcome.usage_by_model:
                self._spent += spent
                self._parts.append((spent, self._find_price(model)))
            self._recorded += outcome.recorded.calls
            self._recorded += sum(one.recorded.calls for one in outcome.graders)
        # Items that are skipped or fail in their set-up have a teardown, too.
        self._done += report.when == "teardown"
        yield from self._redraw()

    @pytest.hookimpl(tryfirst=True, optionalhook=True)
    def _erase(self) -> None:
        self._write(_CLEAR)

    pytest_testnodedown = pytest_enter_pdb = pytest_internalerror = _erase

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        self._write(_CLEAR)
        self._terminal = None

    def _write(self, text: str) -> None:
        if self._terminal is not None:
            self._terminal.write_raw(text, flush=True)

    def _line(self) -> str:
        total = self._session.testscollected
        calls = f"{counted(self._recorded, 'call')} recorded"
        parts = [f"{self._done}/{total} items", calls, f"{tokens(self._spent)} tokens"]
        if (cost := total_cost(self._parts)) is not None:
            parts.append(money(cost))
        if 0 < self._done < total:
            spent = time.monotonic() - self._begun
            parts.append(f"about {_duration(spent / self._done * (total - self._done))} left")
        return ", ".join(parts)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"


FindPrice = Callable[[str], Price | None]
"""Returns the price of a model, if it is known."""

NAMED = 3  # items that are named of a group; all with -v
SHOWN = 10  # groups whose drift is shown in full; all with -v
COLUMNS = (1, 3, 5)  # of the table, by the number of trials, as in the paper


def show_drift(
    terminal: pytest.TerminalReporter,
    outcomes: Iterable[Outcome],
    *,
    find_price: FindPrice,
    command: str,
) -> None:
    """Show drift once per cause: the items, an example, and what recording again takes.

    With -v all items are named, and there is an example of each kind of change. `command` records
    the items again.
    """
    from pytest_miniwob_agent.cassettes.drift import heading

    drifted = [(outcome, outcome.drift) for outcome in outcomes if outcome.drift is not None]
    if not drifted:
        return
    verbose = terminal.verbosity > 0
    causes: dict[str, list[tuple[Outcome, DriftDetails]]] = {}
    for outcome, drift in drifted:
        causes.setdefault(heading(drift.causes), []).append((outcome, drift))
    terminal.section("MiniWoB++ drift", red=True)
    fit = "fits" if len(drifted) == 1 else "fit"
    terminal.line(f"{counted(len(drifted), 'item')} no longer {fit} the recorded model calls:")
    for cause, items in causes.items():
        terminal.line(sanitize(f"{len(items):>6}  {cause}"), bold=True)
        _show_names(terminal, [outcome for outcome, _ in items])
    for cause, items in list(causes.items())[: None if verbose else SHOWN]:
        kinds = Counter(drift.changes for _, drift in items)
        for changes, _ in kinds.most_common(None if verbose else 1):
            outcome, drift = next(pair for pair in items if pair[1].changes == changes)
            terminal.line("")
            terminal.line(sanitize(f"--- {outcome.case}: {cause} ---"), bold=True)
            for line in sanitize_lines(drift.report).splitlines():
                terminal.line(line, red=line.startswith("- "), green=line.startswith("+ "))
    terminal.line("")
    effort = _effort([outcome for outcome, _ in drifted], find_price)
    width = terminal.config.get_terminal_writer().fullwidth
    for line in [*wrap(effort, width), *command_lines(command, width)]:
        terminal.line(line)


def _effort(drifted: Sequence[Outcome], find_price: FindPrice) -> str:
    lacking = [
        outcome
        for outcome in drifted
        if outcome.drift and any(cause.kind != "rest" for cause in outcome.drift.causes)
    ]
    usage = sum((outcome.left for outcome in lacking), Usage())
    if not lacking:
        return "Recording them again takes no model call, and puts aside the unused ones:"
    if not usage.calls:
        return f"Recording them again takes at least {counted(len(lacking), 'model call')}:"
    effort = f"{counted(usage.calls, 'call')} and {usage.tokens:,} tokens"
    if usage.uncounted:
        effort += f" (estimated from lengths for {usage.uncounted} that hold no counts)"
    estimated = (
        (replace(outcome.left, uncounted=0), find_price(outcome.result.model))
        for outcome in lacking
    )
    if (cost := total_cost(estimated)) is not None:
        effort += f", {money(cost)}"
    return f"By the old cassettes, recording again takes about {effort}:"


def show_missing(
    terminal: pytest.TerminalReporter, missing: Sequence[Outcome], *, cassettes: Path, command: str
) -> None:
    """Show once which items have no cassette, and the models that their agents are recorded with.

    `command` records them.
    """
    groups: dict[tuple[str, str], list[Outcome]] = {}
    for outcome in missing:
        groups.setdefault((outcome.result.agent, outcome.result.model), []).append(outcome)
    terminal.section("MiniWoB++ missing cassettes", red=True)
    have = "has" if len(missing) == 1 else "have"
    terminal.line(f"{counted(len(missing), 'item')} {have} no cassette:")
    width = terminal.config.get_terminal_writer().fullwidth
    for (agent, model), items in sorted(groups.items()):
        others = other_models(cassettes, items[0].cassette)
        known = f"; recorded with {listed(others)} (--miniwob-model)" if others else ""
        for line in wrap(f"{len(items)}  {agent} with {model}{known}", width, 4):
            terminal.line(line, bold=True)
        _show_names(terminal, items)
    for line in ["Record them with:", *command_lines(command, width)]:
        terminal.line(line)


def _show_names(terminal: pytest.TerminalReporter, items: Iterable[Outcome]) -> None:
    names = sorted(outcome.case.id for outcome in items)
    for name in first_items(names, None if terminal.verbosity > 0 else NAMED, "all with -v"):
        terminal.line(f"        {name}")


def show_errors(terminal: pytest.TerminalReporter, outcomes: Iterable[Outcome]) -> None:
    """Show each error that several items share once, with their names."""
    groups: dict[tuple[str, str], list[Outcome]] = {}
    for outcome in outcomes:
        if outcome.status is Status.ERROR and outcome.message:
            groups.setdefault((outcome.error, outcome.message_of_cause), []).append(outcome)
    shared = [group for group in groups.values() if len(group) > 1]
    if shared:
        terminal.section("MiniWoB++ errors", red=True)
    for group in shared:
        terminal.line(sanitize_lines(group[0].message), red=True)
        terminal.line(f"{counted(len(group), 'item')} with this error:")
        _show_names(terminal, group)


def show_episodes(terminal: pytest.TerminalReporter, outcomes: Iterable[Outcome]) -> None:
    """Show a table by category for each agent and model: what was solved in how many trials."""
    runs: dict[tuple[str, str], list[Result]] = {}
    for result in (outcome.result for outcome in outcomes):
        if result.conclusive:
            runs.setdefault((result.agent, result.model), []).append(result)
    for (agent, model), of_run in sorted(runs.items()):
        own = sorted({result.category for result in of_run})
        groups = {
            category: group
            for category in dict.fromkeys([*CATEGORIES, OTHER, *own])  # the paper's come first
            if (group := [result for result in of_run if result.category == category])
        }
        if len(groups) > 1:
            groups["all"] = of_run
        if len(runs) > 1:
            terminal.line(sanitize_line(f"{agent} with {model}"), bold=True)
        most = max(map(_allowed_trials, of_run))
        columns = [trials for trials in COLUMNS if trials <= most]
        head = ("category", "solved", *(f"T={t}" for t in columns), "calls", "steps", "tokens")
        rows = [head, *(_row(name, group, columns) for name, group in groups.items())]
        width = terminal.config.get_terminal_writer().fullwidth
        lines = fitting_table(rows, width, 2 + len(columns))
        terminal.line(lines[0], bold=True)
        for line, group in zip(lines[1:], groups.values(), strict=True):
            all_solved = all(result.solved for result in group)
            terminal.line(line, green=all_solved, yellow=not all_solved)
    if runs:
        terminal.line("T=n: percent of the items solved in at most n trials")


def _allowed_trials(result: Result) -> int:
    return result.limits.trials if result.limits else 0


def _row(name: str, results: Sequence[Result], columns: Sequence[int]) -> tuple[str, ...]:
    rates = []
    for trials in columns:
        # An item with fewer trials says nothing about this rate.
        allowed = [result.solved_at for result in results if _allowed_trials(result) >= trials]
        solved = sum(at is not None and at <= trials for at in allowed)
        rates.append(percent(solved / len(allowed)) if allowed else "-")
    usage = sum((result.usage for result in results), Usage())
    return (
        name,
        f"{sum(result.solved for result in results)}/{len(results)}",
        *rates,
        f"{usage.calls:,}",
        f"{sum(result.steps for result in results):,}",
        "-" if usage.uncounted else f"{usage.tokens:,}",
    )


def show_ledger(
    terminal: pytest.TerminalReporter,
    outcomes: Sequence[Outcome],
    *,
    model: str | None,
    find_price: FindPrice,
    waiting: int | None,
    pending: Path,
    again: str,
    kept: Usage | None = None,
) -> None:
    """Show calls, tokens and money of the run.

    `waiting` is the number of requests in the batch file `pending` that wait for a completion, None
    if nothing is deferred; the folder `unused` beside it has unused calls. `again` is what
    continues a recording that was stopped (`Record.again`). `kept` are the
    completions that the run recorded, of items that broke off too, by `model` if there are no
    others; None if it recorded nothing.
    """
    of_graders = [one for outcome in outcomes for one in outcome.graders]
    recorded = sum((one.recorded for one in outcomes), Usage())
    recorded = sum((one.recorded for one in of_graders), recorded)
    broken_off = kept - recorded if kept and kept.calls > recorded.calls else Usage()
    recorded += broken_off
    used = [usages for outcome in outcomes for usages in outcome.usage_by_model]
    spent = sum((usage for _, _, usage in used), broken_off)
    replayed = sum((usage for _, usage, _ in used), Usage())
    # A live app that shows something else takes no call from the tape.
    left = sum((one.left for one in outcomes if not one.result.app), Usage())
    counts = {
        "unusable": spent.calls - recorded.calls,
        "waiting": waiting,
        "drifted": sum(outcome.status is Status.DRIFTED for outcome in outcomes),
        "left over": left.calls,
    }
    shared = sum(outcome.shared.calls for outcome in outcomes)
    parts = [f"{replayed.calls} replayed" + (f" ({shared} shared)" if shared else "")]
    parts += [f"{recorded.calls} recorded"]
    parts += [f"{count} {what}" for what, count in counts.items() if count]
    if live := sum(bool(outcome.result.app) for outcome in outcomes):
        terminal.line(
            f"apps: {counted(live, 'item')} on the app as it is now, with recorded answers"
        )
    if played := sum(outcome.app_replayed for outcome in outcomes):
        items = counted(played, "item")
        terminal.line(f"apps: {items} replayed; the app was not started, as by --miniwob-app=live")
    graders = sum(one.replayed.calls + one.recorded.calls for one in of_graders)
    parts += [f"of these {graders} by graders"] if graders else []
    terminal.line("model calls: " + ", ".join(parts))
    if left.calls:
        unused = pending.with_name(ASIDE)
        terminal.line(f"left over: no longer made; a recording moves them to {unused}")
    if broken_off.calls:
        count = counted(broken_off.calls, "call")
        terminal.line(f"{count} of interrupted items: kept; {again} to continue there")
    unusable = Counter[str]()
    for outcome in outcomes:
        unusable.update({reason: usage.calls for reason, usage in outcome.unusable.items()})
    if unusable:
        reasons = ", ".join(f"{count} {reason}" for reason, count in unusable.most_common())
        terminal.line(sanitize_line(f"unusable answers, paid for and not recorded: {reasons}"))
    if spent.calls or replayed.uncounted < replayed.calls:
        terminal.line(f"tokens: {tokens(spent)} spent, {tokens(replayed)} avoided")
        if line := _money(used, model, find_price, broken_off):
            terminal.line(sanitize_line(line))
    skipped = [outcome.message for outcome in outcomes if outcome.status is Status.BUDGET]
    for reason in sorted(set(skipped)):
        items = counted(skipped.count(reason), "item")
        terminal.line(f"budget: {reason}, {items} skipped; {again} to continue")
    if waiting:
        terminal.line(f"requests that wait for a completion: {waiting}, in {pending};")
        terminal.line("get answers, for example with miniwob-agent batch submit, and run again")
        terminal.line("with --miniwob-answers=FILE")


def _money(
    used: Sequence[tuple[str, Usage, Usage]],
    model: str | None,
    find_price: FindPrice,
    broken_off: Usage,
) -> str:
    # Which of several models an item that broke off has asked is not known.
    asked = {name for name, one, other in used if one.calls or other.calls or broken_off.calls}
    models = sorted(asked) or [model or ""]
    spent = [(usage, find_price(name)) for name, _, usage in used]
    spent.append((broken_off, find_price(models[0]) if len(models) == 1 else None))
    avoided = [(usage, find_price(name)) for name, usage, _ in used]
    if unpriced := [name for name in models if find_price(name) is None]:
        lacking = f"money: unknown, as miniwob_prices has no {', '.join(unpriced)}"
        return lacking if any(usage.calls for usage, _ in spent) else ""
    return f"money: {money(total_cost(spent))} spent, {money(total_cost(avoided))} avoided"
