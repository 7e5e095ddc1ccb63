"""The tapes of an item: of its model's calls and, if its page has one, of the page's answers.

Each is live or played by itself: a live app may get the recorded answers of the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING

from pytest_miniwob_agent.cassettes.drift import diff
from pytest_miniwob_agent.cassettes.tape import Request
from pytest_miniwob_agent.core.case import Case, Limits
from pytest_miniwob_agent.core.errors import BrowserLost, Drift, NotRecorded
from pytest_miniwob_agent.core.events import Episode
from pytest_miniwob_agent.core.observations import SCREEN_VERSION
from pytest_miniwob_agent.core.protocols import Page, PageTape, Versioned
from pytest_miniwob_agent.core.secrets import mask
from pytest_miniwob_agent.core.text import sanitize_line

if TYPE_CHECKING:
    from pytest_miniwob_agent.cassettes.recording import RecordedModel
    from pytest_miniwob_agent.core.app import PageRequest

IF_RANDOM = (
    "If that is a time or a random value, name it in AppTask(scrub=...),",
    "or freeze the app's clock and set AppTask(clock=...)",
)

NO_CALLS = (
    "an item was recorded without a single model call, so there is nothing to replay "
    "elsewhere: do the agent's calls go through `llm`, and is its framework's own cache off?"
)


class Tapes:
    """The tapes of an item, which shows the screens of its recording at their time.

    Args:
        case: the item's case.
        model: the model behind the item's cassette; None for a model of the user's.
        page: its page.
        tell: is told what the user must know at the end of the run.
    """

    def __init__(
        self, case: Case, model: RecordedModel | None, page: Page, tell: Callable[[str], None]
    ) -> None:
        self.model = model
        self.page: PageTape | None = getattr(page, "tape", None)
        self._case = case
        self._tell = tell
        self._made: list[PageRequest] | None = getattr(page, "requests", None)
        tapes = [each for each in (model and model.files, self.page) if each]
        recorded = [each.screen_version for each in tapes if each.screen_version]
        version = recorded[0] if recorded else SCREEN_VERSION
        for each in [*tapes, *([page] if isinstance(page, Versioned) else [])]:
            each.screen_version = version
        if model is not None and self.page is not None:
            files = model.files
            self.page.clock = self.page.clock if files.clock is None else files.clock
            files.clock = self.page.clock
            model.on_other_page = self._tell_other_page

    @property
    def checked(self) -> bool:
        """True if recorded answers are played on the app as it is now."""
        return self.page is not None and self.page.checked

    def play(self, play: Callable[[], Episode], limits: Limits) -> Episode:
        """Play an episode; again in a new browser if it is lost, or with an app after its tape."""
        __tracebackhide__ = True
        lost = False
        while True:
            try:
                episode = self._play_page(play)
                break
            except BrowserLost:
                if self.model is None or lost:  # your own model can't be asked the same again
                    raise
                lost = True
            except NotRecorded:
                if self.page is None or not self.page.can_go_live:
                    raise
                self.page.go_live()
            if self._made is not None:
                self._made.clear()
            for one in (self.model, self.page):
                if one is not None:
                    one.rewind()
        if self.model is not None:
            self.model.end_episode(limits)
            if self.model.live and not episode.calls and self.page is None:
                self._tell(NO_CALLS)
        return episode

    def _play_page(self, play: Callable[[], Episode]) -> Episode:
        __tracebackhide__ = True
        page, model = self.page, self.model
        if page is None:
            return play()
        replay: AbstractContextManager[None] = nullcontext()
        if model is not None:
            model.checks_app = page.checked
            if page.checked or page.can_go_live:
                replay = model.replaying()
        with replay:
            episode = self._check_app(page, play) if page.checked else play()
            page.finish(episode.calls, solved=episode.solved)
        if page.remark:
            self._tell(page.remark)
        return episode

    def _check_app(self, page: PageTape, play: Callable[[], Episode]) -> Episode:
        __tracebackhide__ = True
        try:
            return play()
        except Drift as drift:
            said = [str(drift)]
            if page.last_request:
                said.append(f"The last request before it: {page.last_request}")
            if "page" in [cause.kind for cause in drift.causes]:
                said += IF_RANDOM
            raise Drift("\n".join(said), drift.causes, drift.changes, drift.pictures) from None
        finally:
            if changed := page.changed_requests():
                shown = sanitize_line(mask("; ".join(changed[:4])))
                self._tell(f"{self._case}: its requests to the app have changed: {shown}")

    def _tell_other_page(self, then: Request, now: Request) -> None:
        if self.page is None or self.page.goal not in then.text:
            return  # the task is another one
        changed = [line for line in diff(then.text, now.text) if line[:2] in ("- ", "+ ")]
        text = sanitize_line(mask(" ".join(changed[:2])))
        self._tell(
            f"{self._case}: after the same actions, the app shows something else than when "
            f"the item was recorded before: {text}. {' '.join(IF_RANDOM)}"
        )

    @contextmanager
    def replaying(self, *, as_recorded: bool = False) -> Iterator[RecordedModel]:
        """In a block, play the episode again by what is recorded, with this model."""
        assert self.model is not None
        context: AbstractContextManager[None] = nullcontext()
        if self.page is not None and as_recorded:
            context = self.page.as_recorded()
        elif self.page is not None:
            self.page.rewind()
        with context:
            yield self.model.for_replay()
