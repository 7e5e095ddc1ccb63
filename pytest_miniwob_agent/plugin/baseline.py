"""Results, baseline and gate of a pytest run: what became of each item is kept, and judged.

Lives in every process of the run. Under pytest-xdist the workers know which items were selected and
deselected, and tell the controller, which alone sees all outcomes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_miniwob_agent.core.errors import MiniwobError, UsageError
from pytest_miniwob_agent.core.files import display_path
from pytest_miniwob_agent.core.text import counted
from pytest_miniwob_agent.plugin.items import case_of
from pytest_miniwob_agent.plugin.options import Settings
from pytest_miniwob_agent.results.file import Result, Results, outcome_of, read_results
from pytest_miniwob_agent.terminal.layout import wrap

if TYPE_CHECKING:
    from pytest_miniwob_agent.terminal.comparison import ComparisonView

NAMED = 20
"""Items that the gate names of a list; all with -v."""

Outcome = Mapping[str, Any]


class Judgement:
    """What a run is worth, by its baseline.

    Raises:
        UsageError: the baseline or the gate makes no sense.
    """

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        from pytest_miniwob_agent.results.gate import Gate, weaknesses

        self._config = config
        self._settings = settings
        self._gate = Gate.parse(settings.gate)
        self._baseline = _baseline(settings)
        self._weak = weaknesses(self._baseline, self._gate) if self._baseline else {}
        self._outcomes: list[Outcome] = []
        self._selected: set[str] = set()
        self._deselected: set[str] = set()
        self._summary: ComparisonView | None = None
        self._problem = ""

    # --- Items ---

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Remember what was left out on purpose."""
        self._deselected |= {case.id for item in items if (case := case_of(item))}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Remember what will run."""
        self._selected |= {case.id for item in session.items if (case := case_of(item))}

    def forgive(self, item: pytest.Item, report: Any) -> None:
        """Say how an item changed, and forgive a failure that the baseline or the gate allows.

        A step of the plugin's own hook, so that every other plugin sees the report as it stays.
        """
        outcome = report.miniwob
        case = case_of(item)
        if self._baseline is None or case is None or "episode" not in outcome:
            return
        name = f"{case.category}/{case.task}/{case.seed}"
        before = self._baseline.items.get(name)
        if before is None or not before.conclusive:
            return
        weak = self._weak.get(name)
        solved = outcome["episode"]["solved"]
        if solved != (weak is None):
            outcome["change"] = "progressed" if solved else "regressed"
        forgiven = weak is not None or self._gate.kind != "items"
        if forgiven and report.failed and not solved and not item.config.option.runxfail:
            report.outcome = "skipped"
            report.wasxfail = (
                f"the baseline does not solve it either: {weak}"
                if weak is not None
                else f"solved in the baseline; the gate {self._gate} judges all items together"
            )

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what an item's report carries."""
        if (outcome := getattr(report, "miniwob", None)) is not None:
            self._outcomes.append(outcome)

    # --- The run ---

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take over what a worker has selected and deselected."""
        told = getattr(node, "workeroutput", None) or {}
        self._selected |= set(told.get("miniwob_selected", ()))
        self._deselected |= set(told.get("miniwob_deselected", ()))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the results and judge them; a red gate fails the run."""
        config = self._config
        if hasattr(config, "workeroutput"):
            config.workeroutput["miniwob_selected"] = sorted(self._selected)
            config.workeroutput["miniwob_deselected"] = sorted(self._deselected)
            return
        if config.option.collectonly or not self._selected:
            return
        try:
            results = Results(_unique(self._outcomes), self._partial(), "this run")
            if self._settings.results:
                results.write(self._settings.results)
            if self._baseline is not None:
                self._judge(self._baseline, results)
        except MiniwobError as error:
            self._problem = str(error)
        if self._problem or (self._summary and not self._verdict.passed):
            session.exitstatus = max(session.exitstatus, pytest.ExitCode.TESTS_FAILED)

    def _judge(self, baseline: Results, results: Results) -> None:
        from pytest_miniwob_agent.results.comparison import Comparison
        from pytest_miniwob_agent.results.gate import judge
        from pytest_miniwob_agent.terminal.comparison import ComparisonView
        from pytest_miniwob_agent.terminal.github import report_to_github

        left_out = _LeftOut(self._deselected, self._settings.seeds, bool(self._only))
        verdict = judge(baseline, results, self._gate, left_out)
        self._summary = ComparisonView(Comparison(baseline, results), verdict)
        report_to_github(self._summary)

    @property
    def _verdict(self) -> Any:
        return self._summary.verdict if self._summary else None

    @property
    def _only(self) -> str:
        """Why only a few items were collected, so that nothing is known of the others."""
        option = self._config.option
        if getattr(option, "lf", False):
            return "only what failed last"
        if any("::" in str(arg) for arg in self._config.args):
            return "only tests that were named"
        return ""

    def _partial(self) -> tuple[str, ...]:
        """Why the results are not those of all items."""
        ran = {outcome["case"] for outcome in self._outcomes}
        reasons = [self._only] if self._only else []
        if count := len(self._deselected - self._selected):
            reasons.append(f"{counted(count, 'item')} deselected")
        if count := len(self._selected - ran):
            reasons.append(f"{counted(count, 'item')} did not run")
        return tuple(reasons)

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show the verdict, and where the results are."""
        terminal = terminalreporter
        if self._problem:
            terminal.section("MiniWoB++ results", red=True)
            terminal.line(self._problem, red=True)
        elif self._summary and (terminal.verbosity >= 0 or not self._verdict.passed):
            from pytest_miniwob_agent.terminal.gate import verdict_lines

            verdict = self._verdict
            terminal.section("MiniWoB++ gate", green=verdict.passed, red=not verdict.passed)
            width = terminal._tw.fullwidth
            for name, before, after in self._summary.both.setup:
                if before != after and name != "results" and "not used" not in (before, after):
                    for line in wrap(f"{name}: {before} -> {after}", width):
                        terminal.line(line)
            most = None if terminal.verbosity > 0 else NAMED
            for line in verdict_lines(verdict, width, most, more="all with -v"):
                terminal.line(line)
            if verdict.passed and (verdict.progressed or verdict.regressed):
                for line in wrap(self._how_to_keep(), width):
                    terminal.line(line)
        if self._settings.results and self._selected and terminal.verbosity >= 0:
            terminal.line(f"results: {display_path(self._settings.results)}")

    def _how_to_keep(self) -> str:
        """How what changed becomes what later runs are held to."""
        source = self._settings.baseline
        file = source if isinstance(source, Path) else self._settings.baseline_file
        if isinstance(source, str) and (path := source.removeprefix("git:").partition(":")[2]):
            file = Path.cwd() / path
        name = display_path(file) if file else "FILE"
        if file == self._settings.results and not self._partial():
            return f"to make this run the baseline, commit {name}"
        run = "all items" if self._partial() else "it again"
        return f"to make this the baseline, run {run} with --miniwob-results={name} and commit that"


@dataclass(frozen=True, slots=True)
class _LeftOut:
    """The case ids that a run left out on purpose.

    `seeds` are those that the command line named, None where it named none; `only` is true where
    just a few items were asked for.
    """

    deselected: Collection[str]
    seeds: Collection[int] | None
    only: bool

    def __contains__(self, case: object) -> bool:
        seed = int(str(case).rpartition("/")[2].partition("-")[0])
        other = self.seeds is not None and seed not in self.seeds
        return self.only or other or case in self.deselected


def _baseline(settings: Settings) -> Results | None:
    """The baseline, if there is one; a file that this run is the first to write is none yet."""
    source = settings.baseline
    if source is None or (
        isinstance(source, Path) and source == settings.results and not source.exists()
    ):
        return None
    beside = settings.baseline_file
    if isinstance(source, Path):
        source = display_path(source)
    return read_results(source, beside=beside and display_path(beside))


def _unique(outcomes: Sequence[Outcome]) -> tuple[Result, ...]:
    """The results of a run; two tests may have run the same item, if to the same end."""
    found: dict[str, Result] = {}
    for outcome in outcomes:
        result = result_of(outcome)
        known = found.setdefault(result.case, result)
        if known != result:
            raise UsageError(
                f"{result.case} was run more than once, to other ends: no results were written and "
                "nothing was judged. Run one agent and one model at a time"
            )
    return tuple(found.values())


def result_of(outcome: Outcome) -> Result:
    """What an item's outcome comes to."""
    episode = outcome.get("episode")
    told: dict[str, Any] = {"outcome": outcome_of(outcome)}
    if episode is not None:
        calls = [event for event in episode["events"] if event["kind"] == "call"]
        told |= {
            "solved_at": episode["solved_at"],
            "endings": tuple(episode["endings"]),
            "steps": episode["steps"],
            "calls": dict(Counter(call["purpose"] for call in calls)),
            "tokens": {
                "prompt": _sum(call["completion"]["prompt_tokens"] for call in calls),
                "completion": _sum(call["completion"]["completion_tokens"] for call in calls),
            },
        }
    else:
        causes = outcome["drift"]["causes"] if "drift" in outcome else ()
        told["reason"] = ", ".join(cause["kind"] for cause in causes) or outcome.get("error", "")
    return Result(**outcome["item"], **told)


def _sum(counts: Any) -> int | None:
    known = list(counts)
    return None if None in known else sum(known)
