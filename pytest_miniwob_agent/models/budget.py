"""Limits on live model calls, over all workers of a run: how many, how dear, how many at once.

A run's workers are processes of one machine, so they share a folder: a ledger file that is changed
under a lock, and one lock file for each call that may be under way. The system frees the locks of a
process that dies.
"""

from __future__ import annotations

import fcntl
import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_miniwob_agent.core.errors import BudgetReached
from pytest_miniwob_agent.core.usage import Usage
from pytest_miniwob_agent.models.prices import Price, cost_of, money

_POLL = 0.02
"""Seconds between two looks for a free place; a model call takes a hundred times as long."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What the live calls of a run may amount to.

    Args:
        folder: shared by the run's workers, new with each run.
        calls: how many completions may be recorded; None for any number.
        cost: how many US dollars may be spent; None for any amount. Calls that are under way when
            it is reached come on top.
        price: what calls of the run's model cost; None where that is unknown.
        concurrency: how many calls may be under way at once; None for one each worker.
    """

    folder: Path
    calls: int | None = None
    cost: float | None = None
    price: Price | None = None
    concurrency: int | None = None

    @contextmanager
    def call(self) -> Iterator[Callable[[Usage], None]]:
        """Make one call within the limits: `with budget.call() as spent: ...; spent(usage)`.

        A call that is not said to be spent (refused, dropped) counts for nothing.

        Raises:
            BudgetReached: the limit of calls or cost is reached.
        """
        with ExitStack() as stack:
            if self.concurrency is not None:
                stack.enter_context(self._place(self.concurrency))
            self._change(self._reserve)
            paid = False

            def spent(usage: Usage) -> None:
                nonlocal paid
                paid = True
                self._change(lambda ledger: self._pay(ledger, cost_of(usage, self.price)))

            try:
                yield spent
            finally:
                if not paid:
                    self._change(self._release)

    def _reserve(self, ledger: dict[str, Any]) -> None:
        if self.calls is not None and ledger["calls"] >= self.calls:
            raise BudgetReached(f"--miniwob-max-calls={self.calls} is reached")
        if self.cost is not None:
            if ledger["unknown"]:
                raise BudgetReached(
                    "--miniwob-max-cost can't be kept: the server told no token counts; use "
                    "--miniwob-max-calls"
                )
            if ledger["cost"] >= self.cost:
                raise BudgetReached(
                    f"--miniwob-max-cost={self.cost:g} is reached: {money(ledger['cost'])} spent"
                )
        ledger["calls"] += 1

    @staticmethod
    def _release(ledger: dict[str, Any]) -> None:
        ledger["calls"] -= 1

    @staticmethod
    def _pay(ledger: dict[str, Any], cost: float | None) -> None:
        ledger["unknown"] |= cost is None
        ledger["cost"] += cost or 0.0

    def _change(self, change: Callable[[dict[str, Any]], None]) -> None:
        """Change the ledger while no other process can; an error leaves it as it was."""
        with open(self.folder / "ledger.json", "a+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            ledger = json.loads(file.read() or '{"calls": 0, "cost": 0.0, "unknown": false}')
            change(ledger)
            file.seek(0)
            file.truncate()
            json.dump(ledger, file)

    @contextmanager
    def _place(self, places: int) -> Iterator[None]:
        """Wait for one of the places for calls that are under way."""
        with ExitStack() as stack:
            files = [
                stack.enter_context(open(self.folder / f"place-{number}", "a", encoding="utf-8"))
                for number in range(places)
            ]
            while not any(map(_lock, files)):
                time.sleep(_POLL)
            yield


def _lock(file: Any) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
