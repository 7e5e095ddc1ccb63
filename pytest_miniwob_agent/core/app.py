"""A task on a running web app, and what goes between the browser and the app."""

from __future__ import annotations

import json
import re
import traceback
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from email import message_from_string
from email.message import Message
from html import escape
from inspect import iscoroutinefunction, isgeneratorfunction
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from urllib.parse import parse_qsl, unquote, urlsplit

from pytest_miniwob_agent.core.errors import MiniwobError, PageError, UsageError
from pytest_miniwob_agent.core.files import display_path
from pytest_miniwob_agent.core.observations import Observation

CATEGORY = "apps"
"""The category of tasks on apps, if they name no other."""

PASSIVE = frozenset(
    ("Image", "Stylesheet", "Script", "Font", "Media", "Manifest", "Prefetch", "TextTrack", "Other")
)
"""Kinds of GET requests whose number is the browser's business: they may repeat or be missing."""

START = "a path that begins with /, or a function of a seed that returns one"
FUNCTION = "a plain function, neither async nor with yield"

UNNOTED = 1_600_000_000
"""The clock, in seconds since 1970, of pages whose recording has none: somewhere in 2020."""

TEXT = re.compile(r"text/|json|javascript|xml|urlencoded", re.IGNORECASE)
"""Media types that may contain the app's address, and what a task redacts."""

CLOCK = "seconds since 1970, such as datetime(2030, 1, 1, tzinfo=UTC).timestamp()"

_REFRESH = re.compile(rb"(<meta[^>]+http-equiv\s*=\s*[\"']?)refresh", re.IGNORECASE)
_CLOSED = re.compile(rb"(<template\b[^>]*?\sshadowrootmode\s*=\s*[\"']?)closed\b", re.IGNORECASE)
_BOUNDARY = re.compile(rb"\A--(-+WebKitFormBoundary\w+)")


SAID = {"OPEN": "the socket", "SEND": "a message on the socket", "CLOSE": "the end of the socket"}
"""What a page does with a socket, by names that are used as methods."""

PageMessage = dict[str, Any]
"""What comes to a page later than it was asked for: `socket` is a number, `type` that of an event,
or `answer` for the `response` to a request that was set aside."""


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A request of the browser; `kind` is CDP's resource type, such as `Document`.

    What a page does with a socket is one too, with a name of `SAID` as its method, and the number
    of the socket in the trial. `leads` is True if the answer is to be the next page of a window.
    """

    kind: str
    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    socket: int = 0
    leads: bool = False

    @property
    def sent(self) -> bytes:
        """The body as it is compared."""
        # Chromium draws the boundary of a form at random.
        found = _BOUNDARY.match(self.body)
        return self.body.replace(found[1], b"boundary") if found else self.body

    @property
    def strict(self) -> bool:
        """True if a replay must make it as often as the recording."""
        return self.method != "GET" or self.kind not in PASSIVE

    @property
    def is_preflight(self) -> bool:
        """True if the browser asks whether a script may ask another origin something."""
        return self.method == "OPTIONS" and "Access-Control-Request-Method" in self.headers

    def __str__(self) -> str:
        what = SAID.get(self.method, self.method)
        return f"{what} {urlsplit(self.url)._replace(scheme='', netloc='').geturl()}"

    @property
    def content_type(self) -> str:
        """The media type of the body; empty if the request doesn't say."""
        return _header(self.headers.items(), "content-type")

    @property
    def fields(self) -> Any:
        """What was sent: JSON, a form's fields, or a string; without a body, the query's fields.

        A field that was sent several times has a list; None if nothing was sent.
        """
        content = self.content_type
        if not self.body:
            return _by_name(parse_qsl(urlsplit(self.url).query, keep_blank_values=True)) or None
        if "multipart/form-data" in content:
            # Latin-1 keeps every byte: files in a form are not text.
            whole = f"Content-Type: {content}\r\n\r\n".encode() + self.body
            form: Any = message_from_string(whole.decode("latin-1"))
            found = []
            for part in form.get_payload() if form.is_multipart() else ():
                name = str(part.get_param("name", header="content-disposition"))
                name = name.encode("latin-1").decode("utf-8", "replace")
                found.append((name, part.get_payload(decode=True).decode("utf-8", "replace")))
            return _by_name(found) or self.body.decode("utf-8", "replace")
        text = self.body.decode("utf-8", "replace")
        if "urlencoded" in content:
            return _by_name(parse_qsl(text, keep_blank_values=True))
        try:
            return json.loads(text)
        except ValueError:
            return text


def _by_name(pairs: Iterable[tuple[str, str]]) -> dict[str, str | list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return {name: values[0] if len(values) == 1 else values for name, values in found.items()}


REFUSED = -1
"""In place of a status: there is no answer."""


@dataclass(frozen=True, slots=True)
class PageResponse:
    """An answer as the browser gets it, whether it is recorded or replayed.

    With a number, messages follow: the parts of its body, or all of it if the status is 0. With
    the status `REFUSED` the request fails. `phrase` is that of the status line if it is not the
    usual one, and `remark` is for the author of the task.
    """

    status: int
    headers: Sequence[tuple[str, str]] = ()
    body: bytes = b""
    socket: int = 0
    remark: str = ""
    phrase: str = ""

    def header(self, name: str) -> str:
        """Return the value of a header, by its lower-case name; empty if it is missing."""
        return _header(self.headers, name)

    @property
    def is_text(self) -> bool:
        """True if text in it is replaced; without a type, browsers look at the body, too."""
        content = self.header("content-type")
        return bool(TEXT.search(content)) or not (content or b"\0" in self.body)


def _header(headers: Iterable[tuple[str, str]], name: str) -> str:
    return next((value for key, value in headers if key.lower() == name), "")


def url_origin(url: str) -> str:
    """Return the origin of an address, as a browser writes it."""
    return "/".join(url.split("/")[:3])


def shared_domain(origins: Sequence[str]) -> str:
    """Return the domain that the first of an app's origins has in common with others, if any."""
    own, *others = (urlsplit(one).hostname or "" for one in origins)
    if own[-1:].isdigit():
        return ""  # addresses are in no domain
    # Of two labels or more: browsers refuse a single one as document.domain.
    domains = [own.split(".", number)[-1] for number in range(own.count("."))]
    shared = (
        next((one for one in domains if f".{other}".endswith(f".{one}")), "") for other in others
    )
    return min(filter(None, shared), key=len, default="")


def app_hint(given: object) -> str:
    """Return how an app is tested, if its address was given for a task or a folder of pages."""
    hint = "; an AppTask opens a running app, as docs/test-your-app.md shows"
    return hint if re.search(r"\bhttps?:/", str(given)) else ""


def _unsealed(policies: str) -> str:
    """Return policies whose sandbox lets a document be read; scripts run in it as before."""
    found = []
    for policy in policies.split(","):
        words = [words for each in policy.split(";") if (words := each.split())]
        for sandbox in [each for each in words if each[0].lower() == "sandbox"]:
            if "allow-scripts" not in map(str.lower, sandbox):
                words.insert(0, ["script-src", "'none'"])  # the first one counts
            sandbox += ["allow-same-origin", "allow-scripts"]
        found.append("; ".join(map(" ".join, words)))
    return ", ".join(found)


def make_readable(answer: PageResponse) -> PageResponse:
    """Return a document that can be read: not in a sandbox, with open shadow trees.

    A refresh uses the page's clock (page/network.js), and the trees are closed to scripts
    (page/shadows.js), but for those that the document declares.
    """
    if "html" not in (answer.header("content-type") or "html"):
        return answer
    body = _REFRESH.sub(rb"\1miniwob-refresh", answer.body)
    body = _CLOSED.sub(rb"\1open", body)
    if after := answer.header("refresh"):
        body += f'<meta http-equiv="miniwob-refresh" content="{escape(after)}">'.encode()
    headers = [
        (name, _unsealed(value) if name.lower() == "content-security-policy" else value)
        for name, value in answer.headers
        if name.lower() != "refresh"
    ]
    return replace(answer, headers=headers, body=body)


def file_name(url: str, disposition: str) -> str:
    """Return the name of a download, as its header or its address gives it."""
    header = Message()
    header["Content-Disposition"] = disposition
    named = header.get_filename() or urlsplit(url).path.rpartition("/")[2]
    return unquote(named) or "download"


@dataclass(frozen=True, slots=True)
class AppTrial:
    """A trial on an app, for `reward` and `solved_when`.

    `url` is the page's address, `answer` what the agent gave as its answer (`env.answer`), None
    before. `downloads` are the digests (SHA-256, hexadecimal) of the files that were downloaded, by
    their names.
    """

    seed: int
    url: str
    observation: Observation
    answer: str | None = None
    downloads: Mapping[str, str] = field(default_factory=dict)
    requests: Sequence[PageRequest] = ()

    @property
    def tabs(self) -> int:
        """The number of tabs that are open, of which the last one is shown."""
        return self.observation.tabs or 1

    def shows(self, text: str) -> bool:
        """True if an element of the page has this text."""
        return any(text in element.text for element in self.observation.elements)

    def asked(self, method: str, path: str, fields: Mapping[str, Any] | None = None) -> bool:
        """True if the trial has made a request of this method and path, with these fields.

        `path` may have a query. `fields` are some of those that it sent, as JSON, as a form, or in
        the query if there is no body; others don't matter. What a page says on a socket has
        the method `SEND`.
        """
        return asked(self.requests, method, path, fields)


def asked(
    requests: Iterable[PageRequest],
    method: str,
    path: str,
    fields: Mapping[str, Any] | None = None,
) -> bool:
    """Return True if one of the requests has this method, path and fields (`AppTrial.asked`)."""
    return any(
        one.method.upper() == method.upper()
        and path in (urlsplit(one.url).path, one.url[len(url_origin(one.url)) :])
        and (fields is None or _covers(one.fields, fields))
        for one in requests
    )


def _covers(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        inner = isinstance(value, Mapping)
        return inner and all(_covers(value.get(name), part) for name, part in wanted.items())
    return bool(value == wanted)


@dataclass(frozen=True, eq=False)
class AppTask:
    """A task on a running web app; the `miniwob` marker takes it like the name of a task.

    The app runs while the item is recorded: its traffic is kept beside the cassette of model calls.
    A replay needs neither app nor network.

    Args:
        name: the task's name, for ids and cassettes.
        app: a fixture that starts the app, by its name: its value is the app's address, or has it
            as `url`, as pytest-django's and pytest-flask's `live_server`. Or an address itself.
        goal: what the agent is asked to do: a string, or a function of the seed.
        start: the path at which a trial begins, or a function of the seed.
        ready: when a trial begins, if the page is not ready as soon as it is loaded: once it shows
            this text, or once a function of an `AppTrial` returns True.
        setup: `setup(app, seed)` prepares the app at the beginning of each trial.
        reward: `reward(app, trial)` judges the live app after each action: 0 while the task is
            undecided, any other number from -1 to 1 ends the trial. True is 1.
        solved_when: `solved_when(trial)` judges the page and its requests instead, in replays too:
            True, False, or None while the task is undecided.
        dialogs: what `confirm` (True or False) and `prompt` (a string) answer if the agent can't,
            by their names; they are dismissed otherwise.
        scrub: what is replaced in the text that the app sends, as it differs at every run:
            replacements by regular expression, or a function of the text.
        redact: regular expressions of secrets that neither page nor tape may have: the page gets a
            stand-in, and the app the secret.
        allow: regular expressions of what looks like a secret but isn't one.
        clock: the page's clock at the beginning of a trial, in seconds since 1970, for an app
            whose own clock is frozen; by default the time at which the item is recorded.
        origins: further origins that the page may use, such as that of a login.
        viewport: width and height in CSS pixels.
        files: files that can be uploaded: their paths, relative to the folder of the test's file.
        perturb: what perturbations need to know of the app, by their names, as JSON.
        graders: graders of each of its episodes (docs/graders.md). If there is neither `reward` nor
            `solved_when`, they alone judge the episode, which has one trial.
        category: the task's category.

    Raises:
        UsageError: an argument can't be used.
    """

    name: str
    app: str
    goal: str | Callable[[int], str]
    start: str | Callable[[int], str] = "/"
    ready: str | Callable[[AppTrial], object] | None = None
    setup: Callable[[Any, int], object] | None = None
    reward: Callable[[Any, AppTrial], float | bool | None] | None = None
    solved_when: Callable[[AppTrial], bool | None] | None = None
    dialogs: Mapping[str, bool | str] = field(default_factory=dict)
    scrub: Mapping[str, str] | Callable[[str], str] | None = None
    redact: Collection[str] = ()
    allow: Collection[str] = ()
    clock: float | None = None
    origins: Collection[str] = ()
    viewport: tuple[int, int] = (1280, 720)
    files: Collection[str] = ()
    perturb: Mapping[str, Any] = field(default_factory=dict)
    graders: Sequence[Callable[[Any], object]] = ()
    category: str = CATEGORY

    def __post_init__(self) -> None:
        for name, is_good, must in (
            ("app", _is_nonblank(self.app), "the name of a fixture, or an address"),
            ("name", _is_nonblank(self.name), "a string"),
            ("category", _is_nonblank(self.category), "a string"),
            (
                "goal",
                _is_function(self.goal) or _is_nonblank(self.goal),
                f"a string, or {FUNCTION}",
            ),
            ("start", _is_function(self.start) or _is_path(self.start), START),
            (
                "ready",
                self.ready is None or _is_function(self.ready) or _is_nonblank(self.ready),
                f"a string, or {FUNCTION}",
            ),
            ("setup", self.setup is None or _is_function(self.setup), FUNCTION),
            ("reward", self.reward is None or _is_function(self.reward), FUNCTION),
            ("solved_when", self.solved_when is None or _is_function(self.solved_when), FUNCTION),
            ("dialogs", _are_answers(self.dialogs), 'such as {"confirm": True, "prompt": "Ann"}'),
            (
                "scrub",
                self.scrub is None or _is_function(self.scrub) or _are_replacements(self.scrub),
                "a function of a string, or replacements by regular expressions",
            ),
            ("redact", _are_patterns(self.redact), "a list of regular expressions"),
            ("allow", _are_patterns(self.allow), "a list of regular expressions"),
            ("clock", self.clock is None or is_time(self.clock), CLOCK),
            ("origins", _are_nonblank(self.origins), "a list of addresses and names of fixtures"),
            (
                "perturb",
                isinstance(self.perturb, Mapping),
                'a mapping such as {"reworded": {"Save": "Store"}}',
            ),
            (
                "graders",
                all(map(callable, self.graders)),
                "a list of graders, functions of an episode",
            ),
            ("viewport", _is_size(self.viewport), "a width and a height, such as (1280, 720)"),
            ("files", _are_nonblank(self.files), 'a list of paths, such as ["cv.pdf"]'),
        ):
            if not is_good:
                given = getattr(self, name)
                raise UsageError(f"AppTask {self.name!r}: {name} must be {must}, not {given!r}")
        judges = [self.reward, self.solved_when]
        if None not in judges or (judges == [None, None] and not self.graders):
            raise UsageError(
                f"AppTask {self.name!r} needs one judge: reward(app, trial), which asks the live "
                "app, solved_when(trial), which judges by what the page shows and sends, or graders"
            )

    def call(self, name: str, *values: Any) -> Any:
        """Call the task's function of this name.

        Raises:
            PageError: it failed; the message names the place in its own file.
        """
        function = getattr(self, name)
        try:
            return function(*values)
        except MiniwobError:
            raise
        except Exception as error:
            _, *frames = traceback.extract_tb(error.__traceback__)
            own = [frame for frame in frames if frame.filename == frames[0].filename]
            at = f" at {display_path(Path(own[-1].filename))}:{own[-1].lineno}" if own else ""
            reason = "".join(traceback.format_exception_only(error)).strip()
            raise PageError(f"{name} of AppTask {self.name!r} failed{at}: {reason}") from error

    def goal_text(self, seed: int) -> str:
        """Return the goal at a seed."""
        goal = self.goal if isinstance(self.goal, str) else self.call("goal", seed)
        if not _is_nonblank(goal):
            raise UsageError(f"the goal of AppTask {self.name!r} must be a string, not {goal!r}")
        return goal

    def start_path(self, seed: int) -> str:
        """Return the path at which a trial begins."""
        start = self.start if isinstance(self.start, str) else self.call("start", seed)
        if not _is_path(start):
            raise UsageError(f"AppTask {self.name!r}: start must be {START}, not {start!r}")
        return start

    def initial_clock(self, noted: float | None) -> float:
        """Return the page's clock at the beginning of a trial; `noted` is that of the recording."""
        if self.clock is not None:
            return self.clock
        return UNNOTED if noted is None else noted

    def is_ready(self, trial: AppTrial) -> bool:
        """Return True if a trial can begin, by what the page shows and sends."""
        if isinstance(self.ready, str):
            return trial.shows(self.ready)
        return self.ready is None or bool(self.call("ready", trial))

    def scrubbed(self, text: str) -> str:
        """Return text of the app without what differs at every run."""
        if callable(self.scrub):
            if not isinstance(scrubbed := self.scrub(text), str):
                raise UsageError(
                    f"AppTask {self.name!r}: scrub returned {scrubbed!r}, not a string"
                )
            return scrubbed
        for pattern, replacement in (self.scrub or {}).items():
            text = re.sub(pattern, replacement, text)
        return text


def _is_nonblank(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_function(value: Any) -> bool:
    return callable(value) and not (iscoroutinefunction(value) or isgeneratorfunction(value))


def _are_nonblank(value: Any) -> bool:
    return (
        not isinstance(value, str)
        and isinstance(value, Collection)
        and all(map(_is_nonblank, value))
    )


def _are_patterns(value: Any) -> bool:
    return _are_nonblank(value) and _are_replacements(dict.fromkeys(value, ""))


def _is_path(value: Any) -> bool:
    return isinstance(value, str) and value.startswith("/")


def is_time(value: Any) -> bool:
    """Return True for seconds since 1970 that a page's clock may have."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and abs(value) <= 8.64e12  # JavaScript has no other dates


def _is_size(value: Any) -> bool:
    sides = list(value) if isinstance(value, Sequence) else []
    return len(sides) == 2 and all(type(side) is int and side > 0 for side in sides)


def _are_answers(value: Any) -> bool:
    kinds = {"confirm": bool, "prompt": bool | str}
    return isinstance(value, Mapping) and all(
        kind in kinds and isinstance(said, kinds[kind]) for kind, said in value.items()
    )


def _are_replacements(value: Any) -> bool:
    if not isinstance(value, Mapping):
        return False
    try:
        return all(isinstance(re.sub(pattern, new, ""), str) for pattern, new in value.items())
    except (re.error, TypeError, IndexError):
        return False


class Source(Protocol):
    """What answers the requests of pages."""

    def answer(
        self, request: PageRequest, step: int, crowded: Callable[[], bool]
    ) -> PageResponse | None:
        """Answer a request of the page, at a number of actions; None if nothing comes.

        `crowded` is True while further requests wait for this one.
        """

    def messages(self, now: float) -> list[PageMessage] | None:
        """Return what has come for the page, which is idle at this time of its clock.

        None while something may still come.
        """


class Beginning(NamedTuple):
    """How a trial of a number begins: with a goal, and a path of the first of the app's origins.

    `clock` is the page's clock as the recording notes it; None for an early recording, in which
    each trial has the same random numbers, too.
    """

    goal: str
    origins: Sequence[str]
    start: str
    number: int = 1
    clock: float | None = None


class App(Source, Protocol):
    """The app of an item: live and recorded, or its tape."""

    def begin_trial(self) -> Beginning:
        """Begin the next trial."""

    def rewind(self) -> None:
        """Have the next trial be the first one."""

    def in_real_time(self) -> AbstractContextManager[None]:
        """In a block, let the page's clock go no faster than real time, if the app is live."""

    def is_ready(self, trial: AppTrial, waited: float) -> bool:
        """Return True if the trial can begin; its page was loaded `waited` seconds ago."""

    def judge(self, trial: AppTrial, *, driven: bool = False) -> float:
        """Return the reward, also of a page that is driven by a program; 0 while undecided."""
