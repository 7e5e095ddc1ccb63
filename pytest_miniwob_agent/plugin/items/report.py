"""The outcome in pytest's report of an item, and on its way from a worker to the controller."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pytest_miniwob_agent.core.data import from_data
from pytest_miniwob_agent.core.files import display_path
from pytest_miniwob_agent.core.outcome import Outcome, Status
from pytest_miniwob_agent.core.secrets import redact
from pytest_miniwob_agent.plugin.items.collection import case_of
from pytest_miniwob_agent.plugin.items.run import RUN, ItemRun
from pytest_miniwob_agent.plugin.options.commands import show_command
from pytest_miniwob_agent.plugin.options.settings import Settings
from pytest_miniwob_agent.plugin.run.state import STATE

_SURROGATE = re.compile("[\ud800-\udfff]")


def begin_run(item: pytest.Item) -> None:
    """Begin a run of an item, and forget an earlier one: plugins may run an item again."""
    case = case_of(item)
    if case is not None:
        item.stash[RUN] = ItemRun(item, case)
        item.user_properties[:] = [
            pair for pair in item.user_properties if not pair[0].startswith("miniwob_")
        ]


def remember_end(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Keep how the body of an item's test ended; a check that failed is an end, an error is not."""
    if RUN in item.stash and call.when == "call":
        if call.excinfo is None:
            item.stash[RUN].passed = True
        elif _is_failed_check(call):
            item.stash[RUN].passed = False


def _is_failed_check(call: pytest.CallInfo[None]) -> bool:
    error = call.excinfo.value if call.excinfo else None
    return isinstance(error, (AssertionError, pytest.fail.Exception))


def attach_outcome(item: pytest.Item, call: pytest.CallInfo[None], report: Any) -> None:
    """Give the item's outcome to its last report of set-up or call, as `report.miniwob`."""
    last = report.when == "call" or (report.when == "setup" and not report.passed)
    run = item.stash.get(RUN, None)
    if run is None or not last:
        return
    if run.outcome is None and report.failed and call.excinfo:
        run.fail_without_episode(call.excinfo.value)
    if run.outcome is None:
        return
    outcome = report.miniwob = run.outcome
    if call.excinfo and isinstance(call.excinfo.value, pytest.fail.Exception) and outcome.error:
        _set_reason(report.longrepr, outcome.message.partition("\n")[0], alone=False)
    unsolved = outcome.status is Status.UNSOLVED and _is_failed_check(call)
    _describe(item, call, report, unsolved=unsolved)
    state = item.config.stash[STATE]
    if state.baseline is not None:
        state.baseline.apply(item, report, excusable=unsolved)


def redact_report(item: pytest.Item, report: Any) -> None:
    """Redact what pytest itself shows of an item: its failure, and its captured output and log."""
    if case_of(item) is not None:
        known = item.config.stash[STATE].settings.sent_only_texts
        report.longrepr = redact(report.longrepr, known)
        report.sections = redact(report.sections, known)


def _describe(
    item: pytest.Item, call: pytest.CallInfo[None], report: Any, *, unsolved: bool
) -> None:
    """Give the report the item's properties, and the transcript where it is asked for.

    Where the test only asserts that the episode is solved, the transcript replaces the failure: the
    test's code and the assertion add nothing to it.
    """
    from pytest_miniwob_agent.plugin.run.exports import properties
    from pytest_miniwob_agent.terminal.episode import transcript

    outcome: Outcome = report.miniwob
    state = item.config.stash[STATE]
    item.user_properties.extend(properties(outcome))
    report.user_properties = list(item.user_properties)
    reason = call.excinfo.value if call.excinfo else None
    if outcome.episode is None or not (unsolved or state.exports):
        return
    text = transcript(outcome.episode, _where_to_see_more(item, outcome, state.settings))
    verdict = text.partition("\n")[0]
    if unsolved and call.excinfo and str(reason).partition("\n")[0] == verdict:
        failure = pytest.fail.Exception(text, pytrace=False).with_traceback(call.excinfo.tb)
        report.longrepr = item.repr_failure(pytest.ExceptionInfo.from_exception(failure))
        _set_reason(report.longrepr, verdict, alone=item.config.option.tbstyle == "line")
    elif unsolved:
        report.sections.append(("MiniWoB++ transcript", text))
    if state.exports is not None:
        state.exports.give(item, report, text, _last_picture(outcome, state.settings))


def _set_reason(longrepr: Any, reason: str, *, alone: bool) -> None:
    """Set the reason that pytest's short summary shows, and `--tb=line` shows alone."""
    if (crash := getattr(longrepr, "reprcrash", None)) is not None:
        crash.message = reason
    if alone:
        for traceback, *_ in getattr(longrepr, "chain", ()):
            traceback.reprentries = []


def _where_to_see_more(item: pytest.Item, outcome: Outcome, settings: Settings) -> dict[str, str]:
    more = {}
    if outcome.cassette:  # a model of the user's own would be asked again
        more["all of it"] = show_command(item, outcome.case.id)
    if settings.report is not None:
        more["in the report"] = f"{display_path(settings.report)}/index.html#/item/{outcome.case}"
    return more


def _last_picture(outcome: Outcome, settings: Settings) -> Path | None:
    """Return the last picture that the run's report has of an item, if there is one."""
    from pytest_miniwob_agent.report.folder import Report

    if settings.report is None or not outcome.pictures:
        return None
    return Report(settings.report).picture(outcome.pictures[-1].name)


def serialize(data: Any, *, on_worker: bool) -> Any:
    """Return a report's data with the outcome as plain data.

    A page may hold a lone surrogate, which execnet refuses: workers send U+FFFD in its place, and
    the outcome as JSON in ASCII.
    """
    if data and isinstance(data.get("miniwob"), Outcome):
        plain = data["miniwob"].to_data()
        data["miniwob"] = json.dumps(plain) if on_worker else plain
    return _without_surrogates(data) if data and on_worker else data


def deserialize(report: Any) -> Any:
    """Return the report with the outcome as it was before `serialize`."""
    match getattr(report, "miniwob", None):
        case str() as text:
            report.miniwob = from_data(Outcome, json.loads(text))
        case dict() as data:
            report.miniwob = from_data(Outcome, data)
    return report


def _without_surrogates(data: Any) -> Any:
    """Return the data with U+FFFD in the place of each lone surrogate."""
    match data:
        case str():
            return _SURROGATE.sub("\ufffd", data)
        case dict():
            return {_without_surrogates(k): _without_surrogates(v) for k, v in data.items()}
        case list():
            return [_without_surrogates(part) for part in data]
        case tuple():
            return tuple(_without_surrogates(part) for part in data)
    return data
