"""What the terminal shows: a short status for each item, and at the end of a run drift, solved
items and the ledger of model calls.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any

import pytest

from pytest_miniwob_agent.core.errors import Cause, MiniwobError
from pytest_miniwob_agent.core.events import Ending
from pytest_miniwob_agent.core.files import display_path
from pytest_miniwob_agent.core.text import counted, percent, sanitize, sanitize_line, sanitize_lines
from pytest_miniwob_agent.core.usage import Usage
from pytest_miniwob_agent.models.prices import cost_of, money, tokens
from pytest_miniwob_agent.plugin.options import Settings, command
from pytest_miniwob_agent.tasks.catalogue import CATEGORIES, OTHER
from pytest_miniwob_agent.terminal.layout import fitting_table

NAMED = 3
"""Items that are named of a group; all with -v."""

SHOWN = 10
"""Groups whose drift is shown in full; all with -v."""

TRIALS = (1, 3, 5)
"""The numbers of trials that the table has columns for, those of the paper."""

Outcome = Mapping[str, Any]


class Summary:
    """What the run's reports add up to; lives in the controller only."""

    def __init__(self, config: pytest.Config, settings: Settings, taken: Any) -> None:
        self._config = config
        self._settings = settings
        self._taken = taken
        self._outcomes: list[Outcome] = []
        self._waiting = 0
        self._examples = 0
        self._problems: list[str] = []
        self._seconds: dict[str, float] = {}
        self._running = True

    def pytest_report_header(self) -> list[str]:
        """What became of the answer file."""
        return [] if self._taken is None else [f"miniwob answers: {self._taken}"]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what an item's report carries; the episode takes place in its setup."""
        if report.when == "setup":
            self._seconds[report.nodeid] = report.duration
        if (outcome := getattr(report, "miniwob", None)) is not None:
            self._outcomes.append(outcome)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> Generator[None, Any, Any]:
        """Say in an item's line of a verbose run what became of it, and what it took.

        The short summary at the end keeps pytest's own words, which people and tools search for.
        """
        category, letter, word = yield
        outcome = getattr(report, "miniwob", None)
        if outcome is None or not word or not self._running:
            return category, letter, word
        word, *markup = word if isinstance(word, tuple) else (word,)
        said = status(outcome)
        solved = outcome.get("episode", {}).get("solved")
        expected = {True: "PASSED", False: "FAILED", None: said}[solved]
        word = said if word == expected else f"{word} {said}"
        if "episode" in outcome:
            episode = outcome["episode"]
            seconds = report.duration + self._seconds.get(report.nodeid, 0.0)
            word += (
                f"  {counted(episode['calls'], 'call')}, {counted(episode['steps'], 'step')}, "
                f"{seconds:.1f} s"
            )
        return category, letter, (word, *markup) if markup else word

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write what waits for a completion, and what would make an example.

        What can't be written fails the run, and does not keep others from writing theirs.
        """
        self._running = False
        for write in (self._write_pending, self._write_examples):
            try:
                write()
            except (MiniwobError, OSError) as error:
                self._problems.append(str(error))
                session.exitstatus = max(session.exitstatus, pytest.ExitCode.TESTS_FAILED)

    def _write_examples(self) -> None:
        if self._settings.examples and self._outcomes:
            from pytest_miniwob_agent.agents.webwise.examples import write_pool

            self._examples = write_pool(self._settings.examples, self._outcomes)

    def _write_pending(self) -> None:
        if self._settings.record != "defer" or not self._outcomes:
            return
        from pytest_miniwob_agent.cassettes.pending import update_pending

        self._waiting = update_pending(
            self._settings.pending,
            {outcome["cassette"] for outcome in self._outcomes if "cassette" in outcome},
            [outcome["pending"] for outcome in self._outcomes if "pending" in outcome],
        )

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show what drifted, what was solved, and what the calls amount to."""
        if not self._outcomes:
            return
        self._outcomes.sort(key=lambda outcome: str(outcome["case"]))
        drifted = [outcome for outcome in self._outcomes if "drift" in outcome]
        if drifted and self._config.option.tbstyle != "no":
            self._show_drift(terminalreporter, drifted)
        if terminalreporter.verbosity >= 0:
            terminalreporter.section("MiniWoB++ episodes")
            self._show_episodes(terminalreporter)
            self._show_ledger(terminalreporter)
            if self._settings.examples and not self._problems:
                file = display_path(self._settings.examples)
                kept = f"{counted(self._examples, 'example')}, in {file}"
                none = f"no example; nothing is written to {file}"
                terminalreporter.line(f"kept: {kept if self._examples else none}")
        for problem in self._problems:
            terminalreporter.line(sanitize_lines(problem), red=True)

    # --- Drift ---

    def _show_drift(self, terminal: pytest.TerminalReporter, drifted: Sequence[Outcome]) -> None:
        """Once for each cause: how many items, an example, and what recording them again takes."""
        verbose = terminal.verbosity > 0
        groups: dict[str, dict[tuple[str, ...], list[Outcome]]] = {}
        for outcome in drifted:
            changes = tuple(outcome["drift"]["changes"])
            groups.setdefault(_cause(outcome), {}).setdefault(changes, []).append(outcome)
        terminal.section("MiniWoB++ drift", red=True)
        terminal.line(f"{counted(len(drifted), 'item')} no longer fit the recorded model calls:")
        for cause, alike in groups.items():
            cases = sorted(outcome["case"] for same in alike.values() for outcome in same)
            terminal.line(sanitize(f"{len(cases):>6}  {cause}"), bold=True)
            named = cases if verbose else cases[:NAMED]
            for case in named:
                terminal.line(f"        {case}")
            if len(cases) > len(named):
                terminal.line(f"        and {len(cases) - len(named)} more (all with -v)")
        examples = [
            (cause, same) for cause, alike in groups.items()
            for same in (list(alike.values()) if verbose else [max(alike.values(), key=len)])
        ]  # fmt: skip
        for cause, same in examples if verbose else examples[:SHOWN]:
            terminal.line("")
            terminal.line(sanitize(f"--- {same[0]['case']}: {cause} ---"), bold=True)
            for line in sanitize_lines(same[0]["drift"]["report"]).splitlines():
                sign = line[:2]
                terminal.line(line, red=sign == "- ", green=sign == "+ ")
        terminal.line("")
        terminal.line(self._takes(drifted))
        terminal.line(command(self._config))

    def _takes(self, drifted: Sequence[Outcome]) -> str:
        """What recording again will take, if it goes as it went before."""
        lacking = [
            outcome
            for outcome in drifted
            if any(cause["kind"] != "rest" for cause in outcome["drift"]["causes"])
        ]
        usage = _total(outcome["left"] for outcome in lacking)
        if not lacking:
            return "Recording them again takes no model call, and drops those that are left over:"
        if not usage.calls:
            return f"Recording them again takes at least {counted(len(lacking), 'model call')}:"
        how = ""
        if usage.uncounted:
            how = f" (reckoned from lengths for {usage.uncounted} that hold no counts)"
        cost = cost_of(Usage(usage.calls, usage.prompt, usage.completion), self._settings.price)
        dear = "" if cost is None else f", {money(cost)}"
        calls = counted(usage.calls, "model call")
        return (
            f"By the old cassettes, recording them again takes about {calls} and "
            f"{usage.tokens:,} tokens{how}{dear}:"
        )

    # --- Episodes ---

    def _show_episodes(self, terminal: pytest.TerminalReporter) -> None:
        """A table by category for each agent and model: what was solved in how many trials."""
        runs: dict[tuple[str, str], list[Outcome]] = {}
        for outcome in self._outcomes:
            if "episode" in outcome:
                episode = outcome["episode"]
                runs.setdefault((episode["agent"], episode["model"]), []).append(outcome)
        for (agent, model), outcomes in sorted(runs.items()):
            head = ("category", "solved", *(f"T={t}" for t in TRIALS), "calls", "steps", "tokens")
            groups = {
                category: [each for each in outcomes if each["category"] == category]
                for category in [*CATEGORIES, OTHER]
            }
            groups = {category: group for category, group in groups.items() if group}
            if len(groups) > 1:
                groups["all"] = outcomes
            if len(runs) > 1:
                terminal.line(sanitize_line(f"{agent} with {model}"), bold=True)
            rows = [head, *(_row(name, group) for name, group in groups.items())]
            lines = fitting_table(rows, terminal._tw.fullwidth, 2 + len(TRIALS))
            terminal.line(lines[0], bold=True)
            for line, group in zip(lines[1:], groups.values(), strict=True):
                every = all(outcome["episode"]["solved"] for outcome in group)
                terminal.line(line, green=every, yellow=not every)

    # --- Ledger ---

    def _show_ledger(self, terminal: pytest.TerminalReporter) -> None:
        """Calls, tokens and money of the run."""
        recorded, replayed, left = (
            _total(outcome[kind] for outcome in self._outcomes if kind in outcome)
            for kind in ("recorded", "replayed", "left")
        )
        drifted = sum("drift" in outcome for outcome in self._outcomes)
        parts = [f"{replayed.calls} replayed", f"{recorded.calls} recorded"]
        if self._settings.record == "defer":
            parts.append(f"{self._waiting} waiting")
        if drifted:
            parts.append(f"{drifted} drifted")
        if left.calls:
            parts.append(f"{left.calls} left over")
        terminal.line("model calls: " + ", ".join(parts))
        if recorded.calls or replayed.calls:
            price = self._settings.price
            terminal.line(f"tokens: {tokens(recorded)} spent, {tokens(replayed)} avoided")
            if price is None:
                dear = f"unknown, as miniwob_prices has no {sanitize_line(self._settings.model)}"
            else:
                spent, saved = cost_of(recorded, price), cost_of(replayed, price)
                dear = f"{money(spent)} spent, {money(saved)} avoided"
            terminal.line(f"money: {dear}")
        stopped = sorted({outcome["budget"] for outcome in self._outcomes if "budget" in outcome})
        for reason in stopped:
            count = sum(outcome.get("budget") == reason for outcome in self._outcomes)
            terminal.line(f"budget: {reason}, {counted(count, 'item')} skipped; run again to go on")
        if self._waiting:
            pending = display_path(self._settings.pending)
            terminal.line(f"requests that wait for a completion: {self._waiting}, in {pending};")
            terminal.line("have them answered and run again with --miniwob-answers=FILE")


def status(outcome: Outcome) -> str:
    """What became of an item in a word: `solved@2`, an ending such as `NO_CHANGE`, `drift`."""
    if (episode := outcome.get("episode")) is not None:
        if episode["solved"]:
            return f"solved@{episode['solved_at']}"
        return Ending(episode["endings"][-1]).name if episode["endings"] else "no trial"
    from pytest_miniwob_agent.results.file import outcome_of

    word = outcome_of(outcome)
    if word == "error":
        return sanitize_line(outcome.get("error", "no episode"))
    return "drift" if word == "drifted" else word


def _row(name: str, outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    """A row of the table; each rate is of the items that were allowed so many trials."""
    episodes = [outcome["episode"] for outcome in outcomes]
    rates = []
    for trials in TRIALS:
        could = [each["episode"] for each in outcomes if each["trials"] >= trials]
        solved = sum(each["solved"] and each["solved_at"] <= trials for each in could)
        rates.append(percent(solved / len(could)) if could else "-")
    spent = [episode["tokens"] for episode in episodes]
    return (
        name,
        f"{sum(episode['solved'] for episode in episodes)}/{len(episodes)}",
        *rates,
        f"{sum(episode['calls'] for episode in episodes):,}",
        f"{sum(episode['steps'] for episode in episodes):,}",
        "-" if None in spent else f"{sum(spent):,}",
    )


def _cause(outcome: Outcome) -> str:
    from pytest_miniwob_agent.cassettes.drift import heading

    return ", and ".join(heading(Cause(**cause)) for cause in outcome["drift"]["causes"])


def _total(usages: Any) -> Usage:
    return sum((Usage(**usage) for usage in usages), Usage())
