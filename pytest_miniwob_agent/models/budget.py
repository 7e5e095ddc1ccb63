"""Limits on live model calls, over all workers of a run: number, cost, concurrency; prices.

The workers of a run are processes of one machine, so they share a folder: a ledger file that is
changed under a lock, and one lock file for each call that may be under way. The system releases the
locks of a process that dies.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import NamedTuple

from pytest_miniwob_agent.core.chat import Usage
from pytest_miniwob_agent.core.errors import (
    BudgetReached,
    CallRefused,
    ModelError,
    PermanentError,
    RecordingStopped,
    UsageError,
)
from pytest_miniwob_agent.core.files import write_atomically

# Seconds between two attempts to get a lock; a model call takes a hundred times as long.
_POLL = 0.02

MAX_ITEMS_WITHOUT_ANSWER = 3
"""This number of items in a row without an answer from the server ends the run."""

ENDED = "the run was stopped"
"""The reason why the workers of a run that is over, or is to end, may make no more calls."""


class Price(NamedTuple):
    """US dollars for a million tokens of prompt and completion.

    Those of the prompt that the provider had `cached`, or has `written` into its cache, cost as the
    others if they have no price of their own.
    """

    prompt: float
    completion: float
    cached: float | None = None
    written: float | None = None


@dataclass(slots=True)
class _Ledger:
    """The live calls of a run so far.

    `unknown` is True once the cost of a call is unknown, `unanswered` counts the items in a row
    whose calls got no answer, `stopped` is the reason why no more calls may be made, and `recorded`
    the usage of the calls whose completions are kept.
    """

    calls: int = 0
    cost: float = 0.0
    unknown: bool = False
    unanswered: int = 0
    stopped: str = ""
    recorded: Usage = field(default_factory=Usage)


@dataclass(slots=True)
class Payment:
    """A call that is under way: once the server has begun to answer, it is paid for."""

    answered: bool = False
    usage: Usage = field(default_factory=lambda: Usage(calls=1, uncounted=1))


@dataclass(frozen=True, slots=True)
class Budget:
    """The limits on the live calls of a run; None for no limit.

    Args:
        folder: shared by the run's workers, new with each run.
        calls: the most answers that may be paid for.
        cost: the most US dollars; calls that are under way when they are spent add to them.
        price: the price of the run's model; None if it is unknown.
        concurrency: the most calls that may be under way at once.
        controller: in a worker, the id of its parent process, without which it makes no calls.
    """

    folder: Path
    calls: int | None = None
    cost: float | None = None
    price: Price | None = None
    concurrency: int | None = None
    controller: int | None = None

    @contextmanager
    def call(self) -> Iterator[Payment]:
        """Make one call within the limits: `with budget.call() as payment: ...`.

        A call that the server did not answer (refused, dropped) is not counted.

        Raises:
            BudgetReached: the limit of calls or cost is reached, or the run is `ENDED`.
            RecordingStopped: see `stop`; or the run's controller has ended, or its folder is full.
        """
        with self._slot():
            with self._ledger() as ledger:
                self._check(ledger)
                ledger.calls += 1
            payment = Payment()
            try:
                yield payment
            finally:
                # An answer outlives a ledger that can't be written; the next call finds out.
                with suppress(RecordingStopped), self._ledger() as ledger:
                    if payment.answered:
                        ledger.unanswered = 0
                        cost = usage_cost(payment.usage, self.price)
                        ledger.unknown |= cost is None
                        ledger.cost += cost or 0.0
                    else:
                        ledger.calls -= 1

    def stop(self, reason: str) -> None:
        with self._ledger() as ledger:
            ledger.stopped = ledger.stopped or reason

    def stop_after(self, error: ModelError) -> str:
        """Stop if an item's error would be that of all others; return why, empty if not."""
        if isinstance(error, CallRefused):
            return ""
        reason = ""
        if isinstance(error, PermanentError):
            if not (error.of_call and self.recorded().calls):
                reason = "every model call would fail"
        elif self._count_unanswered() >= MAX_ITEMS_WITHOUT_ANSWER:
            reason = (
                f"the server answered no call of {MAX_ITEMS_WITHOUT_ANSWER} items in a row, each "
                "of which was sent several times"
            )
        if reason:
            self.stop(str(error))
        return reason

    def _count_unanswered(self) -> int:
        with self._ledger() as ledger:
            ledger.unanswered += 1
            return ledger.unanswered

    def add_recorded(self, usage: Usage) -> None:
        with self._ledger() as ledger:
            ledger.recorded += usage

    def recorded(self) -> Usage:
        """Return the usage of the calls of all workers whose completions are kept."""
        with self._ledger() as ledger:
            return ledger.recorded

    def _check(self, ledger: _Ledger) -> None:
        if self.controller not in (None, os.getppid()):
            raise RecordingStopped("the process that began the run has ended")
        if ledger.stopped == ENDED:
            raise BudgetReached(ENDED)
        if ledger.stopped:
            raise RecordingStopped(ledger.stopped)
        if self.calls is not None and ledger.calls >= self.calls:
            raise BudgetReached(f"--miniwob-max-calls={self.calls} is reached")
        if self.cost is None:
            return
        if ledger.unknown:
            raise BudgetReached(
                "--miniwob-max-cost can't be kept: an answer from the server had no token counts; "
                "use --miniwob-max-calls"
            )
        if ledger.cost >= self.cost:
            spent = money(ledger.cost)
            raise BudgetReached(f"--miniwob-max-cost={self.cost:g} is reached: {spent} spent")

    @contextmanager
    def _ledger(self) -> Iterator[_Ledger]:
        """Change the ledger while no other process can; an error leaves it as it was."""
        from filelock import FileLock

        path = self.folder / "ledger.json"
        try:
            with FileLock(self.folder / "ledger.lock", poll_interval=_POLL, is_singleton=True):
                data = json.loads(path.read_text("utf-8")) if path.exists() else {}
                ledger = _Ledger(**{**data, "recorded": Usage(**data.get("recorded", {}))})
                yield ledger
                if (changed := asdict(ledger)) != data:
                    write_atomically(path, json.dumps(changed))
        except OSError as error:
            raise RecordingStopped(
                f"calls can no longer be counted: {path} can't be written: {error.strerror}; "
                "make room, or name another folder for temporary files with TMPDIR"
            ) from error

    @contextmanager
    def _slot(self) -> Iterator[None]:
        if self.concurrency is None:
            yield
            return
        from filelock import FileLock, Timeout

        locks = [FileLock(self.folder / f"slot-{number}") for number in range(self.concurrency)]
        for lock in itertools.cycle(locks):
            try:
                held = lock.acquire(blocking=False)
            except Timeout:
                # So that each lock is tried once in _POLL seconds.
                time.sleep(_POLL / self.concurrency)
                continue
            with held:
                yield
            return


def parse_prices(text: str) -> dict[str, Price]:
    """Prices by model id, from `MODEL PROMPT COMPLETION`, one a line or separated by commas.

    `cached=PRICE` and `written=PRICE` may follow.

    Raises:
        UsageError: an entry has another form.
    """
    prices = {}
    for entry in text.replace(",", "\n").splitlines():
        if not entry.strip():
            continue
        try:
            model, prompt, completion, *more = entry.split()
            others = {name: float(price) for name, price in (part.split("=") for part in more)}
            prices[model] = Price(float(prompt), float(completion), **others)
            if not all(0 <= price < math.inf for price in (*prices[model][:2], *others.values())):
                raise ValueError
        except (TypeError, ValueError):
            raise UsageError(
                f"{entry.strip()!r} is not a price: give MODEL PROMPT COMPLETION, in US dollars "
                "for a million tokens, such as 'gpt-5 1.25 10' or 'gpt-5 1.25 10 cached=0.125'; "
                "written= is for what goes into the provider's cache"
            ) from None
    return prices


def check_price(model: str, prices: Mapping[str, Price] | None) -> None:
    """Check that a limit of cost can be kept; a `UsageError` if the model has no price."""
    if model not in (prices or {}):
        raise UsageError(
            f"--miniwob-max-cost needs the price of {model}: add '{model} PROMPT COMPLETION' to "
            "miniwob_prices, in US dollars per million tokens"
        )


def usage_cost(usage: Usage, price: Price | None) -> float | None:
    """The cost of calls in US dollars, or None if the price or a token count is unknown."""
    if not usage.calls:
        return 0.0
    if price is None or usage.uncounted:
        return None
    parts = [
        (usage.prompt - usage.cached - usage.written, price.prompt),
        (usage.cached, price.prompt if price.cached is None else price.cached),
        (usage.written, price.prompt if price.written is None else price.written),
        (usage.completion, price.completion),
    ]
    return math.fsum(count * rate for count, rate in parts) / 1e6


def total_cost(parts: Iterable[tuple[Usage, Price | None]]) -> float | None:
    """The cost of calls of several models, or None if that of one is unknown."""
    costs = [usage_cost(usage, price) for usage, price in parts]
    known = [cost for cost in costs if cost is not None]
    return math.fsum(known) if len(known) == len(costs) else None


def tokens(usage: Usage) -> str:
    """Tokens as text: `1,234`, `unknown`, or `1,234 and unknown` if some calls have no count."""
    if usage.calls and usage.uncounted == usage.calls:
        return "unknown"
    return f"{usage.tokens:,}" + (" and unknown" if usage.uncounted else "")


def money(amount: float | None) -> str:
    """US dollars as text, with as many digits as small amounts need."""
    if amount is None:
        return "unknown"
    return f"${amount:.2f}" if amount >= 1 or not amount else f"${amount:.2g}"
