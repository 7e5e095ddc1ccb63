"""A trial of an item's app as its tape has it."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from pytest_miniwob_agent.cassettes.drift import diff
from pytest_miniwob_agent.cassettes.traffic import SHOWN, Bodies, Exchange, Trial, body_digest
from pytest_miniwob_agent.core.app import REFUSED, AppTrial, PageMessage, PageRequest, PageResponse
from pytest_miniwob_agent.core.errors import CassetteError, Cause, Drift
from pytest_miniwob_agent.core.files import display_path


class PlayedTrial:
    """Plays each exchange of a trial once, and each message at its moment; `path` is the tape's."""

    def __init__(self, tape: Trial, path: Path, bodies: Bodies) -> None:
        self._tape, self._path, self._bodies = tape, path, bodies
        self.left, self._coming = list(tape.exchanges), list(tape.messages)

    def answer(
        self, request: PageRequest, step: int, crowded: Callable[[], bool]
    ) -> PageResponse | None:
        """Answer a request; raises a `Drift` if it is not on the tape."""
        key = (request.method, request.url, body_digest(request.sent), request.socket)
        found = next((one for one in self.left if one.key == key), None)
        if found is not None:
            self.left.remove(found)
        elif not request.strict:
            alike = [one for one in self._tape.exchanges if one.key == key]
            if not alike:
                return PageResponse(404)  # only some browsers ask
            found = alike[-1]
        if found is None:
            raise self._not_on_tape(request, step)
        if found.status is None:
            return PageResponse(REFUSED) if found.failed else None
        body = self._bodies.read(found.body)
        return PageResponse(found.status, found.headers, body, found.socket, phrase=found.phrase)

    def _not_on_tape(self, request: PageRequest, step: int) -> Drift:
        asked = request.method, request.url, request.socket
        same = [one for one in self.left if (one.method, one.url, one.key[3]) == asked]
        if not same:
            what = f"{request} was made at step {step}, and was not recorded"
            return drift_of_traffic(self._path, what)
        sent = request.sent[:SHOWN].decode("utf-8", "replace")
        what = f"{request} was made with another body at step {step}"
        return drift_of_traffic(self._path, what, diff(same[0].shown, sent))

    def messages(self, after: int, at: float, turn: int) -> list[PageMessage]:
        due = []
        while self._coming:
            line = self._coming[0]
            if line["after"] > after or (line["at"], line.get("turn", 0)) > (at, turn):
                break
            due.append(self._from_line(self._coming.pop(0)))
        return due

    def in_real_time(self) -> AbstractContextManager[None]:
        return nullcontext()  # what is on a tape takes no time

    def _from_line(self, line: dict[str, Any]) -> PageMessage:
        message = dict(line)
        if "body" in line:
            digest = message.pop("body")
            body = self._bodies.read(digest)
            if "status" in line:
                headers = [(name, value) for name, value in line["headers"]]
                phrase = line.get("phrase", "")
                answer = PageResponse(line["status"], headers, body, line["stream"], phrase=phrase)
                return {"socket": line["socket"], "type": line["type"], "response": answer}
            try:
                message["data"] = body.decode()
                if line.get("binary"):
                    base64.b64decode(body, validate=True)
            except ValueError as error:
                file = display_path(self._bodies.path(digest))
                raise CassetteError(
                    f"the message {file} of {display_path(self._path)} can't be read: {error}"
                ) from None
        return message

    def judge(self, trial: AppTrial, questions: int, *, driven: bool) -> float:
        """Return the reward once the judge was asked as often, or once the requests are made."""
        made = not self.missing(self._tape.exchanges[: self._tape.made])
        over = made if driven else questions >= self._tape.questions
        return self._tape.reward if over else 0.0

    def missing(self, exchanges: Iterable[Exchange]) -> list[Exchange]:
        """Return those that a replay must make, and that were not made."""
        return [one for one in exchanges if one in self.left and one.request.strict]


def drift_of_traffic(
    path: Path, what: str, lines: Iterable[str] = (), kind: str = "traffic"
) -> Drift:
    """Describe how an item differs from its tape, a file."""
    text = "\n  ".join([f"{display_path(path)}: {what}", *lines])
    return Drift(text, [Cause(kind, what)], [what, *lines])
