"""Protocols: agents, environments, models, and observers of an episode."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from pytest_miniwob_agent.core.actions import Action, AnyAction, ByProgram, DialogAction
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.chat import ModelRequest, ModelResponse
from pytest_miniwob_agent.core.events import Completion, Event, Note, Origin
from pytest_miniwob_agent.core.observations import Dialog, Observation, Shot, Transition
from pytest_miniwob_agent.core.outcome import DriftDetails, Outcome, Status
from pytest_miniwob_agent.core.pace import Pace

if TYPE_CHECKING:
    import openai  # noqa: TID251 - for types alone

    from pytest_miniwob_agent.core.app import PageRequest


class Page(Protocol):
    """A page that judges. A new trial is a `reset`."""

    def reset(self, *, screen: str = "compact") -> Observation:
        """Load the page afresh and generate the case's problem.

        Args:
            screen: what the observations of this trial hold. `compact` is the visible leaves,
                `full` everything that shows: elements have `details` and text has an id. `tree` is
                the page as assistive technology has it: elements have a `role` and a `depth`, too.
        """

    def step(self, action: Action) -> Transition:
        """Carry out one action; an impossible one is a `Transition` with an `error`.

        While a dialog of the page is open, it is all that is observed, and only `Accept` and
        `Dismiss` are possible.
        """

    def html(self, *, whole: bool = False) -> str:
        """Return the visible page as HTML; empty once the page has judged, and under a dialog.

        With `whole` it has hidden elements too, and all attributes but those of scripts.

        Attributes such as `value` are as they are now; `data-ref` is the id that actions take.
        """


class Environment(Page, Protocol):
    """A `Page` as an agent gets it: it also takes tool calls of a model."""

    @property
    def default_screen(self) -> str:
        """The screen for an agent that reads any: `tree` on your own pages and apps."""

    def call(self, name: str, arguments: str | Mapping[str, Any]) -> Transition:
        """Carry out a tool call: the action of that name (`action_of_call`).

        A bad call, and any after the page has judged, is no action but an `error` for the model.
        """

    def answer(self, text: str) -> Transition:
        """End a trial on an app with an answer to what the goal asks (`Answer`)."""

    def hand_over(self, *, open_port: bool = False) -> AbstractContextManager[HandedOver]:
        """Hand the page over to a program that drives the browser itself, for a block.

        What it does becomes actions of the trial (`ByProgram`). At a limit its commands and the
        model's calls are refused, and the limit is raised at the end of the block.

        Args:
            open_port: listen at a `port` without a secret too, for clients that take a host and a
                port alone, such as chromedriver. Every program of this machine can connect to it.

        Raises:
            ProgramError: the program has left the page, or judged itself.
        """


@runtime_checkable
class Visible(Protocol):
    """An optional part of a `Page`, and of an `Environment`: pictures of it."""

    def look(
        self,
        action: Action | None = None,
        *,
        marks: Iterable[int] = (),
        zoom: int = 1,
        rulers: bool = False,
        whole: bool = False,
    ) -> Shot:
        """Take a picture of the task's area and all elements beyond it; the page must not notice.

        Args:
            action: the action to come, whose points the `Shot` has.
            marks: ids of elements; those that show get a frame and their id, but for mere text.
            zoom: the side of the square that shows one pixel of the page; less where a side of
                the picture would have more than 1,500 pixels.
            rulers: adds rulers at its left and its top, which count the page's pixels.
            whole: shows all of the viewport.
        """


@runtime_checkable
class Versioned(Protocol):
    """An optional part of a `Page`: it can be shown as by an earlier version of this package.

    `screen_version` (`observations.SCREEN_VERSION`) is set before the first trial.
    """

    screen_version: int


class HandedOver(Protocol):
    """A page that is handed over to a program."""

    @property
    def cdp_url(self) -> str:
        """The address for CDP clients: `ws://127.0.0.1:PORT/SECRET`."""

    @property
    def http_url(self) -> str:
        """The same for those that ask it for `/json/version`: `http://127.0.0.1:PORT/SECRET`."""

    @property
    def port(self) -> int | None:
        """The port on 127.0.0.1 without a secret; None unless `open_port` was asked for."""

    @property
    def done(self) -> bool:
        """True once the page has judged."""

    @property
    def reward(self) -> float:
        """The page's verdict; 0 until `done`."""

    @property
    def over(self) -> bool:
        """True once the page has judged, or the program may do nothing more; time stands still."""

    def paused(self) -> AbstractContextManager[None]:
        """Let no time pass on the page, after what the program has done took effect."""


@dataclass(frozen=True, slots=True)
class Driven:
    """What a program did on a page since the last report; nothing by default.

    Attributes:
        acts: its actions, each with the points of the mouse, which may be missing.
        after: the page after the last of them; all others have left it as it was.
        over: True if it tried to take more actions than it may.
        remark: what the program's author should know.
    """

    acts: Sequence[tuple[ByProgram, tuple[tuple[int, int], ...]]] = ()
    after: Transition | None = None
    over: bool = False
    remark: str = ""


@runtime_checkable
class Drivable(Protocol):
    """An optional part of a `Page`: a program may drive it."""

    def hand_over(
        self,
        left: int,
        tell: Callable[[Driven], str | None],
        pace: Pace,
        open_port: bool = False,
    ) -> AbstractContextManager[HandedOver]:
        """Hand the page over, until the end of the block, for at most `left` actions.

        `tell` is called in any thread with what the program did. It returns the reason to refuse
        further commands, or None. `pace` says and is told where the page's clock moves on.
        """


@runtime_checkable
class Answering(Protocol):
    """An optional part of a `Page`: it knows the answers to its dialogs."""

    def answer_to(self, dialog: Dialog) -> DialogAction | None:
        """Return the answer to a dialog that the agent leaves open, or None for `Dismiss`."""


@runtime_checkable
class Remarking(Protocol):
    """An optional part of a `Page`: what its author should know."""

    def remarks(self) -> Sequence[str]:
        """Return the remarks since the last call, such as a missing file."""


@runtime_checkable
class Requesting(Protocol):
    """An optional part of a `Page`: what its pages have asked for, for graders.

    Attributes:
        requests: the requests of all trials, in order.
        downloads: the digests (SHA-256, hexadecimal) of downloaded files, by their names.
    """

    requests: list[PageRequest]

    @property
    def downloads(self) -> Mapping[str, str]:
        """See above."""


class Model(Protocol):
    """A language model: the minimum, for agents that send strings."""

    def complete(self, prompt: str, purpose: str) -> Completion:
        """Answer a prompt; `purpose` says what the call is for (`plan`, `reflect`, ...)."""


class ChatModel(Model, Protocol):
    """A language model that takes conversations."""

    def chat(
        self,
        messages: Sequence[Any],
        purpose: str,
        *,
        tools: Sequence[Any] | None = None,
        tool_choice: Any = None,
        response_format: Any = None,
        **params: Any,
    ) -> Completion:
        """Answer a conversation; all arguments have the Chat Completions form.

        Messages are mappings such as `{"role": "user", "content": "..."}`, or openai's own types;
        `params` are further parameters, which replace those of the run.

        Raises:
            TypeError: the messages are not a list of messages.
        """


@runtime_checkable
class HTTPModel(Model, Protocol):
    """A language model that takes HTTP requests, so that any client can use it.

    In an episode, all calls of an agent go through `post`.
    """

    @property
    def model(self) -> str:
        """The model's id."""

    @property
    def params(self) -> Mapping[str, Any]:
        """Further parameters of every Chat Completions request."""

    @property
    def live(self) -> bool:
        """True if answers may take long."""

    def post(self, request: ModelRequest, origin: Origin) -> ModelResponse:
        """Answer a request of any API; `origin` says where in the episode it is made."""


@runtime_checkable
class Paced(Protocol):
    """An optional part of a `Model`: its tape has the moves of the page's clock, too."""

    @property
    def pace(self) -> Pace:
        """The moves of the episode, which begins."""


class LLM(ChatModel, Protocol):
    """The language model as an agent gets it, for all kinds of calls.

    All calls are counted, limited, recorded and replayed alike. An error of one, such as drift,
    ends the item: every later call and action raises it again.
    """

    @property
    def model(self) -> str:
        """The model's id, for clients that name it."""

    @property
    def client(self) -> openai.OpenAI:
        """A client of the item: Chat Completions, Responses, and any other, streamed or not."""

    @property
    def async_client(self) -> openai.AsyncOpenAI:
        """The asynchronous client."""

    @property
    def base_url(self) -> str:
        """The address of the item's own server, for frameworks; it ends in `/v1`.

        It takes the calls of model APIs, with any key. Its path has a secret in it.
        """


@runtime_checkable
class Agent(Protocol):
    """Something that works on a page through a model. `name` is the folder of its cassettes.

    An agent may also be a `RunObserver`, an `ActionCounter` or a `Normalizer`. With
    `answers_dialogs = False` every dialog of the page is dismissed. With `variant_of = "acme"` its
    recordings take answers to equal prompts from those of `acme` and of agents named `acme-...`.
    With `calls_end_with_trial = True` a call that is made once the page has judged is not sent: its
    answer says that the task is over.
    """

    name: str

    def solve(
        self, env: Environment, llm: LLM, note: Callable[[Note], None]
    ) -> Awaitable[None] | None:
        """Play trials until the page is solved or a limit is reached; `async def` is fine.

        Begin each trial with `env.reset()`. `note` is for what only the agent knows: how a trial
        ended, what a reflection changed, and what else is worth keeping. `LimitReached` may be
        caught (a `StepLimit`, to reflect on the trial) or left to the caller.
        """


@runtime_checkable
class RunObserver(Protocol):
    """An optional part of an `Agent`: called once, on the controller, when a run is over."""

    def run_finished(self, outcomes: Sequence[Outcome]) -> str | None:
        """Use the outcomes of all items of the agent; return a line for the run's summary.

        Raises:
            MiniwobError: shown in the summary; the run fails.
        """


@runtime_checkable
class ActionCounter(Protocol):
    """An optional part of an `Agent`: which actions count against the limit; by default all."""

    def counts(self, action: Action) -> bool:
        """Return False for a helper of another action, such as clearing a field before typing.

        Each helper must belong to an action that counts, or a trial would never end.
        """


@runtime_checkable
class Normalizer(Protocol):
    """An optional part of an `Agent`: removes from requests what differs at every run."""

    def normalize(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return a request's body as it is matched and stored, such as one without made-up ids."""


class Observer:
    """An observer of an episode; override the methods of interest, the others do nothing.

    Set `wants_pictures` to have pictures taken of a page that is `Visible`.
    """

    wants_pictures: bool = False

    def before_episode(self, case: Case) -> None:
        """Called when the episode begins; a second time if it begins again in a new browser."""

    def before_call(self, origin: Origin) -> None:
        """Called before each model call."""

    def on_event(self, event: Event) -> None:
        """Called with each event as it happens."""

    def on_picture(self, shot: Shot, trial: int, step: int, action: AnyAction | None) -> None:
        """Called with a picture before each action, and one of the last screen of a trial.

        `action` is the one to come, None for the last screen. A page that has judged shows nothing.
        """

    def before_outcome(self, item: PlayedItem) -> Mapping[str, Any]:
        """Called when the item has been played; return fields of its `Outcome` to set."""
        return {}

    def after_item(self, outcome: Outcome) -> None:
        """Called when the item has come to its end, after the body of its test."""


class PageTape(Protocol):
    """What the answers of an item's page come from: its tape, or an app that runs.

    Attributes:
        screen_version: that of the tape (`observations.SCREEN_VERSION`); None if no tape is to be
            played, until it is set.
        clock: the page's clock at the beginning of a trial, if that is recorded now.
    """

    screen_version: int | None
    clock: float | None

    @property
    def can_go_live(self) -> bool:
        """True if the episode may begin again with the running app, which is recorded."""

    @property
    def replayed(self) -> bool:
        """True if the tape alone has answered."""

    @property
    def checked(self) -> bool:
        """True if the app runs and its tape stays as it is."""

    @property
    def goal(self) -> str:
        """The goal of the item."""

    @property
    def remark(self) -> str:
        """What the user must know; empty for nothing."""

    @property
    def last_request(self) -> str:
        """The last request that a replay must make, such as `POST /login`, or an empty string."""

    def go_live(self) -> None:
        """Start the app, unless it runs; the episode begins again, and is recorded."""

    def rewind(self) -> None:
        """Begin the episode again."""

    def as_recorded(self) -> AbstractContextManager[None]:
        """In a block, have the tape of a checked app answer in its place."""

    def changed_requests(self) -> list[str]:
        """Return how the requests of a checked app differ from its tape's."""

    def finish(self, calls: int, *, solved: bool) -> None:
        """End an episode of that many model calls: check it, or write what was recorded.

        Raises:
            Drift: the tape has something that was not asked for.
        """


class PlayedItem(Protocol):
    """An item that has been played, before its outcome is made.

    Attributes:
        status: what the episode shows; None if an error decided the item.
        drift: what a replay found to be different.
        replayable: True if the item's model is behind a cassette, so that `replay` works.
        on_live_app: True if recorded answers were played on the app as it is now.
    """

    status: Status | None
    drift: DriftDetails | None

    @property
    def replayable(self) -> bool:
        """See above."""

    @property
    def on_live_app(self) -> bool:
        """See above."""

    def replay(self, *observers: Observer, as_recorded: bool = False) -> None:
        """Play the item again for observers alone, by what is recorded; nothing of it counts.

        With `as_recorded`, an app that was live shows what it showed when it was recorded.

        Raises:
            Exception: what the replay came to.
        """
