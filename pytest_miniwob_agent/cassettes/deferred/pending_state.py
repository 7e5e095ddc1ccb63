"""The state of the requests in `pending.jsonl`: which are wanted, and whose answers were refused.

Two files beside it: `collected.json` has the cassettes of the items that the last deferred run
collected, deselected items included; `refused.json` has the requests whose answers hold what looks
like a secret, with the reason, and never the answer.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from pytest_miniwob_agent.cassettes.deferred.batch_command import batch_command
from pytest_miniwob_agent.cassettes.folder.stems import Used
from pytest_miniwob_agent.core import secrets
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.files import write_atomically


class PendingState:
    """The state of the requests in a batch file.

    Args:
        pending: the batch file.

    Raises:
        UsageError: a file of the state is damaged.
    """

    def __init__(self, pending: Path) -> None:
        self._pending = pending
        self._collected_path = pending.with_name("collected.json")
        self._refused_path = pending.with_name("refused.json")
        self._collected = self._read_collected()
        self.refused = self._read_refused()

    @property
    def drop_refused(self) -> str:
        """The command that has refused answers asked for again."""
        return batch_command("drop refused", self._pending)

    def is_wanted(self, id_: str) -> bool:
        """Return True for a request of an item that the last deferred run collected.

        All are wanted if no such run has said what it collected.
        """
        return self._collected is None or self._collected.has(stem_of_request(id_))

    def collect(self, stems: Collection[str], *, only_some: bool) -> None:
        """Keep which cassettes the items of a deferred run use; see `folder.Used`.

        Args:
            stems: the cassettes.
            only_some: True if the run looked for a few items only, so that it does not show that
                others are gone.
        """
        if only_some and self._collected is None:
            return
        if only_some and self._collected is not None:
            stems = {*stems, *self._collected.stems}
        self._collected = Used(Path(), stems)
        _write(self._collected_path, {"stems": sorted(stems)})

    def refuse(self, reasons: Mapping[str, str]) -> None:
        """Keep the requests whose answers were refused, with the reasons."""
        self._write_refused({**self.refused, **reasons})

    def accept(self, ids: Iterable[str]) -> None:
        """Forget that answers to these requests were refused."""
        ids = set(ids)
        self._write_refused({id_: why for id_, why in self.refused.items() if id_ not in ids})

    def _write_refused(self, refused: dict[str, str]) -> None:
        if refused == self.refused:
            return
        self.refused = refused
        if refused:
            _write(self._refused_path, refused)
        else:
            self._refused_path.unlink(missing_ok=True)

    def _read_collected(self) -> Used | None:
        data = _read(self._collected_path)
        if data is None:
            return None
        if not isinstance(stems := data.get("stems"), list):
            raise _damaged(self._collected_path)
        return Used(Path(), frozenset(map(str, stems)))

    def _read_refused(self) -> dict[str, str]:
        return {id_: str(why) for id_, why in (_read(self._refused_path) or {}).items()}


def stem_of_request(id_: str) -> str:
    """Return the stem of the cassette that a request of a batch file belongs to."""
    return id_.partition("#")[0]


def refusal(answer: Mapping[str, Any]) -> str | None:
    """Return the reason for which a line of an answer file is refused, None if it is not."""
    found = secrets.find(answer)
    if not found:
        return None
    return f"its completion holds what looks like a secret ({found[0].kind}), and is not kept"


def _read(path: Path) -> dict[str, Any] | None:
    """Return the object in a JSON file, None if there is no file."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError:
        raise _damaged(path) from None
    if not isinstance(data, dict):
        raise _damaged(path)
    return data


def _write(path: Path, data: Mapping[str, Any]) -> None:
    write_atomically(path, json.dumps(data, indent=1, ensure_ascii=False) + "\n")


def _damaged(path: Path) -> UsageError:
    return UsageError(f"{path} is damaged: delete it and run pytest --miniwob-record=defer again")
