"""The steps of `miniwob-agent batch`: deferred recording through a provider's Batch API.

https://platform.openai.com/docs/guides/batch

The server knows what was submitted. Requests are uploaded as files that are named after a digest of
their content, and every step reads the batches of these files again. So a step can be interrupted
and repeated, and no request is submitted while a batch holds it or its completion.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shlex
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import filelock
import openai
from openai.types import Batch as RemoteBatch

from pytest_miniwob_agent.cassettes.deferred import answers
from pytest_miniwob_agent.cassettes.deferred.batch_command import batch_command
from pytest_miniwob_agent.cassettes.deferred.pending import Line, read_pending, request_of
from pytest_miniwob_agent.core.data import canonical_json
from pytest_miniwob_agent.core.errors import ModelError, UsageError
from pytest_miniwob_agent.core.secrets import find, redact
from pytest_miniwob_agent.core.text import counted, first_items, shorten
from pytest_miniwob_agent.models.apis import CHAT
from pytest_miniwob_agent.models.client import RETRIES, Keys, checked_environment
from pytest_miniwob_agent.models.failures import advice_on_connection
from pytest_miniwob_agent.models.params import is_server, sent_only_texts, shown_url, split_url

MAX_REQUESTS, MAX_BYTES = 50_000, 200_000_000
"""The number of requests and the size that the API allows for a file."""

ENDPOINTS = (
    "/v1/chat/completions", "/v1/responses", "/v1/embeddings", "/v1/completions", "/v1/moderations",
)  # fmt: skip
"""The paths that the API takes requests for."""

ENDED = ("completed", "failed", "expired", "cancelled")
"""The final statuses of a batch."""

KEPT = 30 * 24 * 60 * 60
"""Seconds after which older batches are ignored: a server drops their answers."""

PAUSE, LONGEST_PAUSE = 2, 60
"""Seconds between the first two looks at the status, and between later ones."""


class Batch(NamedTuple):
    """A batch on the server, and the waiting requests for which no newer batch was made."""

    remote: RemoteBatch
    ids: set[str]

    @property
    def ended(self) -> bool:
        """True if the batch has a final status."""
        return self.remote.status in ENDED

    @property
    def counts(self) -> tuple[int, int, int]:
        """The number of requests that completed, that failed, and of all."""
        counts = self.remote.request_counts
        return (counts.completed, counts.failed, counts.total) if counts else (0, 0, 0)

    @property
    def failure(self) -> str:
        """The reason why the batch failed as a whole, after a colon; empty if it did not."""
        errors = (self.remote.errors.data if self.remote.errors else None) or []
        return f": {shorten(redact(str(errors[0].message)))}" if errors else ""


class Batches:
    """The batches of one batch file; to be closed.

    Args:
        pending: the batch file; `answers.jsonl` is beside it.
        base_url: the server; None leaves it to `OPENAI_BASE_URL` or the client's default.
        say: receives each line for people.
        limits: the number of requests and the size in bytes of a file.
        retries: how often the client repeats a refused or dropped call.
        pause: seconds between the first two looks at the status.

    Every step raises:
        ModelError: the server can't be reached, refuses, or gives an invalid answer.
        UsageError: there is no key, the address is not valid, or a file is damaged.
    """

    def __init__(
        self,
        pending: Path,
        base_url: str | None,
        say: Callable[[str], None],
        *,
        limits: tuple[int, int] = (MAX_REQUESTS, MAX_BYTES),
        retries: int = RETRIES,
        pause: float = PAUSE,
    ) -> None:
        self._pending = pending
        self._option = base_url
        self._address = base_url or os.environ.get("OPENAI_BASE_URL") or None
        self._say = say
        self._limits, self._retries, self._pause = limits, retries, pause
        self._lock = filelock.FileLock(pending.with_name("batches.lock"))
        self._ids_in: dict[str, set[str]] = {}

    @cached_property
    def _client(self) -> openai.OpenAI:
        if self._address and not is_server(self._address):
            raise UsageError("--base-url or OPENAI_BASE_URL must be an http or https address")
        key = Keys(self._address, option="--base-url").openai_key()
        server, query = split_url(self._address)
        with checked_environment():
            return openai.OpenAI(
                api_key=key, base_url=server, default_query=query, max_retries=self._retries
            )

    def close(self) -> None:
        """Close the connection to the server, if there is one."""
        if "_client" in vars(self):
            self._client.close()

    def submit(self) -> None:
        """Submit every request that is neither in a batch nor answered; take answers first."""
        if not (waiting := self._waiting()):
            return
        with self._lock:
            in_flight, _ = self._take(waiting)
            done = in_flight | answers.read_answers(self._pending).keys()
            files = list(self._split(waiting[id_] for id_ in waiting if id_ not in done))
            uploaded = self._uploaded() if files else {}
            for (model, path), lines in files:
                self._make(model, path, lines, uploaded)
        if not files:
            self._say("nothing to submit")
        self._say_next(waiting, in_flight)

    def status(self, wait: Callable[[str], None] | None = None) -> bool:
        """Report the batches of pending requests; return True if none failed, not even in part.

        With `wait`, which receives the progress, wait first until all batches have ended.
        """
        unanswered = self._waiting().keys() - answers.read_answers(self._pending).keys()
        batches = self._batches(unanswered)
        pause = self._pause
        while wait and (running := [batch.counts for batch in batches if not batch.ended]):
            done, _, total = map(sum, zip(*running, strict=True))
            wait(f"{counted(len(running), 'batch', 'es')} running, {done} of {total} requests done")
            time.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)
            batches = self._batches(unanswered)
        if wait:
            wait("")
        for batch in reversed(batches):
            completed, failed, total = batch.counts
            self._say(
                f"{batch.remote.id}  {batch.remote.status}  {completed} completed, {failed} failed,"
                f" {total} in all{batch.failure}"
            )
        if count := len(unanswered) - sum(len(batch.ids) for batch in batches):
            self._say(f"{counted(count, 'request')} not submitted: `{self._command('submit')}`")
        if any(batch.ended for batch in batches):
            self._say(f"next: {self._command('fetch')}")
        return not any(batch.counts[1] or batch.remote.status in ENDED[1:] for batch in batches)

    def fetch(self) -> bool:
        """Take the answers of batches that have ended; return True if none is an error."""
        if not (waiting := self._waiting()):
            return True
        with self._lock:
            in_flight, failed = self._take(waiting)
        if failed:
            command = self._command("submit")
            self._say(f"{counted(len(failed), 'request')} failed: `{command}` submits them again")
        self._say_next(waiting, in_flight)
        return not failed

    def _waiting(self) -> dict[str, Line]:
        """Return the requests that wait; say so if there are none."""
        waiting = read_pending(self._pending)
        if not waiting:
            self._say(
                f"no request is pending in {self._pending}; `pytest --miniwob-record=defer` writes "
                "it if a call needs a completion"
            )
        return waiting

    def _command(self, step: str) -> str:
        return batch_command(step, self._pending, self._option)

    def _say_next(self, waiting: Mapping[str, Line], in_flight: Collection[str]) -> None:
        if in_flight:
            command = self._command("status --wait")
            self._say(f"{counted(len(in_flight), 'request')} in flight: `{command}`")
        if ready := len(waiting.keys() & answers.read_answers(self._pending).keys()):
            file = shlex.quote(str(self._pending.with_name("answers.jsonl")))
            command = f"pytest --miniwob-record=defer --miniwob-answers={file}"
            self._say(f"{counted(ready, 'request')} answered. next: {command}")

    def _take(self, waiting: Mapping[str, Line]) -> tuple[set[str], set[str]]:
        """Take the answers of batches that have ended; return the requests in flight and failed."""
        in_flight, failed = set[str](), set[str]()
        for batch in self._batches(waiting.keys() - answers.read_answers(self._pending).keys()):
            if not batch.ended:
                in_flight |= batch.ids
                continue
            remote, lines = batch.remote, dict[str, Line]()
            for file in (remote.error_file_id, remote.output_file_id):
                lines |= self._lines(file) if file else {}
            requests = {id_: waiting[id_] for id_ in sorted(batch.ids)}
            errors = answers.keep_answers(self._pending, requests, lines)
            self._say(
                f"{remote.id}  {remote.status}  {counted(len(requests) - len(errors), 'answer')}, "
                f"{counted(len(errors), 'error')}{batch.failure}"
            )
            texts = [f"{id_}: {why}" for id_, why in errors.items()]
            for line in first_items(texts, 5):
                self._say(f"  {line}")
            failed |= errors.keys()
        return in_flight, failed

    def _batches(self, ids: Collection[str]) -> list[Batch]:
        """Return the batches that hold these requests, newest first, each request in one."""
        files = self._uploaded() if ids else {}
        with self._errors("the list of batches"):
            remotes = [
                remote
                for remote in (_all(self._client.batches.list(limit=100)) if files else ())
                if remote.input_file_id in files and remote.created_at > time.time() - KEPT
            ]
        left, found = set(ids), []
        for remote in sorted(remotes, key=lambda remote: remote.created_at, reverse=True):
            file = remote.input_file_id
            if file not in self._ids_in:
                self._ids_in[file] = set(self._lines(file))
            if held := left & self._ids_in[file]:
                found.append(Batch(remote, held))
                left -= held
        return found

    def _uploaded(self) -> dict[str, str]:
        """Return the names of the uploaded files of requests by id."""
        with self._errors("the list of files"):
            files = _all(self._client.files.list(purpose="batch"))
            return {
                file.id: file.filename for file in files if file.filename.startswith("miniwob-")
            }

    def _lines(self, file: str) -> dict[str, Line]:
        """Return the lines of a file by request id; none if the server has dropped it."""
        with self._errors(f"the content of {file}"):
            try:
                text = self._client.files.content(file).content.decode()
            except openai.NotFoundError:
                return {}
        return answers.parse_answers(text, file)

    def _split(self, requests: Iterable[Line]) -> Iterator[tuple[tuple[str, str], list[bytes]]]:
        """Yield the model and the path of each file that the API takes, and its lines.

        Raises:
            UsageError: a request can't be submitted; the message names it.
        """
        most, size = self._limits
        files: dict[tuple[str, str], list[bytes]] = defaultdict(list)
        sizes: Counter[tuple[str, str]] = Counter()
        for request in sorted(requests, key=lambda request: str(request["custom_id"])):
            self._check(request)
            body = {**request["body"]}
            for name in ("stream", "stream_options"):  # a batch streams nothing
                body.pop(name, None)
            line = canonical_json({**request, "body": body}).encode() + b"\n"
            kind = str(body.get("model")), request_of(request).path
            full = len(files[kind]) == most or sizes[kind] + len(line) > size
            if full and files[kind]:
                yield kind, files.pop(kind)
                del sizes[kind]
            files[kind].append(line)
            sizes[kind] += len(line)
        yield from files.items()

    def _check(self, request: Line) -> None:
        path, problem = request_of(request).path, ""
        if found := find(request["body"]):
            problem = (
                f"holds what looks like a secret ({found[0].kind}): nothing was submitted; "
                "`pytest --miniwob-record=defer` writes the file again without such requests"
            )
        elif path not in ENDPOINTS:
            problem = (
                f"is a request to {path}, which the Batch API does not take: it takes "
                f"{', '.join(ENDPOINTS)}; record this item with --miniwob-record=new_episodes"
            )
        if problem:
            raise UsageError(f"{self._pending}: {request['custom_id']} {problem}")

    def _make(self, model: str, path: Any, lines: list[bytes], uploaded: dict[str, str]) -> None:
        """Make one batch, of a file that may be on the server already from an earlier attempt."""
        content = b"".join(lines)
        name = f"miniwob-{hashlib.sha256(content).hexdigest()[:32]}.jsonl"
        file = next((id_ for id_ in uploaded if uploaded[id_] == name), "")
        if not file:
            with self._errors("the file of requests"):
                file = _id(self._client.files.create(file=(name, content), purpose="batch"))
        # Not repeated by the client, which can't know whether the first attempt succeeded.
        batches = self._client.with_options(max_retries=0).batches
        with self._errors("the batch", f"; `{self._command('submit')}` continues from there"):
            made = _id(batches.create(input_file_id=file, endpoint=path, completion_window="24h"))
        at = "" if path == CHAT else f" at {path}"
        self._say(f"{made}  {counted(len(lines), 'request')} for {model}{at}, submitted")

    @contextlib.contextmanager
    def _errors(self, what: str, hint: str = "") -> Iterator[None]:
        """Turn every error of the client into a ModelError of one line; `what` was asked for."""
        try:
            yield
            return
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            problem = f"can't be reached: {cause}"
            hint = advice_on_connection(cause, "--base-url") or hint
        except openai.APIStatusError as error:
            problem = f"refused {what}: {error}"
        except (openai.OpenAIError, ValueError, TypeError, AttributeError) as error:
            problem = f"gave an invalid answer for {what}: {error}"
        server = shown_url(str(self._client.base_url)).rstrip("/")
        problem = shorten(redact(problem, sent_only_texts({}, self._address)))
        raise ModelError(f"{server} {problem}{hint}")


def _id(answer: Any) -> str:
    """Return the id of what was made; the client itself builds its types from any JSON."""
    if not isinstance(answer.id, str):
        raise ValueError("it has no id")
    return answer.id


def _all(page: Any) -> Iterator[Any]:
    """Yield all entries of a list, page by page."""
    if not isinstance(page.data, list):
        raise ValueError("it is not a list")
    yield from page
