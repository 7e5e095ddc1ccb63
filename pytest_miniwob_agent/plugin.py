"""The pytest plugin: options, the marker, one item a case, fixtures, what the terminal shows.

F means that the agent failed the task; E that the run could not tell (no browser, no cassette, a
call that is not recorded); s that the item waits for completions of deferred recording.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_miniwob_agent import catalogue
from pytest_miniwob_agent.core import (
    LLM,
    Agent,
    BrowserLost,
    Case,
    CassetteError,
    Environment,
    Episode,
    Limits,
    MiniwobError,
    Pending,
    UsageError,
    nearest,
)

if TYPE_CHECKING:
    from pytest_miniwob_agent.browser import Browser
    from pytest_miniwob_agent.cassette import ItemCassette

SEEDS = "1000-1024"
"""The seeds where neither option, marker nor ini file names any: those of the paper (6.1)."""

PENDING = Path(".miniwob/pending.jsonl")
"""Where deferred recording puts what waits for a completion, below the root folder."""


@dataclass(frozen=True, slots=True)
class Option:
    """An option of the command line, and its twin in the ini file (`miniwob_record`)."""

    name: str
    help: str
    default: str | None = None
    metavar: str | None = None
    choices: tuple[str, ...] | None = None
    flag: bool = False

    @property
    def ini(self) -> str:
        """Its name in the ini file, and of its attribute."""
        return "miniwob_" + self.name.replace("-", "_")


OPTIONS = (
    Option(
        "record",
        "what to do at a model call: none = replay only, a call that is not recorded is an error; "
        "once = record items that have no cassette; new_episodes = replay what is recorded and "
        "record the rest; all = record everything anew; defer = replay, and write calls without a "
        f"completion to {PENDING} as a batch file (see --miniwob-answers)",
        "none",
        choices=("none", "once", "new_episodes", "all", "defer"),
    ),
    Option(
        "model",
        "the model's id, as its server calls it; also a folder of the cassettes",
        metavar="ID",
    ),
    Option(
        "base-url",
        "any OpenAI-compatible server, such as http://127.0.0.1:8000/v1 (default: OPENAI_BASE_URL "
        "or OpenAI's own; the key is in OPENAI_API_KEY)",
        metavar="URL",
    ),
    Option(
        "llm-params",
        "further parameters of every model call, as JSON; '{}' for models that refuse a "
        "temperature",
        '{"temperature": 0}',
        metavar="JSON",
    ),
    Option("agent", "the agent: reflective, or package.module:Class", "reflective", metavar="NAME"),
    Option(
        "prompts",
        "a folder of prompt texts that replace the agent's own, file by file (plan.txt, ...)",
        metavar="DIR",
    ),
    Option(
        "seeds",
        "the seeds of every task, such as 1000-1024,7; on the command line for all tests, in the "
        f"ini file for those whose marker names none (default: {SEEDS})",
        metavar="SEEDS",
    ),
    Option(
        "trials",
        "how often the agent may try an item; on the command line for all tests, in the ini file "
        f"for those whose marker says nothing (default: {Limits().trials})",
        metavar="N",
    ),
    Option(
        "steps",
        f"how many actions a trial may have; likewise (default: {Limits().steps})",
        metavar="N",
    ),
    Option("cassettes", "the folder of recorded model calls", "cassettes", metavar="DIR"),
    Option(
        "answers",
        "with --miniwob-record=defer: first put the completions of this Batch API output file "
        "into the cassettes that wait for them",
        metavar="FILE",
    ),
    Option(
        "browser",
        "the Chromium or Chrome to use (default: MINIWOB_BROWSER, or the first one found)",
        metavar="PATH",
    ),
    Option(
        "headed",
        "show the browser's window; without -n, as windows take each other's focus",
        flag=True,
    ),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add every option and its ini twin; the command line wins over the ini file."""
    group = parser.getgroup("miniwob", "MiniWoB++ agents (pytest-miniwob-agent)")
    for option in OPTIONS:
        text = option.help.replace("%", "%%")
        about = f"default of --miniwob-{option.name}"
        if option.flag:
            parser.addini(option.ini, about, "bool", None)
            group.addoption(
                f"--miniwob-{option.name}", action="store_true", default=None, help=text
            )
        else:
            parser.addini(option.ini, about, "string", None)
            group.addoption(
                f"--miniwob-{option.name}",
                default=None,
                choices=option.choices,
                metavar=option.metavar,
                help=text + (f" (default: {option.default})" if option.default else ""),
            )


@dataclass(frozen=True, slots=True)
class Settings:
    """The options, read once. `None` where there is neither an option nor a default."""

    record: str
    model: str | None
    base_url: str | None
    llm_params: dict[str, Any]
    agent: str
    prompts: Path | None
    seeds: list[int] | None
    trials: int | None
    steps: int | None
    cassettes: Path
    answers: Path | None
    browser: str | None
    headed: bool
    pending: Path
    ini: dict[str, str | None]
    """What the ini file says of seeds, trials and steps, for markers that say nothing."""


def _read(config: pytest.Config) -> Settings:
    """The settings of a run; a wrong value is a `UsageError` that names its option."""
    given: dict[str, Any] = {}
    ini: dict[str, str | None] = {}
    for option in OPTIONS:
        value = config.getoption(option.ini)
        in_file = config.getini(option.ini) or None
        key = option.ini.removeprefix("miniwob_")
        if key in ("seeds", "trials", "steps"):
            ini[key] = in_file
            given[key] = value
        elif key in ("prompts", "answers", "cassettes"):  # relative to where they were written
            base = config.invocation_params.dir if value is not None else config.rootpath
            path = value or in_file or option.default
            given[key] = base / path if path else None
        else:
            given[key] = value if value is not None else in_file or option.default
    choices = OPTIONS[0].choices or ()
    if given["record"] not in choices:
        raise UsageError(
            f"miniwob_record = {given['record']}: not one of {', '.join(choices)}"
            + nearest(given["record"], choices)
        )
    if given["answers"] and given["record"] != "defer":
        raise UsageError("--miniwob-answers goes with --miniwob-record=defer")
    try:
        given["llm_params"] = json.loads(given["llm_params"])
    except ValueError as error:
        raise UsageError(
            f"--miniwob-llm-params: {given['llm_params']!r} is no JSON: {error}"
        ) from None
    if not isinstance(given["llm_params"], dict):
        raise UsageError('--miniwob-llm-params: not a JSON object, such as {"temperature": 0}')
    if given["seeds"] is not None:
        given["seeds"] = catalogue.parse_seeds(given["seeds"])
    for name in ("trials", "steps"):
        if given[name] is not None:
            given[name] = _count(f"--miniwob-{name}", given[name])
    given["headed"] = bool(given["headed"])
    return Settings(**given, pending=config.rootpath / PENDING, ini=ini)


def _count(what: str, value: Any) -> int:
    try:
        count = int(value)
    except (TypeError, ValueError):
        count = 0
    if count < 1:
        raise UsageError(f"{what}: {value!r} is no number from 1 up")
    return count


_SETTINGS = pytest.StashKey[Settings]()
_OUTCOME = pytest.StashKey[dict[str, Any]]()
"""What an item tells the controller, see `pytest_runtest_makereport`."""
_CASSETTE: pytest.StashKey[ItemCassette] = pytest.StashKey()


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, read the settings, take answers, and watch the reports."""
    config.addinivalue_line(
        "markers",
        "miniwob(*selectors, seeds=..., trials=..., steps=...): run the test on every selected "
        "MiniWoB++ task (task names, category names or globs) at every seed; the test asks for "
        "the fixture miniwob_episode",
    )
    try:
        settings = config.stash[_SETTINGS] = _read(config)
        taken = None
        if settings.record == "defer" and not hasattr(config, "workerinput"):
            from pytest_miniwob_agent.deferred import read_pending, take_answers

            if settings.answers:
                taken = take_answers(settings.answers, settings.pending, settings.cassettes)
            else:
                read_pending(settings.pending)  # a damaged file is told of before the run
    except MiniwobError as error:
        raise pytest.UsageError(str(error)) from None
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Summary(settings, taken), "miniwob-summary")


# --- Collection ---


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One item for each case that the test's `miniwob` markers select."""
    markers = list(metafunc.definition.iter_markers("miniwob"))
    if "miniwob_case" not in metafunc.fixturenames:
        if markers:
            raise pytest.Collector.CollectError(
                f"{metafunc.definition.nodeid} has a miniwob marker but asks for no miniwob "
                "fixture: give it the parameter miniwob_episode"
            )
        return
    if not markers:
        raise pytest.Collector.CollectError(
            f"{metafunc.definition.nodeid} asks for a miniwob fixture but selects no tasks: "
            'mark it, for instance @pytest.mark.miniwob("n-screen-n-step")'
        )
    settings = metafunc.config.stash[_SETTINGS]
    try:
        _check_agent(settings)
        limited = {
            case.id: (case, limits)
            for marker in reversed(markers)
            for case, limits in _cases_of(marker, settings)
        }
    except UsageError as error:
        raise pytest.Collector.CollectError(f"{metafunc.definition.nodeid}: {error}") from None
    metafunc.parametrize("miniwob_case", list(limited.values()), ids=list(limited), indirect=True)


def _check_agent(settings: Settings) -> None:
    """Whether there is such an agent, before a browser is started for it."""
    from pytest_miniwob_agent.agents import BUILT_IN, load_agent

    if settings.agent not in BUILT_IN:
        load_agent(settings.agent, settings.prompts)


def _cases_of(marker: pytest.Mark, settings: Settings) -> Iterator[tuple[Case, Limits]]:
    """The cases of a marker; option, marker, ini file and default count in that order."""
    known = ("seeds", "trials", "steps")
    for name in marker.kwargs:
        if name not in known:
            raise UsageError(
                f"the miniwob marker knows no {name}" + nearest(name, known)
                + f"; it takes selectors and {', '.join(known)}"
            )  # fmt: skip
    if not marker.args:
        raise UsageError("the miniwob marker selects nothing: name tasks, categories or globs")
    for selector in marker.args:
        if not isinstance(selector, str):
            raise UsageError(f"the miniwob marker's selector {selector!r} is no text")
    seeds = settings.seeds or _marker_seeds(marker.kwargs.get("seeds"))
    seeds = seeds or catalogue.parse_seeds(settings.ini["seeds"] or SEEDS)
    limits = {}
    for name in ("trials", "steps"):
        value = getattr(settings, name) or marker.kwargs.get(name, settings.ini[name])
        if value is not None:
            limits[name] = _count(name, value)
    for case in catalogue.cases(marker.args, seeds):
        yield case, Limits(**limits)


def _marker_seeds(seeds: Any) -> list[int] | None:
    if seeds is None or isinstance(seeds, str):
        return catalogue.parse_seeds(seeds) if seeds else None
    try:
        found = list(seeds)
    except TypeError:
        found = [seeds]
    if not found or not all(isinstance(seed, int) and seed >= 0 for seed in found):
        raise UsageError(f"the miniwob marker's seeds are no whole numbers from 0 up: {seeds!r}")
    return found


# --- Fixtures ---


@contextmanager
def _as_error() -> Iterator[None]:
    """Show errors of ours by their message alone; in a fixture they make the item an error."""
    try:
        yield
    except MiniwobError as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None


@pytest.fixture(scope="session")
def miniwob_browser(request: pytest.FixtureRequest) -> Iterator[Browser]:
    """The worker's Chromium; started by the first item that needs it."""
    from pytest_miniwob_agent.browser import Browser

    settings = request.config.stash[_SETTINGS]
    browser = Browser(settings.browser, headed=settings.headed)
    yield browser
    browser.close()


@pytest.fixture
def miniwob_case(request: pytest.FixtureRequest) -> Case:
    """The item's task, category and seed."""
    case: Case = request.param[0]
    return case


@pytest.fixture
def miniwob_limits(request: pytest.FixtureRequest, miniwob_case: Case) -> Limits:
    """How many trials, actions and model calls the item may have."""
    limits: Limits = request.node.callspec.params["miniwob_case"][1]
    return limits


@pytest.fixture
def miniwob_environment(miniwob_browser: Browser, miniwob_case: Case) -> Environment:
    """The item's page. Override it to run agents on something else, for instance
    `testing.FakeEnvironment`.
    """
    return miniwob_browser.environment(miniwob_case)


@pytest.fixture
def miniwob_agent(request: pytest.FixtureRequest) -> Agent:
    """A new agent, the one that `--miniwob-agent` names. Override it for one with arguments."""
    from pytest_miniwob_agent.agents import load_agent

    settings = request.config.stash[_SETTINGS]
    with _as_error():
        return load_agent(settings.agent, settings.prompts)


@pytest.fixture
def miniwob_llm(
    request: pytest.FixtureRequest, miniwob_agent: Agent, miniwob_case: Case
) -> Iterator[LLM]:
    """The model, behind the item's cassette. Override it for a model of your own."""
    from pytest_miniwob_agent.cassette import CassetteTransport, ItemCassette, Record, stem
    from pytest_miniwob_agent.llm import OpenAILLM

    settings = request.config.stash[_SETTINGS]
    with _as_error():
        if settings.model is None:
            raise UsageError(
                "no model is named: give --miniwob-model, or miniwob_model in the ini file. "
                "Recorded ones are folders of " + str(settings.cassettes / miniwob_agent.name)
            )
        name = stem(miniwob_agent.name, settings.model, miniwob_case.task, miniwob_case.seed)
        cassette = ItemCassette(settings.cassettes, name, Record(settings.record))
        request.node.stash[_CASSETTE] = cassette
        with CassetteTransport(cassette) as transport:
            yield OpenAILLM(
                settings.model,
                settings.llm_params,
                base_url=settings.base_url,
                transport=transport,
                live=cassette.live,
            )


@pytest.fixture
def miniwob_episode(
    request: pytest.FixtureRequest,
    miniwob_case: Case,
    miniwob_limits: Limits,
    miniwob_agent: Agent,
    miniwob_llm: LLM,
    miniwob_environment: Environment,
) -> Episode:
    """What the agent did on the item's page: an `Episode` with `solved` and `explain()`.

    An item whose browser is lost is begun again in a new one, once, with the calls that are
    recorded by then replayed.
    """
    from pytest_miniwob_agent.episode import run_episode

    item = request.node
    outcome: dict[str, Any] = {"category": miniwob_case.category}
    item.stash[_OUTCOME] = outcome
    cassette = item.stash.get(_CASSETTE, None)

    def run() -> Episode:
        return run_episode(
            miniwob_case,
            miniwob_agent,
            miniwob_environment,
            miniwob_llm,
            miniwob_limits,
            model=getattr(miniwob_llm, "model", type(miniwob_llm).__name__),
        )

    try:
        try:
            episode = run()
        except BrowserLost:
            if cassette is None:  # a model of the user's own can't be asked the same again
                raise
            cassette.rewind()
            episode = run()
    except Pending as pending:
        outcome["pending"] = pending.request
        pytest.skip("waiting for a completion")
    except MiniwobError as error:
        message = f"{error}{_how_to_record(error, item)}"
        raise pytest.fail.Exception(message, pytrace=False) from None
    finally:
        if cassette is not None:
            outcome |= {
                "cassette": cassette.stem,
                "replayed": cassette.replayed,
                "recorded": cassette.recorded,
            }
    outcome["episode"] = episode.to_data()
    return episode


def _how_to_record(error: MiniwobError, item: pytest.Item) -> str:
    """The command that records a call that could not be replayed."""
    if not isinstance(error, CassetteError):
        return ""
    given = [
        f"--miniwob-{option.name}" + ("" if option.flag else f"={value}")
        for option in OPTIONS
        if option.name not in ("record", "answers")
        and (value := item.config.getoption(option.ini)) is not None
    ]
    command = shlex.join(["pytest", "--miniwob-record=new_episodes", *given, item.nodeid])
    return f"\nRecord it with: {command}"


# --- Reports ---


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    """Let the item's outcome travel with its last report of setup or call, as plain data."""
    report = yield
    last = report.when == "call" or (report.when == "setup" and not report.passed)
    if last and _OUTCOME in item.stash:
        report.miniwob = item.stash[_OUTCOME]
    return report


class Summary:
    """What the run's reports add up to; lives in the controller only."""

    def __init__(self, settings: Settings, taken: Any) -> None:
        self._settings = settings
        self._taken = taken
        self._outcomes: list[dict[str, Any]] = []
        self._waiting = 0

    def pytest_report_header(self) -> list[str]:
        """What became of the answer file."""
        return [] if self._taken is None else [f"miniwob answers: {self._taken}"]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what an item's report carries."""
        if (outcome := getattr(report, "miniwob", None)) is not None:
            self._outcomes.append(outcome)

    def pytest_sessionfinish(self) -> None:
        """Write what waits for a completion."""
        if self._settings.record != "defer" or not self._outcomes:
            return
        from pytest_miniwob_agent.deferred import update_pending

        self._waiting = update_pending(
            self._settings.pending,
            {outcome["cassette"] for outcome in self._outcomes if "cassette" in outcome},
            [outcome["pending"] for outcome in self._outcomes if "pending" in outcome],
        )

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Solved items by category, calls, and what waits."""
        if not self._outcomes or terminalreporter.verbosity < 0:
            return
        terminalreporter.section("MiniWoB++ episodes")
        for category in [*catalogue.CATEGORIES, catalogue.OTHER]:
            episodes = [
                outcome["episode"]
                for outcome in self._outcomes
                if outcome["category"] == category and "episode" in outcome
            ]
            if episodes:
                solved = sum(episode["solved"] for episode in episodes)
                first = sum(episode["solved_at"] == 1 for episode in episodes)
                terminalreporter.line(
                    f"{category:<16} {solved:>4}/{len(episodes)} solved, {first} in the first "
                    f"trial; {sum(each['calls'] for each in episodes)} model calls, "
                    f"{sum(each['steps'] for each in episodes)} actions"
                )
        replayed = sum(outcome.get("replayed", 0) for outcome in self._outcomes)
        recorded = sum(outcome.get("recorded", 0) for outcome in self._outcomes)
        terminalreporter.line(f"model calls: {replayed} replayed, {recorded} recorded")
        if self._waiting:
            terminalreporter.line(
                f"requests that wait for a completion: {self._waiting}, in "
                f"{self._settings.pending}; have them answered and run again with "
                "--miniwob-answers=FILE"
            )
