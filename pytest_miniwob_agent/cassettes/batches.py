"""Deferred recording through a provider's Batch API: requests out, answers back.

The batch file is cut into files that the API takes, and each is uploaded under a name that is the
digest of its content. So the server itself can tell what was submitted: a batch that was made just
before a crash, or whose state was lost, is found by the name of its file and taken up again.

`batches.json` beside the batch file holds what the server can't know: which requests were about to
be submitted and which batches have been fetched. It is written before and after a batch is made.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shlex
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import openai
from openai.pagination import SyncCursorPage
from openai.types import Batch as Remote
from openai.types import FileObject

from pytest_miniwob_agent.cassettes.file import completion_of
from pytest_miniwob_agent.cassettes.pending import by_id, read_pending
from pytest_miniwob_agent.core.data import canonical_json
from pytest_miniwob_agent.core.errors import MiniwobError, ModelError, UsageError
from pytest_miniwob_agent.core.files import write_atomically
from pytest_miniwob_agent.core.secrets import redact
from pytest_miniwob_agent.core.text import counted
from pytest_miniwob_agent.models.client import RETRIES, api_key

MOST_REQUESTS = 50_000
"""How many requests the API takes in one file."""

MOST_BYTES = 200_000_000
"""How large a file the API takes."""

OVER = ("completed", "failed", "expired", "cancelled")
"""States of a batch that will not change any more."""

SHOWN = 5
"""How many of a batch's errors are shown."""

Answered = TypeVar("Answered", Remote, FileObject)


@dataclass(slots=True)
class Batch:
    """One batch of the state file.

    `name` is that of its uploaded file, `requests` are their ids in the batch file. `id` is empty
    until the server has made it. `fetched` is true when there is nothing more to get from it.
    """

    name: str
    model: str
    requests: list[str]
    id: str = ""
    fetched: bool = False


class Batches:
    """The batches of one batch file.

    Args:
        pending: the batch file; the state and the answers lie beside it.
        base_url: the server; None leaves it to `OPENAI_BASE_URL` or the client's default.
        say: is given each line that a user should read.
        most_requests: how many requests go into one batch.
        most_bytes: how large one batch's file may be.
        retries: how often a refused or dropped call is sent again, with the client's own back-off.
    """

    def __init__(
        self,
        pending: Path,
        base_url: str | None,
        say: Callable[[str], None],
        *,
        most_requests: int = MOST_REQUESTS,
        most_bytes: int = MOST_BYTES,
        retries: int = RETRIES,
    ) -> None:
        self._pending = pending
        self._state = pending.with_name("batches.json")
        self._answers = pending.with_name("answers.jsonl")
        self._base_url = base_url or os.environ.get("OPENAI_BASE_URL") or None
        self._say = say
        self._most_requests = most_requests
        self._most_bytes = most_bytes
        self._retries = retries
        self._batches: list[Batch] = []

    def submit(self) -> None:
        """Put every request into a batch that is neither in one, nor answered.

        Raises:
            ModelError: the server can't be reached or refuses; a second call goes on from there.
            UsageError: no key, a damaged file, or a state that belongs to another server.
        """
        if not self._pending.exists():
            self._say(
                f"nothing to submit: there is no {self._pending}; "
                "`pytest --miniwob-record=defer` writes it if a call waits for a completion"
            )
            return
        with self._alone():
            waiting = read_pending(self._pending)
            self._load()
            self._heal()
            state: dict[str, str] = {}
            for batch, remote in self._unfetched():
                if not self._is_empty(batch, remote):
                    over = remote.status in OVER
                    state.update(dict.fromkeys(batch.requests, "over" if over else "in flight"))
            state.update(dict.fromkeys(self._read_answers(), "answered"))
            fresh = [request for id_, request in waiting.items() if id_ not in state]
            for model, requests in self._files(fresh):
                self._make(model, requests)
        if not fresh:
            self._say("nothing to submit")
        for word, command in {
            "in flight": "miniwob-agent batch status",
            "over": "miniwob-agent batch fetch",
            "answered": self._next,
        }.items():
            if count := sum(state.get(id_) == word for id_ in waiting):
                what = "in a batch that is over" if word == "over" else word
                self._say(f"{counted(count, 'request')} already {what}: `{command}`")

    def status(self, wait: Callable[[str], None] | None = None) -> bool:
        """Tell how each batch stands; nothing is changed by it.

        Args:
            wait: to be told of the progress until all batches are over.

        Returns:
            Whether all is well: no batch failed, in whole or in part.
        """
        if not self._exists():
            return True
        self._load()
        pause = 2
        while True:
            remotes = list(self._unfetched())
            running = [remote for _, remote in remotes if remote.status not in OVER]
            if wait is None or not running:
                break
            done = sum(_counts(remote)[0] for remote in running)
            total = sum(_counts(remote)[2] for remote in running)
            wait(f"{counted(len(running), 'batch', 'es')} to go, {done} of {total} requests done")
            time.sleep(pause)
            pause = min(pause * 2, 60)  # a batch takes minutes or hours
        if wait:
            wait("")
        well = True
        for batch in self._batches:
            if batch.fetched:
                self._say(f"{batch.id}  fetched  {counted(len(batch.requests), 'request')}")
            elif not batch.id:
                well = False
                self._say("(no id)  not made yet: `miniwob-agent batch submit` goes on with it")
        for batch, remote in remotes:
            completed, failed, total = _counts(remote)
            reason = _reason_of(remote)
            well = well and remote.status not in OVER[1:] and not failed
            self._say(
                f"{batch.id}  {remote.status}  {completed} completed, {failed} failed, "
                f"{total or len(batch.requests)} in all" + (f": {reason}" if reason else "")
            )
        if len(remotes) > len(running):
            self._say("next: miniwob-agent batch fetch")
        return well

    def fetch(self) -> bool:
        """Put the answers of all batches that are over into the answer file.

        Returns:
            Whether all is well: every request of these batches has an answer.

        Raises:
            ModelError: the server can't be reached or refuses; what was fetched before is kept.
            UsageError: no key, a damaged file, or a state that belongs to another server.
        """
        if not self._exists():
            return True
        well = True
        fetched = running = 0
        with self._alone():
            self._load()
            for batch, remote in self._unfetched():
                if remote.status not in OVER:
                    running += 1
                elif self._is_empty(batch, remote):
                    well = False
                else:
                    fetched += 1
                    well = self._fetch(batch, remote) and well
            ready = read_pending(self._pending).keys() & self._read_answers().keys()
        if not fetched:
            self._say("nothing new to fetch")
        if running:
            said = counted(running, "batch", "es")
            self._say(f"{said} not over yet: `miniwob-agent batch status --wait`")
        if ready:
            self._say(f"{counted(len(ready), 'request')} answered. next: {self._next}")
        return well

    @property
    def _next(self) -> str:
        answers = shlex.quote(str(self._answers))
        return f"pytest --miniwob-record=defer --miniwob-answers={answers}"

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep every other process from this state; the lock ends with the process."""
        with self._state.with_name("batches.lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self._say("waiting for another `miniwob-agent batch` to end")
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    # The state

    def _exists(self) -> bool:
        """Whether anything was submitted; told if not."""
        if self._state.exists():
            return True
        self._say(f"nothing was submitted: there is no {self._state}; `miniwob-agent batch submit`")
        return False

    def _load(self) -> None:
        self._batches = []
        if not self._state.exists():
            return
        try:
            data = json.loads(self._state.read_text(encoding="utf-8"))
            server, batches = data["server"], [Batch(**each) for each in data["batches"]]
        except (ValueError, KeyError, TypeError):
            raise UsageError(
                f"{self._state} can't be read. Delete it, then `miniwob-agent batch submit` takes "
                "up again what the server has of the same requests"
            ) from None
        if server == self._server:
            self._batches = batches
        elif not all(batch.fetched for batch in batches):
            raise UsageError(
                f"the batches in {self._state} are on {server}, not on {self._server}: name that "
                "server by --base-url or OPENAI_BASE_URL, or delete the file to give them up"
            )

    def _save(self) -> None:
        data = {"server": self._server, "batches": [asdict(batch) for batch in self._batches]}
        write_atomically(self._state, json.dumps(data, indent=1, ensure_ascii=False) + "\n")

    def _read_answers(self) -> dict[str, dict[str, Any]]:
        """The completions in the answer file."""
        if not self._answers.exists():
            return {}
        lines = _parse(self._answers.read_text(encoding="utf-8"), str(self._answers))
        return {id_: answer for id_, answer in lines.items() if _is_completion(answer)}

    # The server

    @cached_property
    def _client(self) -> openai.OpenAI:
        key = api_key(self._base_url, "--base-url")
        return openai.OpenAI(api_key=key, base_url=self._base_url, max_retries=self._retries)

    @cached_property
    def _server(self) -> str:
        """The server's address as it may be shown and stored: without a password."""
        try:
            parts = urlsplit(self._base_url or str(self._client.base_url))
        except ValueError:
            parts = urlsplit("")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError("--base-url or OPENAI_BASE_URL names no http or https address")
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"

    @contextlib.contextmanager
    def _asking(self, what: str, hint: str = "") -> Iterator[None]:
        """Turn whatever a call of the client raises into one line."""
        try:
            yield
            return
        except openai.APIConnectionError as error:
            text = f"{self._server} can't be reached: {str(error.__cause__ or '') or error}"
        except openai.APIStatusError as error:
            text = f"{self._server} refused {what}: {error}"
        except (openai.OpenAIError, ValueError, TypeError, AttributeError) as error:
            text = f"{self._server} answered {what} with something else than the API does: {error}"
        raise ModelError(_one_line(text) + hint)

    def _unfetched(self) -> Iterator[tuple[Batch, Remote]]:
        """Each batch that there is something to get from, now or later, as the server has it."""
        for batch in self._batches:
            if batch.id and not batch.fetched:
                with self._asking(f"to tell of {batch.id}"):
                    remote = _identified(self._client.batches.retrieve(batch.id))
                yield batch, remote

    def _is_empty(self, batch: Batch, remote: Remote) -> bool:
        """Whether a batch ended without an answer; it is told, and its requests are free again."""
        if remote.status not in OVER or remote.output_file_id or remote.error_file_id:
            return False
        batch.fetched = True
        self._save()
        reason = _reason_of(remote)
        count = counted(len(batch.requests), "request")
        self._say(
            f"{batch.id} {remote.status} without an answer{f' ({reason})' if reason else ''}: "
            f"`miniwob-agent batch submit` submits its {count} again"
        )
        return True

    # Submitting

    def _heal(self) -> None:
        """Find the batches whose making was interrupted, and forget those that were not made."""
        for batch in [batch for batch in self._batches if not batch.id]:
            _, batch.id = self._look_up(batch.name)
            if batch.id:
                self._tell(batch, "submitted before and found again")
            else:
                self._batches.remove(batch)
            self._save()

    def _look_up(self, name: str) -> tuple[str, str]:
        """The ids of an uploaded file and of its newest batch that the state doesn't know."""
        known = {batch.id for batch in self._batches}
        with self._asking("to list files and batches"):
            files = [
                file.id
                for file in _listed(self._client.files.list(purpose="batch"))
                if file.filename == name
            ]
            if not files:
                return "", ""
            found = [
                remote
                for remote in _listed(self._client.batches.list(limit=100))
                if remote.input_file_id in files
                and remote.id not in known
                and remote.status != "failed"  # holds no answer, now or later
            ]
            newest = max(found, key=lambda remote: remote.created_at, default=None)
            return files[0], newest.id if newest else ""

    def _files(
        self, requests: Iterable[Mapping[str, Any]]
    ) -> Iterator[tuple[str, dict[str, bytes]]]:
        """Cut requests into files that the API takes: a model, and lines by request id."""
        files: dict[str, dict[str, bytes]] = {}
        sizes: Counter[str] = Counter()
        for request in sorted(requests, key=lambda request: str(request["custom_id"])):
            try:
                id_, model = str(request["custom_id"]), str(request["body"]["model"])
            except (KeyError, TypeError):
                raise UsageError(
                    f"{self._pending}: {request['custom_id']} has no body with a model"
                ) from None
            line = canonical_json(request).encode() + b"\n"
            if len(line) > self._most_bytes:
                raise UsageError(
                    f"{self._pending}: {id_} has {len(line):,} bytes, the Batch API takes "
                    f"{self._most_bytes:,}"
                )
            file = files.setdefault(model, {})
            if len(file) == self._most_requests or sizes[model] + len(line) > self._most_bytes:
                yield model, file
                file = files[model] = {}
                sizes[model] = 0
            file[id_] = line
            sizes[model] += len(line)
        yield from files.items()

    def _make(self, model: str, lines: Mapping[str, bytes]) -> None:
        """Have one batch made, or take up the one that the server has of the same requests."""
        content = b"".join(lines.values())
        name = f"miniwob-{hashlib.sha256(content).hexdigest()[:32]}.jsonl"
        batch = Batch(name, model, list(lines))
        self._batches.append(batch)
        self._save()
        file, batch.id = self._look_up(name)
        how = "submitted before and found again"
        if not batch.id:
            how = "submitted"
            if not file:
                with self._asking("the file of requests"):
                    file = _identified(
                        self._client.files.create(file=(name, content), purpose="batch")
                    ).id
            # Not tried again by the client, which can't know whether a batch was made: we look.
            with self._asking("the batch", "; `miniwob-agent batch submit` goes on from there"):
                batch.id = _identified(
                    self._client.with_options(max_retries=0).batches.create(
                        input_file_id=file,
                        endpoint="/v1/chat/completions",
                        completion_window="24h",
                        metadata={"file": name},
                    )
                ).id
        self._save()
        self._tell(batch, how)

    def _tell(self, batch: Batch, how: str) -> None:
        self._say(f"{batch.id}  {counted(len(batch.requests), 'request')} for {batch.model}, {how}")

    # Fetching

    def _fetch(self, batch: Batch, remote: Remote) -> bool:
        """Merge the answers of one batch; whether every request has one."""
        came: dict[str, dict[str, Any]] = {}
        for file in (remote.error_file_id, remote.output_file_id):
            if file:
                came |= self._download(batch, file)
        answers = {id_: answer for id_, answer in came.items() if _is_completion(answer)}
        errors = {
            id_: _error_of(came[id_]) if id_ in came else "no answer came back"
            for id_ in dict.fromkeys([*batch.requests, *came])
            if id_ not in answers
        }
        if answers:
            known = self._read_answers()
            lines = known | answers | known  # the first answer to a request stays, in its place
            text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines.values())
            write_atomically(self._answers, text)
        batch.fetched = True
        self._save()
        self._say(
            f"{batch.id}  {remote.status}  {counted(len(answers), 'answer')}, "
            f"{counted(len(errors), 'error')}"
        )
        for id_, error in list(errors.items())[:SHOWN]:
            self._say(f"  {id_}: {error}")
        if len(errors) > SHOWN:
            self._say(f"  and {len(errors) - SHOWN} more")
        if errors:
            self._say(
                f"  `miniwob-agent batch submit` submits {counted(len(errors), 'request')} again"
            )
        return not errors

    def _download(self, batch: Batch, file: str) -> dict[str, dict[str, Any]]:
        """The lines of an output or error file, by request id; none if it is gone."""
        with self._asking(f"to give the answers of {batch.id}"):
            try:
                text = self._client.files.content(file).content.decode()
            except openai.NotFoundError:
                self._say(f"{batch.id}: {file} is no longer on the server")
                return {}
        return _parse(text, f"{file} of {batch.id}")


# The client takes whatever is answered for what was asked for, and leaves out what is missing.


def _identified(answer: Answered) -> Answered:
    """What was answered, if it has an id; else a ValueError."""
    if not isinstance(answer.id, str):
        raise ValueError("there is no id in it")
    return answer


def _listed(page: SyncCursorPage[Answered]) -> Iterable[Answered]:
    """All items of a list that was answered, page by page; a ValueError if it is none."""
    if not isinstance(page.data, list):
        raise ValueError("there is no list in it")
    return page


def _parse(text: str, where: str) -> dict[str, dict[str, Any]]:
    """Answer lines by request id."""
    return by_id(
        text, lambda number: MiniwobError(f"{where}, line {number}, is no answer of a batch file")
    )


def _body(answer: Mapping[str, Any]) -> tuple[int, Any]:
    """Status and body of an answer's response."""
    response = answer.get("response")
    if not isinstance(response, dict):
        return 0, None
    return response.get("status_code", 0), response.get("body")


def _is_completion(answer: Mapping[str, Any]) -> bool:
    status, body = _body(answer)
    return completion_of(status, body or {}) is not None


def _error_of(answer: Mapping[str, Any]) -> str:
    """Why an answer holds no completion."""
    error = answer.get("error") or _body(answer)[1]
    if isinstance(error, dict):
        error = error.get("error") or error
    message = error.get("message") if isinstance(error, dict) else None
    return _one_line(str(message or f"no completion: {canonical_json(error)}"))


def _reason_of(remote: Remote) -> str:
    """Why a batch failed as a whole."""
    errors = (remote.errors.data if remote.errors else None) or []
    return _one_line(str(errors[0].message)) if errors else ""


def _counts(remote: Remote) -> tuple[int, int, int]:
    """Requests of a batch that are completed, that failed, and all."""
    counts = remote.request_counts
    return (counts.completed, counts.failed, counts.total) if counts else (0, 0, 0)


def _one_line(text: str) -> str:
    """A text of the server as it may be shown."""
    text = " ".join(redact(text).split())
    return text if len(text) <= 300 else text[:299] + "…"
