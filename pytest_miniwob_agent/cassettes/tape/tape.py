"""The tape: the calls of one item, those that were made and those that are left."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pytest_miniwob_agent.cassettes.format.call import Call, Request
from pytest_miniwob_agent.core.events import Origin


class Tape:
    """The calls of one item. Each is played once: to an equal request, in the order of the calls.

    It knows of no files and no locks. `left` are the recorded calls that were not played, and
    `spare` further ones, which are played where no recorded one fits. `alike` says of a recorded
    request and another one that they count as equal.
    """

    def __init__(
        self,
        calls: Iterable[Call],
        spare: Iterable[Call] = (),
        alike: Callable[[Request, Request], bool] = lambda recorded, request: False,
    ) -> None:
        self.left = list(calls)
        self.spare = list(spare)
        self._alike = alike
        self._made: dict[Call, int] = {}
        self._begun = 0
        self._under_way: dict[int, tuple[int, int]] = {}
        self._overlapped: set[tuple[int, int]] = set()

    @property
    def made(self) -> list[Call]:
        """The calls that were played or added, in the order in which they were begun."""
        return sorted(self._made, key=self._made.__getitem__)

    @property
    def calls(self) -> list[Call]:
        """All calls: those that were made, then those that are left."""
        return [*self.made, *self.left]

    def begin(self, origin: Origin) -> int:
        """Begin a call and return its number; `end` comes once it is over."""
        self._begun += 1
        self._under_way[self._begun] = (origin.trial, origin.step)
        if len(self._under_way) > 1:
            self._overlapped.update(self._under_way.values())
        return self._begun

    def end(self, number: int) -> None:
        """End a call, whether it was answered or failed."""
        del self._under_way[number]

    def play(self, request: Request, number: int) -> Call | None:
        """Return the first call that answers a request, and count it as made; None if none does.

        Equal requests come before those that are only alike, and recorded calls before spare ones.
        """
        for equal in (True, False):
            for calls in (self.left, self.spare):
                for call in calls:
                    then = call.request
                    if then.key == request.key if equal else self._alike(then, request):
                        calls.remove(call)
                        self._made[call] = number
                        return call
        return None

    def add(self, call: Call, number: int) -> None:
        """Add a call that was just made."""
        self._made[call] = number

    def rewind(self) -> None:
        """Play the episode from its start again; calls of the test itself stay made."""
        self.left = [*(call for call in self.made if not call.of_test), *self.left]
        self._made = {call: number for call, number in self._made.items() if call.of_test}

    def in_stable_order(self) -> list[Call]:
        """Return the calls that were made, in an order that does not depend on the server's speed.

        Where calls of one step overlapped, those of the step are sorted by purpose and request;
        all others keep the order in which they were begun.
        """
        first: dict[tuple[int, int], int] = {}

        def order(call: Call) -> tuple[int, str, str, int]:
            number = self._made[call]
            origin = call.origin
            step = (origin.trial, origin.step) if origin else (0, 0)
            if origin is None or step not in self._overlapped:
                return number, "", "", number
            return first.setdefault(step, number), origin.purpose, call.key, number

        return sorted(self.made, key=order)
