"""Deferred recording through a provider's Batch API: submit requests, fetch their answers.

The requests of `pending.jsonl` are split into files that the API takes, and each is uploaded under
a name that is the digest of its content. So the server itself knows what was submitted: a batch
that was made just before a crash, or whose state was lost, is found by the name of its file.
"""

from __future__ import annotations

import hashlib
import shlex
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from openai.types import Batch as RemoteBatch

from pytest_miniwob_agent.cassettes.deferred.answers import (
    error_of,
    is_completion,
    parse_answers,
    path_in,
    read_answers,
    write_answers,
)
from pytest_miniwob_agent.cassettes.deferred.batch_api import (
    ENDED,
    BatchApi,
    counts_of,
    failure_of,
)
from pytest_miniwob_agent.cassettes.deferred.batch_command import batch_command
from pytest_miniwob_agent.cassettes.deferred.batch_file import (
    read_pending,
    request_of,
    write_pending,
)
from pytest_miniwob_agent.cassettes.deferred.batch_split import split_requests
from pytest_miniwob_agent.cassettes.deferred.batch_state import Batch, BatchState
from pytest_miniwob_agent.cassettes.deferred.pending_state import (
    PendingState,
    refusal,
    stem_of_request,
)
from pytest_miniwob_agent.cassettes.folder.stems import model_folder_of
from pytest_miniwob_agent.core.errors import ModelError
from pytest_miniwob_agent.core.text import counted, first_items
from pytest_miniwob_agent.models.apis import CHAT
from pytest_miniwob_agent.models.client import RETRIES

MAX_REQUESTS = 50_000
"""The number of requests that the API takes in one file."""

MAX_BYTES = 200_000_000
"""The size of a file that the API takes."""

SHOWN_ERRORS = 5
"""The number of a batch's errors that are shown."""

PAUSE, LONGEST_PAUSE = 2, 60
"""Seconds between the first requests for a status and between later ones; batches take long."""

_FOUND = "submitted before and found again"


class Batches:
    """The batches of one batch file; to be closed.

    Args:
        pending: the batch file; the state and the answers are beside it.
        base_url: the server; None leaves it to `OPENAI_BASE_URL` or the client's default.
        say: receives each line for people.
        max_requests: the number of requests in one batch.
        max_bytes: the size of one batch's file.
        retries: how often a refused or dropped call is repeated, with the client's own back-off.
        pause: seconds between the first requests for a status; it doubles each time.
    """

    def __init__(
        self,
        pending: Path,
        base_url: str | None,
        say: Callable[[str], None],
        *,
        max_requests: int = MAX_REQUESTS,
        max_bytes: int = MAX_BYTES,
        retries: int = RETRIES,
        pause: float = PAUSE,
    ) -> None:
        self._pending = pending
        self._answers = pending.with_name("answers.jsonl")
        self._base_url = base_url
        submit = self._command("submit")
        self._state = BatchState(pending.with_name("batches.json"), say, submit)
        self._api = BatchApi(base_url, retries, submit)
        self._say = say
        self._max_requests = max_requests
        self._max_bytes = max_bytes
        self._pause = pause

    def close(self) -> None:
        """Close the connection to the server."""
        self._api.close()

    def submit(self) -> None:
        """Submit every request that is neither in a batch nor answered.

        Requests of items that the last deferred run did not collect are left out, as are those
        whose answers were refused.

        Raises:
            ModelError: the server can't be reached or refuses; a second call continues from there.
            UsageError: no key, a damaged file, or a state that belongs to another server.
        """
        if not self._pending.exists():
            self._say(
                f"nothing to submit: there is no {self._pending}; "
                "`pytest --miniwob-record=defer` writes it if a call waits for a completion"
            )
            return
        with self._state.locked():
            waiting = read_pending(self._pending)
            asked = PendingState(self._pending)
            self._state.load(self._api.server)
            self._find_interrupted()
            states: dict[str, str] = {}
            for batch, remote in self._unfetched():
                if not self._discard_if_empty(batch, remote):
                    state = "ended" if remote.status in ENDED else "in flight"
                    states.update(dict.fromkeys(batch.requests, state))
            states.update(dict.fromkeys(read_answers(self._answers, waiting), "answered"))
            states.update(dict.fromkeys(asked.refused, "refused"))
            new = {id_: request for id_, request in waiting.items() if id_ not in states}
            fresh = [request for id_, request in new.items() if asked.is_wanted(id_)]
            for (model, url), lines in split_requests(
                self._pending, fresh, self._max_requests, self._max_bytes
            ):
                self._make(model, url, lines)
        if not fresh:
            self._say("nothing to submit")
        for state, place, command in (
            ("in flight", "in flight", self._command("status")),
            ("ended", "in a batch that has ended", self._command("fetch")),
            ("answered", "answered", self._next_command),
        ):
            if count := sum(states.get(id_) == state for id_ in waiting):
                self._say(f"{counted(count, 'request')} already {place}: `{command}`")
        self._say_unwanted([id_ for id_ in new if not asked.is_wanted(id_)])
        self._say_refused(asked)

    def drop_unused(self) -> None:
        """Remove the requests of items that the last deferred run did not collect.

        Those that are in a batch, or answered, are kept, since they are paid for.
        """
        with self._state.locked():
            waiting = read_pending(self._pending)
            asked = PendingState(self._pending)
            paid = self._state.in_flight() | read_answers(self._answers, waiting).keys()
            dropped = {id_ for id_ in waiting if not asked.is_wanted(id_) and id_ not in paid}
            write_pending(self._pending, [waiting[id_] for id_ in waiting if id_ not in dropped])
        self._say(f"{counted(len(dropped), 'request')} removed from {self._pending}")

    def drop_refused(self) -> None:
        """Forget the answers that were refused, so that they are asked for again."""
        with self._state.locked():
            asked = PendingState(self._pending)
            ids = list(asked.refused)
            answers = read_answers(self._answers, read_pending(self._pending))
            if not answers.keys().isdisjoint(ids):
                write_answers(
                    self._answers, {id_: answers[id_] for id_ in answers if id_ not in ids}
                )
            asked.accept(ids)
        self._say(f"{counted(len(ids), 'refused answer')} dropped")
        if ids:
            self._say(f"next: {self._command('submit')}")

    def _say_unwanted(self, ids: Iterable[str]) -> None:
        """Report the requests that are left out, by agent and model."""
        counts = Counter(model_folder_of(stem_of_request(id_)) for id_ in ids)
        drop = batch_command("drop unused", self._pending)
        for folder, count in sorted(counts.items()):
            self._say(
                f"{counted(count, 'request')} of {folder} left out, of items that the last "
                f"deferred run did not collect: run them again, or `{drop}`"
            )

    def _say_refused(self, asked: PendingState) -> None:
        """Report the requests whose answers were refused."""
        if asked.refused:
            texts = [f"{id_}: {why}" for id_, why in asked.refused.items()]
            self._say(f"{counted(len(texts), 'answer')} refused: `{asked.drop_refused}` asks again")
            for line in first_items(texts, SHOWN_ERRORS):
                self._say(f"  {line}")

    def status(self, wait: Callable[[str], None] | None = None) -> bool:
        """Report the status of each batch; nothing is changed.

        Args:
            wait: if given, wait until all batches have ended; it receives the progress.

        Returns:
            True if no batch failed, in whole or in part.
        """
        if not self._exists():
            return True
        self._state.load(self._api.server)
        remotes = self._remotes_at_end(wait) if wait else list(self._unfetched())
        successful = True
        for batch in self._state.batches:
            if batch.fetched:
                self._say(f"{batch.id}  fetched  {counted(len(batch.requests), 'request')}")
            elif not batch.id:
                successful = False
                self._say(f"(no id)  not made yet: `{self._command('submit')}` continues it")
        for batch, remote in remotes:
            completed, failed, total = counts_of(remote)
            reason = failure_of(remote)
            successful = successful and remote.status not in ENDED[1:] and not failed
            self._say(
                f"{batch.id}  {remote.status}  {completed} completed, {failed} failed, "
                f"{total or len(batch.requests)} in all" + (f": {reason}" if reason else "")
            )
        if any(remote.status in ENDED for _, remote in remotes):
            self._say(f"next: {self._command('fetch')}")
        self._say_refused(PendingState(self._pending))
        return successful

    def fetch(self) -> bool:
        """Put the answers of all batches that have ended into the answer file.

        Returns:
            True if every request of these batches has an answer.

        Raises:
            ModelError: the server can't be reached or refuses; what was fetched before is kept.
            UsageError: no key, a damaged file, or a state that belongs to another server.
        """
        if not self._exists():
            return True
        complete = True
        fetched = running = 0
        with self._state.locked():
            self._state.load(self._api.server)
            for batch, remote in self._unfetched():
                if remote.status not in ENDED:
                    running += 1
                elif self._discard_if_empty(batch, remote):
                    complete = False
                else:
                    fetched += 1
                    complete = self._fetch(batch, remote) and complete
            asked = PendingState(self._pending)
            waiting = read_pending(self._pending)
            ready = waiting.keys() & read_answers(self._answers, waiting).keys()
            ready -= asked.refused.keys()
        if not fetched:
            self._say("nothing new to fetch")
        if running:
            still_running = counted(running, "batch", "es")
            self._say(f"{still_running} not ended yet: `{self._command('status --wait')}`")
        if ready:
            self._say(f"{counted(len(ready), 'request')} answered. next: {self._next_command}")
        self._say_refused(asked)
        return complete

    def _command(self, step: str) -> str:
        """Return a command that works on the same batch file and the same server."""
        return batch_command(step, self._pending, self._base_url)

    @property
    def _next_command(self) -> str:
        answers = shlex.quote(str(self._answers))
        return f"pytest --miniwob-record=defer --miniwob-answers={answers}"

    def _exists(self) -> bool:
        """Return True if anything was submitted; say so if not."""
        if self._state.path.exists():
            return True
        self._say(
            f"nothing was submitted: there is no {self._state.path}; `{self._command('submit')}`"
        )
        return False

    def _unfetched(self) -> Iterator[tuple[Batch, RemoteBatch]]:
        """Yield each batch that has answers, now or later, with what the server has of it."""
        for batch in self._state.batches:
            if batch.id and not batch.fetched:
                yield batch, self._api.retrieve(batch.id)

    def _remotes_at_end(self, wait: Callable[[str], None]) -> list[tuple[Batch, RemoteBatch]]:
        """Wait until all batches have ended, and return them."""
        pause = self._pause
        while True:
            remotes = list(self._unfetched())
            running = [counts_of(remote) for _, remote in remotes if remote.status not in ENDED]
            if not running:
                wait("")
                return remotes
            completed = sum(completed for completed, _, _ in running)
            total = sum(total for _, _, total in running)
            still_running = counted(len(running), "batch", "es")
            wait(f"{still_running} running, {completed} of {total} requests done")
            time.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    def _discard_if_empty(self, batch: Batch, remote: RemoteBatch) -> bool:
        """Return True if a batch ended without an answer; say so and free its requests."""
        if remote.status not in ENDED or remote.output_file_id or remote.error_file_id:
            return False
        batch.fetched = True
        self._state.save()
        reason = failure_of(remote)
        count = counted(len(batch.requests), "request")
        self._say(
            f"{batch.id} {remote.status} without an answer{f' ({reason})' if reason else ''}: "
            f"`{self._command('submit')}` submits its {count} again"
        )
        return True

    def _find_interrupted(self) -> None:
        """Find the batches whose making was interrupted; forget those that were not made."""
        for batch in [batch for batch in self._state.batches if not batch.id]:
            _, batch.id = self._find(batch.name)
            if batch.id:
                self._say_made(batch, _FOUND)
            else:
                self._state.batches.remove(batch)
            self._state.save()

    def _find(self, name: str) -> tuple[str, str]:
        """Return the ids of an uploaded file and of a batch of it that the state does not know."""
        return self._api.find(name, {batch.id for batch in self._state.batches})

    def _make(self, model: str, url: str, lines: Mapping[str, bytes]) -> None:
        """Make one batch on the server, unless it already has one of the same requests."""
        content = b"".join(lines.values())
        name = f"miniwob-{hashlib.sha256(content).hexdigest()[:32]}.jsonl"
        # First: it fails where the server is wrong, which must not be kept as that of the batches.
        file, found = self._find(name)
        batch = Batch(name, model, list(lines), found, url=url)
        self._state.batches.append(batch)
        self._state.save()
        origin = _FOUND
        if not found:
            origin = "submitted"
            file = file or self._upload(batch, content)
            batch.id = self._api.create(file, name, url)
            self._state.save()
        self._say_made(batch, origin)

    def _upload(self, batch: Batch, content: bytes) -> str:
        """Upload the requests of a batch; forget the batch if that fails, as it can't exist."""
        try:
            return self._api.upload(batch.name, content)
        except ModelError:
            self._state.batches.remove(batch)
            self._state.save()
            raise

    def _say_made(self, batch: Batch, origin: str) -> None:
        count = counted(len(batch.requests), "request")
        at = "" if batch.url == CHAT else f" at {batch.url}"
        self._say(f"{batch.id}  {count} for {batch.model}{at}, {origin}")

    def _fetch(self, batch: Batch, remote: RemoteBatch) -> bool:
        """Merge the answers of one batch; return True if every request has one.

        Answers that hold what looks like a secret are refused and not kept.
        """
        lines: dict[str, dict[str, Any]] = {}
        for file in (remote.error_file_id, remote.output_file_id):
            if file:
                lines |= self._download(batch, file)
        requests = read_pending(self._pending)
        answers = {
            id_: line for id_, line in lines.items() if is_completion(line, path_in(requests, id_))
        }
        errors = {
            id_: error_of(lines[id_], request_of(requests.get(id_, {})))
            if id_ in lines
            else "no answer came back"
            for id_ in dict.fromkeys([*batch.requests, *lines])
            if id_ not in answers
        }
        refused = {id_: why for id_, line in answers.items() if (why := refusal(line))}
        answers = {id_: line for id_, line in answers.items() if id_ not in refused}
        PendingState(self._pending).refuse(refused)
        if answers:
            known = read_answers(self._answers, requests)
            # The first answer to a request stays, in its place.
            write_answers(self._answers, known | answers | known)
        batch.fetched = True
        self._state.save()
        self._say(
            f"{batch.id}  {remote.status}  {counted(len(answers), 'answer')}, "
            f"{counted(len(errors), 'error')}" + (f", {len(refused)} refused" if refused else "")
        )
        self._say_errors(errors)
        return not errors and not refused

    def _say_errors(self, errors: Mapping[str, str]) -> None:
        if not errors:
            return
        texts = [f"{id_}: {error}" for id_, error in errors.items()]
        for line in first_items(texts, SHOWN_ERRORS):
            self._say(f"  {line}")
        count = counted(len(errors), "request")
        self._say(f"  `{self._command('submit')}` submits {count} again")

    def _download(self, batch: Batch, file: str) -> dict[str, dict[str, Any]]:
        """Return the lines of an output or error file by request id; none if it is gone."""
        text = self._api.download(file, batch.id)
        if text is None:
            self._say(f"{batch.id}: {file} is no longer on the server")
            return {}
        return parse_answers(text, f"{file} of {batch.id}")
