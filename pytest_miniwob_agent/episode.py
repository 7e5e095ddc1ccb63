"""One episode: an agent on an environment with a model, recorded and kept within limits."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

from pytest_miniwob_agent.core.actions import Action
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.chat import Message, ModelRequest, ModelResponse, new_messages
from pytest_miniwob_agent.core.data import canonical_json, to_data
from pytest_miniwob_agent.core.errors import (
    CallLimit,
    CassetteError,
    LimitReached,
    MiniwobError,
    StepLimit,
    TrialLimit,
    UsageError,
    limit_in,
)
from pytest_miniwob_agent.core.events import (
    Acted,
    Called,
    Completion,
    Ending,
    Episode,
    Event,
    Note,
    Origin,
    Reflected,
    Remark,
    TrialEnded,
    TrialStarted,
)
from pytest_miniwob_agent.core.limits import Limits
from pytest_miniwob_agent.core.observations import Observation, Shot, Transition
from pytest_miniwob_agent.core.protocols import (
    ActionCounter,
    Agent,
    HTTPModel,
    Model,
    Observer,
    Page,
    Remarking,
    Visible,
)
from pytest_miniwob_agent.core.secrets import redact
from pytest_miniwob_agent.core.tools import carry_out_call
from pytest_miniwob_agent.models.agent_clients import Clients
from pytest_miniwob_agent.models.apis import CHAT, api_of
from pytest_miniwob_agent.models.apis.chat_completions import (
    messages_of_text,
    plain_messages,
    prompt_files,
)
from pytest_miniwob_agent.models.apis.recorded import completion_in

if TYPE_CHECKING:
    import openai  # noqa: TID251 - for types alone


def run_episode(
    case: Case,
    agent: Agent,
    env: Page,
    llm: Model,
    limits: Limits,
    *,
    model: str,
    observers: Sequence[Observer] = (),
) -> Episode:
    """Let the agent work on the case until it returns or a limit is reached.

    Args:
        case: the problem, for the episode's record.
        agent: what works on it.
        env: the page.
        llm: the model; with an `HTTPModel`, all of `LLM` can be used.
        limits: trials, actions and model calls that are allowed.
        model: the model's id, for the episode's record.
        observers: called as the episode goes on.

    Raises:
        MiniwobError: whatever the environment or the model raises.
    """
    counts = agent.counts if isinstance(agent, ActionCounter) else None
    recorder = _Recorder(env, llm, limits, observers, counts, model)
    for observer in observers:
        observer.before_episode(case)
    limit = None
    try:
        solving = agent.solve(recorder, recorder, recorder.note)
        if inspect.isawaitable(solving):
            asyncio.run(_wait_for(solving))
    except (Exception, BaseExceptionGroup, _Stopped) as error:
        limit = recorder.limit_behind(error)
        if limit is None and recorder.error is None:
            raise
    finally:
        recorder.close()
    if recorder.error is not None:
        if isinstance(recorder.error, CassetteError):
            recorder.take_picture()  # of what led to a call that is not recorded
        raise recorder.error
    recorder.end_trial(limit or recorder.limit)
    return Episode(case, agent.name, model, tuple(recorder.events))


_PATIENCE = 200
"""How often an agent may go on after errors and limits before it is stopped."""


class _Stopped(BaseException):
    """Ends an agent that goes on after errors for ever; no `except Exception` catches it."""


async def _wait_for(solving: Awaitable[None]) -> None:
    await solving


class _Recorder:
    """The environment and the model as the agent sees them: counted, limited, written down."""

    def __init__(
        self,
        env: Page,
        llm: Model,
        limits: Limits,
        observers: Sequence[Observer],
        counts: Callable[[Action], bool] | None,
        model: str,
    ) -> None:
        self.events: list[Event] = []
        self.model = model
        self.error: MiniwobError | None = None
        """The first error of page or model; the episode has ended with it."""
        self.limit: LimitReached | None = None
        """The limit that ended the present trial, whatever the agent made of it."""
        self._refusals = 0
        self._clients = Clients(self.post, self.async_post)
        self._mutex = threading.RLock()
        self._started = 0
        self._order: dict[int, int] = {}
        self._conversation: tuple[Message, ...] = ()
        self._observers = observers
        self._cameras = [observer for observer in observers if observer.wants_pictures]
        self._env = env
        self._llm = llm
        self._limits = limits
        self._counts = counts
        self._actions = hashlib.sha256()
        self._page = hashlib.sha256()
        self._trial = 0
        self._step = 0
        self._counted = 0
        self._calls = 0
        self._last: Transition | None = None
        self._ended = True

    @contextmanager
    def _keeping_errors(self) -> Iterator[None]:
        """Keep the first error of page or model, and raise it at all that comes after it.

        A framework may make anything of an error: a text for the model, a second try, silence.
        """
        if self.error is not None:
            self._refuse(self.error)
        try:
            yield
        except MiniwobError as error:
            with self._mutex:
                self.error = self.error or error
            raise

    def _refuse(self, error: MiniwobError | LimitReached) -> NoReturn:
        """Raise an error; end an agent that does not stop trying."""
        if isinstance(error, LimitReached):
            self.limit = error
        self._refusals += 1
        if self._refusals > _PATIENCE:
            raise _Stopped(f"the agent went on after: {error}") from error
        raise error

    def limit_behind(self, error: BaseException) -> LimitReached | None:
        """Return the limit that an error of the agent comes from; None for another cause."""
        return limit_in(error) or (self.limit if isinstance(self.limit, CallLimit) else None)

    def reset(self, *, full: bool = False) -> Observation:
        self.end_trial(self.limit)
        if self._trial == self._limits.trials:
            self._refuse(TrialLimit(f"{self._limits.trials} trials are used up"))
        with self._keeping_errors():
            observation = self._env.reset(full=True) if full else self._env.reset()
        self._trial += 1
        if isinstance(self.limit, StepLimit):
            self.limit = None
        self._step = self._counted = 0
        self._last = Transition(observation)
        self._ended = False
        self._actions.update(b"reset\n")
        self._see(self._last)
        self._record(TrialStarted(self._trial, observation))
        return observation

    def step(self, action: Action) -> Transition:
        if self._last is None:
            raise RuntimeError("the agent must reset() the environment before its first step()")
        if self._last.done:
            raise RuntimeError("the page has judged this trial: reset() begins another")
        if self._counts is None or self._counts(action):
            if self._counted == self._limits.steps:
                self._refuse(StepLimit(f"{self._limits.steps} actions are used up"))
            self._counted += 1
        with self._keeping_errors():
            self.take_picture(action)
            self._last = self._env.step(action)
        self._actions.update(f"{action}\n".encode("utf-8", "surrogatepass"))
        self._see(self._last)
        self._record(Acted(self._trial, self._step, action, self._last))
        self._step += 1
        return self._last

    def call(self, name: str, arguments: str | Mapping[str, Any]) -> Transition:
        return carry_out_call(name, arguments, self._last, self.step)

    def html(self) -> str:
        if self._last is None:
            raise RuntimeError("the agent must reset() the environment before it reads its html()")
        with self._keeping_errors():
            html = self._env.html()
        self._page.update(html.encode("utf-8", "surrogatepass"))
        return html

    def look(self, action: Action | None = None, **options: Any) -> Shot:
        if self._last is None or self._last.done:
            raise RuntimeError("there is a page to look() at from reset() until it has judged")
        with self._keeping_errors():
            if not isinstance(self._env, Visible):
                raise UsageError(f"{type(self._env).__name__} gives no pictures: it has no look()")
            return self._env.look(action, **options)

    def complete(self, prompt: str, purpose: str) -> Completion:
        messages_of_text(prompt)  # refuses what is not a text
        text = str(prompt)
        with self._call(purpose, getattr(prompt, "files", {})) as record:
            completion = self._llm.complete(text, purpose)
            record(Called(self._trial, self._step, purpose, text, completion))
        return completion

    def chat(
        self,
        messages: Sequence[Any],
        purpose: str,
        *,
        tools: Sequence[Any] | None = None,
        **params: Any,
    ) -> Completion:
        plain = plain_messages(messages)
        with self._call(purpose, prompt_files(plain)) as record:
            completion = self._http_model("chat").chat(plain, purpose, tools=tools, **params)
            body = {"messages": plain, "tools": tools}
            record(self._conversation_of(CHAT, body, purpose, completion))
        return completion

    def _http_model(self, part: str) -> HTTPModel:
        """Return the model, if it takes more than texts.

        Raises:
            UsageError: it does not.
        """
        if isinstance(self._llm, HTTPModel):
            return self._llm
        raise UsageError(
            f"llm.{part} needs a model that takes conversations: {type(self._llm).__name__} has "
            "only complete(); see HTTPModel for the methods that it lacks"
        )

    def post(self, request: ModelRequest) -> ModelResponse:
        """Answer a request of a client or a framework."""
        with self._posted(request) as (model, record):
            response = model.post(request)
            record(response)
        return response

    async def async_post(self, request: ModelRequest) -> ModelResponse:
        """Answer a request of an asynchronous client.

        Live calls are made in threads, so that several can be under way. Replayed ones are answered
        at once, so that calls which were begun together are answered in the order they were begun.
        """
        with self._posted(request) as (model, record):
            if model.live:
                response = await asyncio.to_thread(model.post, request)
            else:
                response = model.post(request)
            record(response)
        return response

    @contextmanager
    def _posted(
        self, request: ModelRequest
    ) -> Iterator[tuple[HTTPModel, Callable[[ModelResponse], None]]]:
        """Make one call of a client: yields the model, and what records its response."""
        purpose = request.path.rpartition("/")[2] or "call"
        with self._call(purpose, {}) as record_call:

            def record(response: ModelResponse) -> None:
                answer = completion_in(request.path, response)
                record_call(self._conversation_of(request.path, request.body, purpose, answer))

            yield self._http_model("client"), record

    @contextmanager
    def _call(self, purpose: str, files: Mapping[str, str]) -> Iterator[Callable[[Called], None]]:
        """Make one model call within the limits; several threads may make them.

        What it yields records the call, in the order in which calls were begun.
        """
        with self._mutex:
            if self.error is not None:
                self._refuse(self.error)
            if self._calls == self._limits.calls:
                self._refuse(CallLimit(f"{self._limits.calls} model calls are used up"))
            self._calls += 1
            self._started += 1
            number, began = self._started, len(self.events)
        origin = Origin(
            purpose,
            self._trial,
            self._step,
            files,
            self._actions.hexdigest()[:12],
            self._page.hexdigest()[:12],
        )

        def record(event: Called) -> None:
            with self._mutex:
                self._record_call(event, number, began)

        try:
            with self._keeping_errors():
                for observer in self._observers:
                    observer.before_call(origin)
                yield record
        except BaseException:
            with self._mutex:
                self._calls -= 1
            raise

    def _record_call(self, event: Called, number: int, began: int) -> None:
        """Write a call down, before the calls that began later and have already ended."""
        kept = redact(event)
        place = len(self.events)
        while place > began and self._order.get(id(self.events[place - 1]), 0) > number:
            place -= 1
        self.events.insert(place, kept)
        self._order[id(kept)] = number
        for observer in self._observers:
            observer.on_event(kept)

    def _conversation_of(
        self, path: str, body: Mapping[str, Any], purpose: str, completion: Completion
    ) -> Called:
        """Return the event of a call in a conversation, with what is new in it as its prompt."""
        api = api_of(path)
        messages = tuple(api.messages(body))
        with self._mutex:
            known = self._conversation
            self._conversation = messages
        text = "\n".join(f"[{each.role}]\n{each}" for each in new_messages(messages, known))
        return Called(
            self._trial, self._step, purpose, text, completion, messages, tuple(api.tools(body))
        )

    @property
    def client(self) -> openai.OpenAI:
        """An `openai` client whose requests are calls of the episode."""
        self._http_model("client")
        return self._clients.client

    @property
    def async_client(self) -> openai.AsyncOpenAI:
        """An asynchronous one."""
        self._http_model("async_client")
        return self._clients.async_client

    @property
    def base_url(self) -> str:
        """The address of a server whose requests are calls of the episode."""
        self._http_model("base_url")
        return self._clients.server.base_url

    def close(self) -> None:
        """Close the clients and the server that the agent used."""
        self._clients.close()

    def take_picture(self, action: Action | None = None) -> None:
        """Take a picture, if an observer wants it and there is something to see."""
        if not self._cameras or not isinstance(self._env, Visible):
            return
        if self._last is not None and not self._last.done:
            shot = self._env.look(action)
            for observer in self._cameras:
                observer.on_picture(shot, self._trial, self._step, action)

    def _record(self, event: Event) -> None:
        """Write an event down without keys: it is shown and kept, the agent has the original."""
        event = redact(event)
        self.events.append(event)
        for observer in self._observers:
            observer.on_event(event)
        if isinstance(event, TrialStarted | Acted) and isinstance(self._env, Remarking):
            for text in self._env.remarks():
                self._record(Remark("page", text, self._trial, self._step))

    def _see(self, transition: Transition) -> None:
        data = to_data(transition)
        del data["observation"]["focus"]  # not part of what digests in today's cassettes are of
        text = canonical_json(data)
        self._page.update(text.encode("utf-8", "surrogatepass"))

    def note(self, note: Note) -> None:
        match note:
            case TrialEnded(ending, detail):
                if not self._ended:
                    self.take_picture()
                    self._ended = True
                    self._record(TrialEnded(ending, detail, self._trial))
            case Reflected(step, action, disabled):
                self._record(Reflected(step, action, disabled, self._trial))
            case Remark(what, text):
                self._record(Remark(what, text, self._trial, self._step))

    def end_trial(self, limit: LimitReached | None = None) -> None:
        """Say how the trial ended where the agent did not."""
        if self._last is None or self._ended:
            return
        if self._last.done:
            ending = Ending.CORRECT if self._last.solved else Ending.FAILED
        else:
            ending = Ending.STEP_LIMIT if isinstance(limit, StepLimit) else Ending.INCOMPLETE
        self.note(TrialEnded(ending, str(limit or "")))
