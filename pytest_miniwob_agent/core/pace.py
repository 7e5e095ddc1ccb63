"""The pace of a program: where the page's clock has moved on for it, whatever time that took.

How long a program sleeps, and how often it asks within a second, differs from run to run. So a
recording notes the moves of the clock that came of it, and a replay makes them there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock


@dataclass(frozen=True, slots=True)
class Move:
    """A move of the page's clock, which ended when the program had sent its next command.

    `act` counts what is the same at any pace: the inputs and the model calls of the trial until
    then. `after` and `before` are what came last and next, as `Pace.name` has named it; `after` is
    empty if nothing came since the act. `ms` is where the clock was then, from the last input
    on. `held` is True if the page could not be read, as it waited for the program.
    """

    trial: int
    act: int
    after: str
    before: str
    ms: int
    held: bool = field(default=False, metadata={"optional": True})

    def __str__(self) -> str:
        held = ", as the page waited for the program" if self.held else ""
        return (
            f"trial {self.trial}, after input or call {self.act}: {self.ms} ms of the page's "
            f"clock before {self.before}{held}"
        )


class Pace:
    """The moves of an episode, by a tape and as they are made now.

    Args:
        tape: the moves of a recording; None if it has none, and real time decides.
        strict: True if real time decides nothing while there is a tape. Otherwise the program may
            be another one than that of the recording: it does so if no move of the tape fits.

    Attributes:
        replays: as `strict` says, until it is set for what is a replay alone.
    """

    def __init__(self, tape: Sequence[Move] | None = None, *, strict: bool = False) -> None:
        self._tape, self.replays = tape, strict
        self._made: list[Move] | None = None
        self._doubtful: list[Move] = []  # made if the clock goes on for what the program awaits
        self._mutex = Lock()  # a program may have several connections
        self._trial = 0
        self._go_on(0)

    def _go_on(self, act: int) -> None:
        self._act, self._last = act, ""
        self._come: Counter[str] = Counter()  # since the act
        place = (self._trial, act)
        self._left = [one for one in self._tape or () if (one.trial, one.act) == place]

    @property
    def strict(self) -> bool:
        """True if the tape alone moves the clock, and not real time."""
        return self.replays and self._tape is not None

    @property
    def moves(self) -> list[Move] | None:
        """What to keep: the moves made, and those of the tape beyond; None without a program."""
        if self._made is None:
            return None if self._tape is None else [*self._tape]
        place = (self._trial, self._act)
        return [*self._made, *(one for one in self._tape or () if (one.trial, one.act) > place)]

    def rewind(self) -> None:
        """Begin the episode again, whose first part is to be the same."""
        self._tape, self._made, self._doubtful = self.moves, None, []
        self._trial = 0

    def leave_tape(self) -> None:
        """Let real time decide from now on: the episode is no longer that of the tape."""
        self._tape, self._left = None, []

    def begin_trial(self) -> None:
        """Begin the next trial."""
        self._trial += 1
        self._go_on(0)

    def begin(self) -> None:
        """Note the moves from now on, of a program that has the page."""
        self._made = self._made or []

    def act(self) -> None:
        """Count an input or a model call."""
        with self._mutex:
            self._go_on(self._act + 1)

    def name(self, what: str) -> str:
        """Name what comes now: as the first of its kind since the act, the second, and so on."""
        with self._mutex:
            self._come[what] += 1
            return f"{what}-{self._come[what]}"

    def due(self, name: str = "", *, last: bool = False) -> Move | None:
        """Return the move to be made before something comes, or if nothing does, by now.

        With `last`, it ends what has come since the act, and no move is to be left out.
        """
        left = self._left
        if not name:
            return next((one for one in left if one.after == self._last and not one.held), None)
        found = next((one for one in left if one.before == name), None)
        return left[-1] if last and left and found is None else found

    @property
    def stops(self) -> bool | None:
        """True if the page waits for the program until something comes; None if it is unknown."""
        return bool(self._left and self._left[0].held) if self.strict else None

    def limit(self, asked: str = "") -> int | None:
        """Return where the clock may move to until something else comes; None without a limit.

        `asked` is what a program repeats: the tape has moved the clock for that, or has not.
        """
        if not self.strict:
            return None
        left = self._left
        if asked and left and left[0].before == f"{asked}-{self._come[asked]}":
            left = left[1:]  # it is made, and what it was made for is not noted yet
        move = left[0] if left else None
        if asked and not (move and move.after.startswith(f"{asked}-")):
            return 0
        return move.ms if move else None

    def note(self, name: str, ms: int, *, moved: bool, held: bool, waits: bool) -> None:
        """Note what comes now, and where the clock is if it has moved.

        If the program `waits` for a promise, the clock may also go on after it, or before.
        """
        with self._mutex:
            move = Move(self._trial, self._act, self._last, name, ms, held)
            self._doubtful = [*self._doubtful, move] if moved or waits else []
            self._last = name
            done = [place for place, one in enumerate(self._left, 1) if one.before == name]
            self._left = self._left[max(done, default=0) :]
        if moved:
            self.confirm()

    def confirm(self) -> None:
        """Keep what was noted while the program waits for a promise: the clock goes on for that."""
        with self._mutex:
            if self._made is not None:
                self._made += self._doubtful
            self._doubtful = []
