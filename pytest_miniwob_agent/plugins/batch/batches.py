"""The steps of `miniwob-agent batch`: deferred recording through a provider's Batch API.

https://platform.openai.com/docs/guides/batch

The server knows what was submitted. Requests are uploaded as files that are named after a digest of
their content, and every step reads the batches of these files again. So a step can be interrupted
and repeated, and no request is submitted while a batch holds it or its completion.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import filelock
import openai
from openai.types import Batch as RemoteBatch

from pytest_miniwob_agent.cassettes.deferred import (
    Line,
    keep_answers,
    parse_lines,
    parse_request,
    read_answers,
    read_pending,
)
from pytest_miniwob_agent.cassettes.folder import PENDING
from pytest_miniwob_agent.core.data import canonical_json
from pytest_miniwob_agent.core.errors import ModelError, UsageError
from pytest_miniwob_agent.core.files import shown_from_here
from pytest_miniwob_agent.core.secrets import find, mask, refuse
from pytest_miniwob_agent.core.text import counted, first_items, shorten
from pytest_miniwob_agent.models.client import (
    RETRIES,
    Keys,
    advice_on_connection,
    checked_environment,
)
from pytest_miniwob_agent.models.params import is_server, sent_only_strings, shown_url, split_url

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
        return self.remote.status in ENDED

    @property
    def counts(self) -> tuple[int, int, int]:
        """The number of requests that completed, that failed, and of all."""
        counts = self.remote.request_counts
        return (counts.completed, counts.failed, counts.total) if counts else (0, 0, 0)

    def __str__(self) -> str:
        return f"{self.remote.id}  {self.remote.status}"

    @property
    def failure(self) -> str:
        """The reason why the batch failed as a whole, after a colon; empty if it did not."""
        errors = (self.remote.errors.data if self.remote.errors else None) or []
        return f": {shorten(mask(str(errors[0].message)))}" if errors else ""


class Batches:
    """The batches of one batch file, with `answers.jsonl` beside it; to be closed.

    Without a `base_url`, the server is that of `OPENAI_BASE_URL` or the client's default. The key
    is that of `key_variable`, or of `OPENAI_API_KEY`. Every step raises:

    - `ModelError`: the server can't be reached, refuses, or gives an invalid answer.
    - `UsageError`: there is no key, the address is not valid, or a file is damaged.
    """

    def __init__(
        self,
        pending: Path,
        base_url: str | None,
        key_variable: str | None = None,
        retries: int = RETRIES,
    ) -> None:
        self._pending = pending
        self._key_variable = key_variable
        self._option = base_url
        self._address = base_url or os.environ.get("OPENAI_BASE_URL") or None
        self._retries = retries
        self._lock = filelock.FileLock(pending.with_name("batches.lock"))
        self._ids_in: dict[str, set[str]] = {}

    @cached_property
    def _client(self) -> openai.OpenAI:
        if self._address and not is_server(self._address):
            raise UsageError("--base-url or OPENAI_BASE_URL must be an http or https address")
        key = Keys(self._address, self._key_variable, "--base-url").key()
        server, query = split_url(self._address)
        with checked_environment():
            return openai.OpenAI(
                api_key=key, base_url=server, default_query=query, max_retries=self._retries
            )

    def close(self) -> None:
        if "_client" in vars(self):
            self._client.close()

    def submit(self) -> bool:
        """Submit every request that is neither in a batch nor answered; take answers first."""
        if not (waiting := self._waiting()):
            return True
        with self._lock:
            in_flight, _ = self._take(waiting)
            done = in_flight | read_answers(self._pending).keys()
            files = list(self._split(waiting[id_] for id_ in sorted(waiting) if id_ not in done))
            uploaded = {name: id_ for id_, name in self._uploaded().items()} if files else {}
            for (model, path), lines in files:
                made = self._create_batch(path, b"".join(lines), uploaded)
                print(f"{made}  {counted(len(lines), 'request')} for {model}, submitted")
        if not files:
            print("nothing to submit")
        self._say_next(waiting, in_flight)
        return True

    def status(self, wait: Callable[[str], None] | None = None) -> bool:
        """Report the batches of pending requests; return True if none failed, not even in part.

        With `wait`, which receives the progress, wait first until all batches have ended.
        """
        unanswered = self._waiting().keys() - read_answers(self._pending).keys()
        batches = self._batches(unanswered)
        pause = PAUSE
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
            print(f"{batch}  {completed} completed, {failed} failed, {total} in all{batch.failure}")
        if count := len(unanswered) - sum(len(batch.ids) for batch in batches):
            print(f"{counted(count, 'request')} not submitted: `{self._command('submit')}`")
        if any(batch.ended for batch in batches):
            print(f"next: {self._command('fetch')}")
        return not any(batch.counts[1] or batch.remote.status in ENDED[1:] for batch in batches)

    def fetch(self) -> bool:
        """Take the answers of batches that have ended; return True if none is an error."""
        if not (waiting := self._waiting()):
            return True
        with self._lock:
            in_flight, failed = self._take(waiting)
        if failed:
            command = self._command("submit")
            print(f"{counted(len(failed), 'request')} failed: `{command}` submits them again")
        self._say_next(waiting, in_flight)
        return not failed

    def _waiting(self) -> dict[str, Line]:
        waiting = read_pending(self._pending)
        if not waiting:
            print(
                f"no request is pending in {self._pending}; `pytest --miniwob-record=defer` writes "
                "it if a call needs a completion"
            )
        return waiting

    def _command(self, step: str) -> str:
        """Return the command of a step that works in the working directory, without secrets."""
        command = f"miniwob-agent batch {step}"
        if self._pending.absolute() != PENDING.absolute():
            command += f" --pending={shlex.quote(str(shown_from_here(self._pending)))}"
        if self._option:
            command += f" --base-url={shlex.quote(shown_url(self._option))}"
        return command

    def _say_next(self, waiting: Mapping[str, Line], in_flight: Collection[str]) -> None:
        if in_flight:
            command = self._command("status --wait")
            print(f"{counted(len(in_flight), 'request')} in flight: `{command}`")
        if ready := len(waiting.keys() & read_answers(self._pending).keys()):
            file = shlex.quote(str(self._pending.with_name("answers.jsonl")))
            command = f"pytest --miniwob-record=defer --miniwob-answers={file}"
            print(f"{counted(ready, 'request')} answered. next: {command}")

    def _take(self, waiting: Mapping[str, Line]) -> tuple[set[str], set[str]]:
        """Take the answers of batches that have ended; return the requests in flight and failed."""
        in_flight, failed = set[str](), set[str]()
        for batch in self._batches(waiting.keys() - read_answers(self._pending).keys()):
            if not batch.ended:
                in_flight |= batch.ids
                continue
            lines: dict[str, Line] = {}
            # The output comes last: of a request in both, the answer counts.
            for file in filter(None, (batch.remote.error_file_id, batch.remote.output_file_id)):
                lines |= self._lines(file)
            requests = {id_: waiting[id_] for id_ in sorted(batch.ids)}
            errors = keep_answers(self._pending, requests, lines)
            answers = counted(len(requests) - len(errors), "answer")
            print(f"{batch}  {answers}, {counted(len(errors), 'error')}{batch.failure}")
            for line in first_items([f"{id_}: {why}" for id_, why in errors.items()], 5):
                print(f"  {line}")
            failed |= errors.keys()
        return in_flight, failed

    def _batches(self, ids: Collection[str]) -> list[Batch]:
        """Return the batches that hold these requests, newest first, each request in one."""
        if not ids:
            return []
        files = self._uploaded()
        with self._errors("the list of batches"):
            page = self._client.batches.list(limit=100)
            _check_type(page.data, list)
            remotes = [remote for remote in page if remote.input_file_id in files]
            remotes = [remote for remote in remotes if remote.created_at > time.time() - KEPT]
        left, found = set(ids), []
        # A request that was submitted again belongs to its newest batch.
        for remote in sorted(remotes, key=lambda remote: remote.created_at, reverse=True):
            file = remote.input_file_id
            if file not in self._ids_in:
                self._ids_in[file] = set(self._lines(file))
            if held := left & self._ids_in[file]:
                found.append(Batch(remote, held))
                left -= held
        return found

    def _uploaded(self) -> dict[str, str]:
        with self._errors("the list of files"):
            page = self._client.files.list(purpose="batch")
            _check_type(page.data, list)
            files = {file.id: file.filename for file in page}
        return {id_: name for id_, name in files.items() if name.startswith("miniwob-")}

    def _lines(self, file: str) -> dict[str, Line]:
        """Return the lines of a file by request id; empty if the server has dropped it."""
        with self._errors(f"the content of {file}"):
            try:
                text = self._client.files.content(file).content.decode()
            except openai.NotFoundError:
                return {}
        return parse_lines(text, file)

    def _split(self, requests: Iterable[Line]) -> Iterator[tuple[tuple[str, str], list[bytes]]]:
        """Yield the model and the path of each file that the API takes, and its lines.

        Raises:
            UsageError: a request can't be submitted; the message names it.
            CassetteError: it holds what looks like a secret.
        """
        files: dict[tuple[str, str], list[bytes]] = defaultdict(list)
        sizes: Counter[tuple[str, str]] = Counter()
        for request in requests:
            path, name = parse_request(request).path, f"{self._pending}: {request['custom_id']}"
            refuse(
                find(request["body"]),
                name,
                ": nothing was submitted; `pytest --miniwob-record=defer` writes the file again "
                "without such requests",
                allow=request.get("allow", ()),
            )
            if path not in ENDPOINTS:
                raise UsageError(
                    f"{name} is a request to {path}, which the Batch API does not take: it takes "
                    f"{', '.join(ENDPOINTS)}; record this item with --miniwob-record=new_episodes"
                )
            streaming = ("stream", "stream_options")  # a batch streams nothing
            body = {key: part for key, part in request["body"].items() if key not in streaming}
            sent = {key: part for key, part in request.items() if key != "allow"}
            line = canonical_json({**sent, "body": body}).encode() + b"\n"
            kind = str(body.get("model")), path
            full = len(files[kind]) == MAX_REQUESTS or sizes[kind] + len(line) > MAX_BYTES
            if full and files[kind]:
                yield kind, files.pop(kind)
                del sizes[kind]
            files[kind].append(line)
            sizes[kind] += len(line)
        yield from files.items()

    def _create_batch(self, path: Any, content: bytes, uploaded: Mapping[str, str]) -> str:
        # An earlier attempt may have left the file on the server.
        name = f"miniwob-{hashlib.sha256(content).hexdigest()[:32]}.jsonl"
        if not (file := uploaded.get(name)):
            with self._errors("the file of requests"):
                file = self._client.files.create(file=(name, content), purpose="batch").id
                _check_type(file, str)
        # Not repeated by the client, which can't know whether the first attempt succeeded.
        batches = self._client.with_options(max_retries=0).batches
        with self._errors("the batch", f"; `{self._command('submit')}` continues from there"):
            made = batches.create(input_file_id=file, endpoint=path, completion_window="24h").id
            _check_type(made, str)
        return made

    @contextmanager
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
        known = [self._client.api_key, *sent_only_strings({}, self._address)]
        problem = shorten(mask(problem, known))
        raise ModelError(f"{server} {problem}{hint}")


def _check_type(part: Any, kind: type) -> None:
    # The client itself builds its types from any JSON.
    if not isinstance(part, kind):
        raise ValueError(f"{part!r:.80} stands in the place of a {kind.__name__}")
