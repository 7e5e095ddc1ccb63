"""Errors of this package.

::

    MiniwobError              could not tell whether the agent solves the task (pytest: E)
    ├── UsageError            an option, marker, file or name that makes no sense
    ├── BrowserError          no browser, or none that starts
    │   └── BrowserLost       it crashed or hangs in the middle of an item
    ├── CassetteError         there is no cassette, or none that can be read or written
    │   ├── NotRecorded       the item was never recorded
    │   │   └── Drift         the calls are not those that are recorded (pytest: D)
    │   └── Pending           deferred recording: the call waits for a completion (pytest: w)
    ├── ModelError            the model's server could not be reached or refused the call
    └── BudgetReached         the run may make no more model calls (pytest: b)

    LimitReached              the run's own limits; ends a trial or the episode, never an error
    ├── StepLimit             the trial has used its actions
    ├── TrialLimit            the episode has used its trials
    └── CallLimit             the episode has used its model calls
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


class MiniwobError(Exception):
    """The run could not show whether the agent solves the task."""


class UsageError(MiniwobError):
    """An option, a marker's argument, a prompt file or a name is wrong; the message says which."""


class BrowserError(MiniwobError):
    """There is no browser to open the page in."""


class BrowserLost(BrowserError):
    """The browser crashed, or its page does not answer; the next page gets a new one."""


class CassetteError(MiniwobError):
    """The item's cassette is not there, can't be read, or may not be written."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Why calls are not those that are recorded.

    `kind` is one of `prompt`, `page`, `agent`, `model`, `rest` (recorded calls were not made) and
    `unknown`; `what` names the prompt files, the elements, the parameters or the calls.
    """

    kind: str
    what: str


class NotRecorded(CassetteError):
    """A call can't be replayed, and recording it would mend that."""


class Drift(NotRecorded):
    """The item's model calls are not, or not all, those of its cassette.

    Args:
        report: what differs, for people.
        causes: why, most telling first.
        changes: the lines that differ; items with equal ones have the same drift.
    """

    def __init__(self, report: str, causes: Sequence[Cause], changes: Sequence[str] = ()) -> None:
        super().__init__(report)
        self.causes = tuple(causes)
        self.changes = tuple(changes)


class Pending(CassetteError):
    """Deferred recording: this call has no completion yet.

    `request` is the call as one line of a Batch API input file.
    """

    def __init__(self, request: Mapping[str, Any]) -> None:
        super().__init__("waiting for a completion")
        self.request = dict(request)


class ModelError(MiniwobError):
    """The model's server gave no usable completion."""


class BudgetReached(MiniwobError):
    """The run may make no more model calls, or spend no more on them."""


class LimitReached(Exception):
    """One of the run's `Limits` is used up."""


class StepLimit(LimitReached):
    """The trial has used its actions; a new trial may begin."""


class TrialLimit(LimitReached):
    """The episode has used its trials."""


class CallLimit(LimitReached):
    """The episode has used its model calls."""
