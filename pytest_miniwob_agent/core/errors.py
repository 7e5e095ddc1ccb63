"""Errors of this package.

::

    MiniwobError (pytest: E)
    ├── UsageError
    │   └── NoResultsYet
    ├── BrowserError
    │   └── BrowserLost
    ├── PageError
    ├── ProgramError
    ├── CassetteError
    │   ├── CassetteNotWritten
    │   ├── NotRecorded
    │   │   └── Drift (D)
    │   └── Pending (w)
    ├── ModelError
    │   ├── CallRefused
    │   └── PermanentError
    ├── BudgetReached (b)
    └── RecordingStopped
    LimitReached (no error: ends a trial or the episode)
    ├── StepLimit
    ├── TrialLimit
    └── CallLimit
        └── AnswersUsedUp
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


class MiniwobError(Exception):
    """The run does not show whether the agent solves the task."""


class UsageError(MiniwobError):
    """An option, a marker's argument, a file or a name is invalid; the message says which."""


class NoResultsYet(UsageError):
    """There is no baseline yet, as on the base of a first pull request."""


class BrowserError(MiniwobError):
    """There is no browser, or it does not start."""


class BrowserLost(BrowserError):
    """The browser crashed, or its page does not answer; the next page gets a new browser."""


class PageError(MiniwobError):
    """A custom page can't be a task; the message names its file and the reason."""


class ProgramError(MiniwobError):
    """A program on a page that was handed over to it has left the page, or judged itself."""


class CassetteError(MiniwobError):
    """The item's cassette is missing, or can't be read or written."""


@dataclass(frozen=True, slots=True)
class Cause:
    """A reason why calls differ from the recorded ones.

    `kind` is one of `prompt`, `page`, `agent`, `tools`, `api`, `model`, of a task on an app `goal`,
    `judge` and `traffic` (its functions and the requests), `grader` (what one asks), and `rest`
    (recorded calls were not made); `what` names the files, messages, elements, tools, parameters,
    requests or calls.
    """

    kind: str
    what: str


@dataclass(frozen=True, slots=True)
class ChangedPicture:
    """A picture of a request that is not the recorded one.

    `number` is its place among the pictures of the request, from 1, and `what` how it differs. The
    others are paths, for people; `difference` is that of a picture of the difference.
    """

    number: int
    what: str
    recorded: str | None = None
    present: str | None = None
    difference: str | None = None


class CassetteNotWritten(CassetteError):
    """A cassette can't be written: there is no room, no permission, or something in its place."""


class NotRecorded(CassetteError):
    """A call can't be replayed because it is not recorded."""


class Drift(NotRecorded):
    """The item's model calls differ from those of its cassette, or some of them were not made.

    `report` has the differences, for people, and `causes` the reasons, most likely first. Items
    with equal `changes`, the lines that differ, have the same drift.
    """

    def __init__(
        self,
        report: str,
        causes: Sequence[Cause],
        changes: Sequence[str] = (),
        pictures: Sequence[ChangedPicture] = (),
    ) -> None:
        super().__init__(report)
        self.causes = tuple(causes)
        self.changes = tuple(changes)
        self.pictures = tuple(pictures)


class Pending(CassetteError):
    """Deferred recording: this call has no completion yet.

    `request` is the call as one line of a Batch API input file, and `group` names the items that
    share its answer.
    """

    def __init__(self, request: Mapping[str, Any], group: str = "") -> None:
        super().__init__("waiting for a completion")
        self.request = dict(request)
        self.group = group


class ModelError(MiniwobError):
    """The model's server could not be reached, refused the call or gave no usable completion."""


class CallRefused(ModelError):
    """The model's server refused one call for what it holds, such as too long a prompt.

    An agent may catch it, shorten its prompt and go on; the refusal is recorded as an answer is.
    """


class PermanentError(ModelError):
    """The model's server can't be reached, or refuses the call for a reason that will last.

    `of_call` is True if the reason may also be the content of this call: it is permanent only while
    no call of the run has succeeded.
    """

    def __init__(self, text: str, *, of_call: bool = False) -> None:
        super().__init__(text)
        self.of_call = of_call


class BudgetReached(MiniwobError):
    """The run may make no more model calls, or spend no more on them."""


class RecordingStopped(MiniwobError):
    """The run makes no more calls, as a completion could not be kept or all calls would fail."""


class LimitReached(Exception):
    """One of the run's `Limits` is used up."""


class StepLimit(LimitReached):
    """The trial has used its actions; a new trial may begin."""


class TrialLimit(LimitReached):
    """The episode has used its trials."""


class CallLimit(LimitReached):
    """The episode has used its model calls."""


class AnswersUsedUp(CallLimit):
    """A live app with recorded answers: the recording had ended here, and the app does not end."""


def limit_in(error: BaseException) -> LimitReached | None:
    """Return the limit among an error, its causes and those of its group, or None."""
    found = [error]
    for each in found:
        if isinstance(each, LimitReached):
            return each
        causes = [each.__cause__ or each.__context__]
        causes += each.exceptions if isinstance(each, BaseExceptionGroup) else ()
        found += [cause for cause in causes if cause is not None and cause not in found]
    return None
