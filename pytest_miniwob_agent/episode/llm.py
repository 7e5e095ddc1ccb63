"""The model as an agent gets it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from pytest_miniwob_agent.core.chat import Message, ModelRequest, ModelResponse, new_messages
from pytest_miniwob_agent.core.errors import CallLimit, UsageError
from pytest_miniwob_agent.core.events import Called, Completion, Origin
from pytest_miniwob_agent.core.protocols import HTTPModel, Model
from pytest_miniwob_agent.episode.trace import Trace
from pytest_miniwob_agent.models.apis import completion_in, find_api, response_to
from pytest_miniwob_agent.models.requests import (
    ChatCalls,
    ModelServer,
    async_openai_client,
    error_response,
    openai_client,
    read_completion,
)

if TYPE_CHECKING:
    import openai  # noqa: TID251 - for types alone


OVER = "The task is over."
"""What an agent is told that goes on once it is."""


class AgentLLM(ChatCalls):
    """The model as the agent gets it, whichever way its calls take; several threads may call it."""

    def __init__(
        self,
        llm: Model,
        model: str,
        trace: Trace,
        paused: Callable[[], AbstractContextManager[None]],
        *,
        ends_with_trial: bool = False,
    ) -> None:
        self.model = model
        self.params = llm.params if isinstance(llm, HTTPModel) else {}
        self._llm, self._trace, self._limits = llm, trace, trace.limits
        self._paused = paused  # no time passes on the page during a call
        self._ends_with_trial = ends_with_trial
        self._mutex = threading.RLock()
        self._calls = 0
        self._conversation: tuple[Message, ...] = ()
        self._closing = ExitStack()

    def complete(self, prompt: str, purpose: str) -> Completion:
        """Answer a prompt; the model may be one that has only this method."""
        if isinstance(self._llm, HTTPModel) or not isinstance(prompt, str):
            return super().complete(prompt, purpose)
        with self._call(purpose, getattr(prompt, "files", {}), None, str(prompt)) as (_, record):
            completion = self._llm.complete(str(prompt), purpose)
            record(completion)
        return completion

    def _ask(
        self, request: ModelRequest, purpose: str, files: Mapping[str, str], text: str | None
    ) -> Completion:
        model = self._http_model("chat")
        if ended := self._answer_after_the_end(request):
            return read_completion(ended)
        with self._call(purpose, files, request, text) as (origin, record):
            response = model.post(request, origin)
            if response.status == 200:
                completion = read_completion(response, text_only=text is not None)
            else:
                completion = completion_in(request.path, response)
            record(completion)
        # A refusal is raised here, as the episode goes on if the agent does.
        return completion if response.status == 200 else read_completion(response)

    def post(self, request: ModelRequest) -> ModelResponse:
        model = self._http_model("client")
        if ended := self._answer_after_the_end(request):
            return ended
        with self._call("", {}, request) as (origin, record):
            response = model.post(request, origin)
            record(completion_in(request.path, response))
        return response

    async def async_post(self, request: ModelRequest) -> ModelResponse:
        model = self._http_model("async_client")
        if ended := self._answer_after_the_end(request):
            return ended
        with self._call("", {}, request) as (origin, record):
            # Several live calls can be under way; a replay answers in the order of the calls.
            if model.live:
                response = await asyncio.to_thread(model.post, request, origin)
            else:
                response = model.post(request, origin)
            record(completion_in(request.path, response))
        return response

    def _answer_after_the_end(self, request: ModelRequest) -> ModelResponse | None:
        """Answer a call that is made when all is over, so that a framework leaves its loop.

        None while the episode goes on. The answer is neither asked of the model nor written down.
        """
        over = self._trace.over
        if self._ends_with_trial:
            with self._paused():  # what its program has done is written down
                over = self._trace.last is not None and self._trace.last.done
        with self._mutex:
            if not over or self._calls == self._limits.calls:
                return None
            self._calls += 1
        api = find_api(request.path)
        if not api.path:
            return error_response(404, OVER)  # what its answers look like is not known
        answer = api.answer(Completion(OVER, model=self.model, finish_reason="stop"))
        return response_to(request.path, request.body, answer, "after-the-end")

    def _http_model(self, part: str) -> HTTPModel:
        if isinstance(self._llm, HTTPModel):
            return self._llm
        raise UsageError(
            f"llm.{part} needs a model that takes requests: {type(self._llm).__name__} has "
            "only complete(), and lacks the other methods of HTTPModel"
        )

    @contextmanager
    def _call(
        self,
        purpose: str,
        files: Mapping[str, str],
        request: ModelRequest | None,
        text: str | None = None,
    ) -> Iterator[tuple[Origin, Callable[[Completion], None]]]:
        """Make one call within the limits; yields its origin, and what writes its answer down.

        Without a purpose it is the end of the request's path, such as `completions`.
        """
        purpose = purpose or (request and request.path.rpartition("/")[2]) or "call"
        with self._mutex:
            halt = self._trace.halt
            halt.check()
            if self._calls == self._limits.calls:
                halt.refuse(CallLimit(f"{self._limits.calls} model calls are used up"))
            self._calls += 1
        try:
            with self._paused(), self._trace.call(purpose, files) as (origin, record):
                prompt, messages, tools = self._read(request, text)
                place = (origin.trial, origin.step, purpose)
                read = (messages, tools, request.path if request else "")
                yield origin, lambda said: record(Called(*place, prompt, said, *read))
        except BaseException:
            with self._mutex:
                # The limit counts answered calls alone.
                self._calls -= 1
            raise

    def _read(
        self, request: ModelRequest | None, text: str | None
    ) -> tuple[str, tuple[Message, ...], tuple[str, ...]]:
        """Return the prompt of a call, and the messages and tools of a conversation.

        The prompt is the text of `complete`, otherwise what is new in the conversation.
        """
        if request is None or text is not None:
            return text or "", (), ()
        api = find_api(request.path)
        messages = tuple(api.messages(request.body))
        with self._mutex:
            known, self._conversation = self._conversation, messages
        new = new_messages(messages, known)
        prompt = "\n".join(f"[{message.role}]\n{message}" for message in new)
        return prompt, messages, tuple(api.tools(request.body))

    @cached_property
    def client(self) -> openai.OpenAI:
        self._http_model("client")
        return self._closing.enter_context(openai_client(self.post, self.model))

    @cached_property
    def async_client(self) -> openai.AsyncOpenAI:
        self._http_model("async_client")
        return async_openai_client(self.async_post, self.model)

    @cached_property
    def base_url(self) -> str:
        self._http_model("base_url")
        return self._closing.enter_context(closing(ModelServer(self.post, self.model))).base_url

    def close(self) -> None:
        self._closing.close()
