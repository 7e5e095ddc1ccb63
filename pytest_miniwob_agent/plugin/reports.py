"""The outcome in pytest's report of an item, for other reporting plugins, and from a worker."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from pytest_miniwob_agent.builtin import joined
from pytest_miniwob_agent.core.data import well_formed
from pytest_miniwob_agent.core.outcome import Outcome, Result, Status
from pytest_miniwob_agent.core.secrets import mask
from pytest_miniwob_agent.core.text import sanitize_line
from pytest_miniwob_agent.plugin.collection import get_problem
from pytest_miniwob_agent.plugin.item import FAILED_CHECK, RUN, ItemRun
from pytest_miniwob_agent.plugin.reading import known_secrets, show_command
from pytest_miniwob_agent.plugin.results import BASELINE


def begin_run(item: pytest.Item) -> None:
    """Begin a run of an item, and forget an earlier one: plugins may run an item again."""
    if (problem := get_problem(item)) is not None:
        item.stash[RUN] = ItemRun(item, problem)
        item.user_properties[:] = [
            pair for pair in item.user_properties if not pair[0].startswith("miniwob_")
        ]


def _is_failed_check(call: pytest.CallInfo[None]) -> bool:
    error = call.excinfo.value if call.excinfo else None
    return isinstance(error, FAILED_CHECK)


def attach_outcome(item: pytest.Item, call: pytest.CallInfo[None], report: Any) -> None:
    """Give the item's outcome to its last report of set-up or call, as `report.miniwob`.

    That of teardown gets it if a plugin such as pytest-retry has repeated the call without a
    report.

    Pytest's own parts of each report of the item, its failure, reason, captured output and log, are
    masked. An item that has ended without an outcome, as it was skipped or plays no episode, is
    named in `report.miniwob_without_outcome`.
    """
    run, problem = item.stash.get(RUN, None), get_problem(item)
    if report.when == "teardown" and problem and (run is None or run.outcome is None):
        report.miniwob_without_outcome = problem.case.id
    if run is None:
        return
    error = call.excinfo.value if call.excinfo else None
    last = report.when == "call" or (report.when == "setup" and not report.passed)
    if run.in_body:  # it is a subtest's
        last = False
        if error is not None:
            run.note(error)
    if run.outcome is None and (last or report.when == "teardown"):
        ended = last and (report.failed or error is run.raised)
        outcome = run.end(error if ended else None)
        if outcome is not None:
            report.miniwob = outcome
            report.miniwob_inconclusive = report.failed and error is run.raised
            _attach(item, call, report, outcome)
    known = known_secrets(item.config)
    for traceback, *_ in getattr(report.longrepr, "chain", ()):
        if traceback.style == "value":  # the message is all: pytest says that frames are hidden
            traceback.extraline = None
    report.longrepr = mask(report.longrepr, known)
    report.sections = mask(report.sections, known)
    if hasattr(report, "wasxfail"):
        report.wasxfail = mask(report.wasxfail, known)


def _attach(item: pytest.Item, call: pytest.CallInfo[None], report: Any, outcome: Outcome) -> None:
    from pytest_miniwob_agent.terminal.transcript import transcript

    reason = call.excinfo.value if call.excinfo else None
    if isinstance(reason, pytest.fail.Exception) and outcome.error:
        _set_reason(report.longrepr, outcome.message.partition("\n")[0])
    unsolved = outcome.status is Status.UNSOLVED and _is_failed_check(call)
    item.user_properties.extend(_properties(outcome.result))
    report.user_properties = list(item.user_properties)
    hook = item.config.hook
    wanted = unsolved or hook.pytest_miniwob_transcript.get_hookimpls()
    if outcome.episode is not None and wanted:
        more = {}
        if outcome.cassette and not outcome.result.app:  # else it is not what was recorded
            more["all of it"] = show_command(item, outcome.result.case)
        for links in joined(hook.pytest_miniwob_links(config=item.config, outcome=outcome)):
            more |= links
        text = transcript(outcome.episode, more)
        verdict = text.partition("\n")[0]
        # The test only asserts that the episode is solved: its code adds nothing to the transcript.
        if unsolved and call.excinfo and str(reason).partition("\n")[0] == verdict:
            failure = pytest.fail.Exception(text, pytrace=False).with_traceback(call.excinfo.tb)
            report.longrepr = item.repr_failure(pytest.ExceptionInfo.from_exception(failure))
            _set_reason(report.longrepr, verdict)
            if item.config.getoption("tbstyle", "") == "line":  # which shows the reason alone
                for traceback, *_ in getattr(report.longrepr, "chain", ()):
                    traceback.reprentries = []
        elif unsolved:
            report.sections.append(("MiniWoB++ transcript", text))
        hook.pytest_miniwob_transcript(item=item, report=report, text=text, outcome=outcome)
    if (baseline := item.config.stash.get(BASELINE, None)) is not None:
        baseline.apply(item, report, excusable=unsolved)


def _set_reason(longrepr: Any, reason: str) -> None:
    if (crash := getattr(longrepr, "reprcrash", None)) is not None:
        crash.message = reason


def _properties(result: Result) -> list[tuple[str, str | int]]:
    # JUnit's XML and pytest-json-report show these.
    found: dict[str, str | int | None] = {
        "case": result.case,
        "agent": sanitize_line(result.agent),
        "model": sanitize_line(result.model),
        "outcome": str(result.outcome),
    }
    if result.conclusive:
        usage = result.usage
        found |= {
            "solved_at": result.solved_at,
            "endings": " ".join(result.endings),
            "trials": len(result.endings),
            "steps": result.steps,
            "calls": usage.calls,
            "tokens": None if usage.uncounted else usage.tokens,
        }
    else:
        found["reason"] = sanitize_line(result.reason) or None
    grades = [("miniwob_grade", str(grade)) for grade in result.grades]
    return [
        *((f"miniwob_{name}", value) for name, value in found.items() if value is not None),
        *grades,
    ]


def serialize(data: Any, *, on_worker: bool) -> Any:
    """Return a report's data with the outcome as plain data, or as bytes for the controller.

    A page may hold a lone surrogate, which execnet refuses: workers send U+FFFD in its place.
    """
    if data and isinstance(outcome := data.get("miniwob"), Outcome):
        data["miniwob"] = pickle.dumps(outcome) if on_worker else outcome.to_data()
    if data and on_worker:
        data = well_formed(data)
    return data


def deserialize(report: Any) -> Any:
    """Return the report of a worker with the outcome as it was before `serialize`."""
    if isinstance(sent := getattr(report, "miniwob", None), bytes):
        report.miniwob = pickle.loads(sent)
    return report
