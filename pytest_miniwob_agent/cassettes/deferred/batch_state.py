"""`batches.json`: the batches that were submitted, kept between calls of `miniwob-agent batch`.

It is written before and after a batch is made, so that a batch whose making was interrupted can be
found again on the server.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import filelock

from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.files import write_atomically
from pytest_miniwob_agent.models.apis import CHAT


@dataclass(slots=True)
class Batch:
    """One batch of the state file.

    Args:
        name: the name of its uploaded file.
        model: the model of its requests.
        requests: their ids in the batch file.
        id: the server's id of it; empty until the server has made it.
        fetched: True if there is nothing more to get from it.
        url: the path that its requests are for.
    """

    name: str
    model: str
    requests: list[str]
    id: str = ""
    fetched: bool = False
    url: str = CHAT


class BatchState:
    """The batches in a state file.

    Args:
        path: the state file.
        say: receives a line for people when another process has to be waited for.
        submit: the command that submits.
    """

    def __init__(self, path: Path, say: Callable[[str], None], submit: str) -> None:
        self.path = path
        self.batches: list[Batch] = []
        self._say = say
        self._submit = submit
        self._server = ""

    def load(self, server: str) -> None:
        """Read the batches on a server; none if there is no file.

        Raises:
            UsageError: the file is damaged, or batches on another server are not fetched yet.
        """
        self._server = server
        self.batches = []
        if not self.path.exists():
            return
        saved_server, batches = self._read()
        if saved_server == server:
            self.batches = batches
        elif not all(batch.fetched for batch in batches):
            raise UsageError(
                f"the batches in {self.path} are on {saved_server}, not on {server}: name that "
                "server by --base-url or OPENAI_BASE_URL, or delete the file to abandon them"
            )

    def in_flight(self) -> set[str]:
        """Return the requests of all batches that are not fetched yet, on whatever server.

        Raises:
            UsageError: the file is damaged.
        """
        batches = self._read()[1] if self.path.exists() else []
        return {id_ for batch in batches if not batch.fetched for id_ in batch.requests}

    def _read(self) -> tuple[str, list[Batch]]:
        """Return the server and the batches of the file."""
        try:
            data = json.loads(self.path.read_text(encoding="utf-8"))
            return data["server"], [Batch(**fields) for fields in data["batches"]]
        except (ValueError, KeyError, TypeError):
            raise UsageError(
                f"{self.path} is damaged. Delete it: `{self._submit}` then finds the batches of "
                "the same requests on the server again"
            ) from None

    def save(self) -> None:
        """Write the state file."""
        data = {"server": self._server, "batches": [asdict(batch) for batch in self.batches]}
        write_atomically(self.path, json.dumps(data, indent=1, ensure_ascii=False) + "\n")

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Exclude other processes from this state; the lock also ends with the process."""
        lock = filelock.FileLock(self.path.with_name("batches.lock"))
        try:
            lock.acquire(blocking=False)
        except filelock.Timeout:
            self._say("waiting for another `miniwob-agent batch` to end")
            lock.acquire()
        try:
            yield
        finally:
            lock.release()
