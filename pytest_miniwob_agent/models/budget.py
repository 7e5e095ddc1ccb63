"""Limits on live model calls, over all workers of a run: their number, their cost, and concurrency.

The workers of a run are processes of one machine, so they share a folder: a ledger file that is
changed under a lock, and one lock file for each call that may be under way. The system releases the
locks of a process that dies.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_miniwob_agent.core.errors import BudgetReached
from pytest_miniwob_agent.core.files import write_atomically
from pytest_miniwob_agent.core.usage import Usage
from pytest_miniwob_agent.models.prices import Price, cost_of, money

# Imported by the functions that lock, which only live calls need: it takes a tenth of a second.
if TYPE_CHECKING:
    from filelock import BaseFileLock

_POLL = 0.02
"""Seconds between two attempts to get a lock; a model call takes a hundred times as long."""


@dataclass(slots=True)
class _Ledger:
    """The live calls of a run so far; `unknown` is set once a call's cost could not be computed."""

    calls: int = 0
    cost: float = 0.0
    unknown: bool = False


@dataclass(frozen=True, slots=True)
class Budget:
    """The limits on the live calls of a run.

    Args:
        folder: shared by the run's workers, new with each run.
        calls: the most completions that may be recorded; None for no limit.
        cost: the most US dollars that may be spent; None for no limit. Calls that are under way
            when it is reached are finished and add to it.
        price: the price of the run's model; None where it is unknown.
        concurrency: the most calls that may be under way at once; None for no limit, which allows
            one for each worker.
    """

    folder: Path
    calls: int | None = None
    cost: float | None = None
    price: Price | None = None
    concurrency: int | None = None

    @contextmanager
    def call(self) -> Iterator[Callable[[Usage], None]]:
        """Make one call within the limits: `with budget.call() as spent: ...; spent(usage)`.

        A call for which `spent` is not called (refused, dropped) is not counted.

        Raises:
            BudgetReached: the limit of calls or cost is reached.
        """
        with nullcontext() if self.concurrency is None else self._place(self.concurrency):
            with self._ledger() as ledger:
                self._check(ledger)
                ledger.calls += 1
            paid = False

            def spent(usage: Usage) -> None:
                nonlocal paid
                paid = True
                cost = cost_of(usage, self.price)
                with self._ledger() as ledger:
                    ledger.unknown |= cost is None
                    ledger.cost += cost or 0.0

            try:
                yield spent
            finally:
                if not paid:
                    with self._ledger() as ledger:
                        ledger.calls -= 1

    def _check(self, ledger: _Ledger) -> None:
        if self.calls is not None and ledger.calls >= self.calls:
            raise BudgetReached(f"--miniwob-max-calls={self.calls} is reached")
        if self.cost is not None:
            if ledger.unknown:
                raise BudgetReached(
                    "--miniwob-max-cost can't be kept: the server reports no token counts; use "
                    "--miniwob-max-calls"
                )
            if ledger.cost >= self.cost:
                raise BudgetReached(
                    f"--miniwob-max-cost={self.cost:g} is reached: {money(ledger.cost)} spent"
                )

    @contextmanager
    def _ledger(self) -> Iterator[_Ledger]:
        """Change the ledger while no other process can; an error leaves it as it was."""
        from filelock import FileLock

        path = self.folder / "ledger.json"
        with FileLock(self.folder / "ledger.lock", poll_interval=_POLL):
            ledger = _Ledger(**json.loads(path.read_text("utf-8"))) if path.exists() else _Ledger()
            yield ledger
            write_atomically(path, json.dumps(asdict(ledger)))

    @contextmanager
    def _place(self, places: int) -> Iterator[None]:
        """Wait for one of the places for calls that are under way."""
        from filelock import FileLock

        locks = [FileLock(self.folder / f"place-{number}") for number in range(places)]
        while (held := next(filter(_acquire, locks), None)) is None:
            time.sleep(_POLL)
        try:
            yield
        finally:
            held.release()


def _acquire(lock: BaseFileLock) -> bool:
    """Take a lock if no other process or thread has it."""
    from filelock import Timeout

    try:
        lock.acquire(blocking=False)
    except Timeout:
        return False
    return True
