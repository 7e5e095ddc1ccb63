"""The calls to a provider's Batch API (https://platform.openai.com/docs/guides/batch)."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from typing import Any, TypeVar
from urllib.parse import urlsplit

import openai
from openai.pagination import SyncCursorPage
from openai.types import Batch as RemoteBatch
from openai.types import FileObject

from pytest_miniwob_agent.core.errors import ModelError, UsageError
from pytest_miniwob_agent.core.secrets import redact
from pytest_miniwob_agent.core.text import shorten
from pytest_miniwob_agent.models.client import checked_environment
from pytest_miniwob_agent.models.failures import advice_on_connection
from pytest_miniwob_agent.models.keys import Keys
from pytest_miniwob_agent.models.params import sent_only_texts, shown_url, split_url

ENDPOINTS = (
    "/v1/chat/completions", "/v1/responses", "/v1/embeddings", "/v1/completions", "/v1/moderations",
)  # fmt: skip
"""The paths that the Batch API takes requests for."""

ENDED = ("completed", "failed", "expired", "cancelled")
"""The final statuses of a batch."""

Answer = TypeVar("Answer", RemoteBatch, FileObject)


class BatchApi:
    """A server that speaks the Batch API.

    Args:
        base_url: the server; None leaves it to `OPENAI_BASE_URL` or the client's default.
        retries: how often a refused or dropped call is repeated, with the client's own back-off.
        submit: the command that submits.

    Every method may raise:
        ModelError: the server can't be reached, refuses, or gives an invalid answer.
        UsageError: there is no key, or the address is not valid.
    """

    def __init__(self, base_url: str | None, retries: int, submit: str) -> None:
        self._base_url = base_url or os.environ.get("OPENAI_BASE_URL") or None
        self._retries = retries
        self._submit = submit

    @cached_property
    def _client(self) -> openai.OpenAI:
        key = Keys(self._base_url, option="--base-url").openai_key()
        server, query = split_url(self._base_url)
        with checked_environment():
            return openai.OpenAI(
                api_key=key, base_url=server, default_query=query, max_retries=self._retries
            )

    def close(self) -> None:
        """Close the connection to the server, if there is one."""
        if "_client" in vars(self):
            self._client.close()

    @cached_property
    def server(self) -> str:
        """The server's address without user and query, so that it may be shown and stored."""
        try:
            parts = urlsplit(self._base_url or str(self._client.base_url))
        except ValueError:
            parts = urlsplit("")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError("--base-url or OPENAI_BASE_URL must be an http or https address")
        return shown_url(parts.geturl(), omitted="").rstrip("/")

    def find(self, name: str, known: Collection[str]) -> tuple[str, str]:
        """Return the ids of the uploaded file of this name and of its newest batch.

        Each is empty if there is none. Batches in `known` and failed ones are left out.
        """
        with self._errors("the list of files and batches"):
            files = [
                file.id
                for file in _check_list(self._client.files.list(purpose="batch"))
                if file.filename == name
            ]
            if not files:
                return "", ""
            batches = [
                remote
                for remote in _check_list(self._client.batches.list(limit=100))
                if remote.input_file_id in files
                and remote.id not in known
                and remote.status != "failed"  # holds no answer, now or later
            ]
            newest = max(batches, key=lambda remote: remote.created_at, default=None)
            return files[0], newest.id if newest else ""

    def upload(self, name: str, content: bytes) -> str:
        """Upload a file of requests, and return its id."""
        with self._errors("the file of requests"):
            file = self._client.files.create(file=(name, content), purpose="batch")
            return _check_id(file).id

    def create(self, file: str, name: str, url: Any) -> str:
        """Make a batch of an uploaded file of requests to `url`, and return its id.

        The client does not repeat this call, as it can't know whether the first one succeeded.
        """
        hint = f"; `{self._submit}` continues from there"
        with self._errors("the batch", hint):
            batch = self._client.with_options(max_retries=0).batches.create(
                input_file_id=file,
                endpoint=url,
                completion_window="24h",
                metadata={"file": name},
            )
            return _check_id(batch).id

    def retrieve(self, id_: str) -> RemoteBatch:
        """Return a batch as the server has it now."""
        with self._errors(f"the status of {id_}"):
            return _check_id(self._client.batches.retrieve(id_))

    def download(self, file: str, batch: str) -> str | None:
        """Return the text of a batch's output or error file; None if the server has dropped it."""
        with self._errors(f"the answers of {batch}"):
            try:
                return self._client.files.content(file).content.decode()
            except openai.NotFoundError:
                return None

    @contextlib.contextmanager
    def _errors(self, what: str, hint: str = "") -> Iterator[None]:
        """Turn every error of the client into a ModelError of one line; `what` was asked for."""
        try:
            yield
            return
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            text, reason = "can't be reached", str(cause)
            hint = advice_on_connection(cause, "--base-url") or hint
        except openai.APIStatusError as error:
            text, reason = f"refused {what}", str(error)
        except (openai.OpenAIError, ValueError, TypeError, AttributeError) as error:
            text, reason = f"gave an invalid answer for {what}", str(error)
        reason = redact(reason, sent_only_texts({}, self._base_url))
        raise ModelError(f"{self.server} {text}: {shorten(reason)}{hint}")


def counts_of(remote: RemoteBatch) -> tuple[int, int, int]:
    """Return the number of a batch's requests that completed, that failed, and of all."""
    counts = remote.request_counts
    return (counts.completed, counts.failed, counts.total) if counts else (0, 0, 0)


def failure_of(remote: RemoteBatch) -> str:
    """Return the reason why a batch failed as a whole, or an empty text."""
    errors = (remote.errors.data if remote.errors else None) or []
    return shorten(redact(str(errors[0].message))) if errors else ""


# The client does not check what it reads: it builds its types from any JSON, with parts missing.


def _check_id(answer: Answer) -> Answer:
    if not isinstance(answer.id, str):
        raise ValueError("it has no id")
    return answer


def _check_list(page: SyncCursorPage[Answer]) -> Iterable[Answer]:
    """Return all items of a list, page by page."""
    if not isinstance(page.data, list):
        raise ValueError("it is not a list")
    return page
