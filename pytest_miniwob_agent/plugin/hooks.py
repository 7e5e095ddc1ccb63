"""The pytest plugin: the marker, one item a case, fixtures, what an item tells the run.

F means that the agent failed the task; E that the run could not tell (no browser, no cassette); D
that the item's model calls are not those of its cassette (drift); w that it waits for completions
of deferred recording, and b for a larger budget. Against a baseline, P is solved now and was not;
R was solved and is not, where the gate judges all items together.
"""

from __future__ import annotations

import gc
import json
import re
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.data import to_data
from pytest_miniwob_agent.core.errors import (
    BrowserLost,
    BudgetReached,
    Drift,
    MiniwobError,
    NotRecorded,
    Pending,
    UsageError,
)
from pytest_miniwob_agent.core.events import Episode, Event, Origin
from pytest_miniwob_agent.core.files import display_path
from pytest_miniwob_agent.core.limits import Limits
from pytest_miniwob_agent.core.protocols import LLM, Agent, Environment
from pytest_miniwob_agent.core.text import nearest, sanitize_lines
from pytest_miniwob_agent.plugin import options
from pytest_miniwob_agent.plugin.items import case_of
from pytest_miniwob_agent.plugin.options import (
    BY_MARKER,
    SEEDS,
    Settings,
    add_options,
    command,
    count,
    read_settings,
    show_command,
)
from pytest_miniwob_agent.tasks.selection import parse_seeds, select_cases
from pytest_miniwob_agent.terminal.summary import Summary

if TYPE_CHECKING:
    from pytest_miniwob_agent.browser.environment import Browser
    from pytest_miniwob_agent.cassettes.item import ItemCassette
    from pytest_miniwob_agent.plugin.baseline import Judgement
    from pytest_miniwob_agent.plugin.exports import Exports
    from pytest_miniwob_agent.plugin.trace import Keeper

SETTINGS = pytest.StashKey[Settings]()
"""Where a run's configuration keeps its settings."""
KEEPER: pytest.StashKey[Keeper] = pytest.StashKey()
"""What keeps traces of the items: the report, or who watches a replay."""
_OUTCOME = pytest.StashKey[dict[str, Any]]()
"""What an item tells the controller, see `pytest_runtest_makereport`."""
_EPISODE = pytest.StashKey[Episode]()
_CASSETTE: pytest.StashKey[ItemCassette] = pytest.StashKey()
_JUDGEMENT: pytest.StashKey[Judgement] = pytest.StashKey()
_EXPORTS: pytest.StashKey[Exports] = pytest.StashKey()
_HALF = re.compile("[\ud800-\udfff]")
_SHARED = pytest.StashKey[Path]()
"""A folder of this run, for what its workers count together; where calls may be made only."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add every option and its ini twin."""
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, read the settings, take answers, and watch the reports."""
    config.addinivalue_line(
        "markers",
        "miniwob(*selectors, seeds=..., trials=..., steps=..., repeats=...): run the test on every "
        "selected MiniWoB++ task (task names, categories, suites or globs) at every seed; the test "
        "asks for the fixture miniwob_episode",
    )
    try:
        settings = config.stash[SETTINGS] = read_settings(config)
        if settings.baseline or settings.results:
            from pytest_miniwob_agent.plugin.baseline import Judgement

            judgement = config.stash[_JUDGEMENT] = Judgement(config, settings)
            config.pluginmanager.register(judgement, "miniwob-judgement")
        if plugins := options.exports(config):
            from pytest_miniwob_agent.plugin.exports import Exports

            exports = config.stash[_EXPORTS] = Exports(plugins)
            config.pluginmanager.register(exports, "miniwob-exports")
        if settings.report:
            from pytest_miniwob_agent.plugin.reporting import Reporting

            reporting = config.stash[KEEPER] = Reporting(config, settings)
            config.pluginmanager.register(reporting, "miniwob-report")
        if hasattr(config, "workerinput"):
            if shared := config.workerinput["miniwob_shared"]:
                config.stash[_SHARED] = Path(shared)
            return
        taken = None
        if settings.record == "defer":
            from pytest_miniwob_agent.cassettes.pending import read_pending, take_answers

            if settings.answers:
                taken = take_answers(settings.answers, settings.pending, settings.cassettes)
            else:
                read_pending(settings.pending)  # a damaged file is told of before the run
    except MiniwobError as error:
        raise pytest.UsageError(str(error)) from None
    if settings.record not in ("none", "defer"):
        folder = tempfile.TemporaryDirectory(prefix="miniwob-")
        config.add_cleanup(folder.cleanup)
        config.stash[_SHARED] = Path(folder.name)
        from pytest_miniwob_agent.terminal.progress import Progress

        config.pluginmanager.register(Progress(config, settings.price), "miniwob-progress")
    config.pluginmanager.register(Summary(config, settings, taken), "miniwob-summary")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell each xdist worker of the folder that they share."""
    node.workerinput["miniwob_shared"] = str(node.config.stash.get(_SHARED, ""))


# --- Collection ---

MANY = 1000
"""Items that are worth collecting without a look for garbage."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Look for garbage again after a collection that did without, see `pytest_generate_tests`."""
    enabled = gc.isenabled()
    try:
        return (yield)
    finally:
        if enabled:
            gc.enable()


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
    settings = metafunc.config.stash[SETTINGS]
    try:
        _check_agent(settings)
        limited = {
            case.id: (case, limits)
            for marker in reversed(markers)
            for case, limits in _cases_of(marker, settings)
        }
    except UsageError as error:
        raise pytest.Collector.CollectError(f"{metafunc.definition.nodeid}: {error}") from None
    if len(limited) >= MANY:
        gc.disable()  # all items are kept: looking for garbage among them took a third of the time
    metafunc.parametrize("miniwob_case", list(limited.values()), ids=list(limited), indirect=True)


def _check_agent(settings: Settings) -> None:
    """Whether there is such an agent, before a browser is started for it."""
    from pytest_miniwob_agent.agents.registry import BUILT_IN, load_agent

    if settings.agent not in BUILT_IN or settings.agent_params:
        load_agent(settings.agent, settings.prompts, settings.agent_params)


def _cases_of(marker: pytest.Mark, settings: Settings) -> Iterator[tuple[Case, Limits]]:
    """The cases of a marker; option, marker, ini file and default count in that order."""
    known = BY_MARKER
    for name in marker.kwargs:
        if name not in known:
            raise UsageError(
                f"the miniwob marker knows no {name}" + nearest(name, known)
                + f"; it takes selectors and {', '.join(known)}"
            )  # fmt: skip
    if not marker.args:
        raise UsageError(
            "the miniwob marker selects nothing: name tasks, categories, suites or globs"
        )
    for selector in marker.args:
        if not isinstance(selector, str):
            raise UsageError(f"the miniwob marker's selector {selector!r} is no text")
    seeds = settings.seeds or _marker_seeds(marker.kwargs.get("seeds"))
    seeds = seeds or parse_seeds(settings.ini["seeds"] or SEEDS)
    counts = {}
    for name in ("trials", "steps", "repeats"):
        value = getattr(settings, name) or marker.kwargs.get(name, settings.ini[name])
        if value is not None:
            counts[name] = count(name, value)
    repeats = counts.pop("repeats", 1)
    limits = Limits(**counts)
    for case in select_cases(marker.args, seeds, repeats):
        yield case, limits


def _marker_seeds(seeds: Any) -> list[int] | None:
    if seeds is None or isinstance(seeds, str):
        return parse_seeds(seeds) if seeds else None
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
        raise pytest.fail.Exception(sanitize_lines(str(error)), pytrace=False) from None


@pytest.fixture(scope="session")
def miniwob_browser(request: pytest.FixtureRequest) -> Iterator[Browser]:
    """The worker's Chromium; started by the first item that needs it."""
    from pytest_miniwob_agent.browser.environment import Browser
    from pytest_miniwob_agent.cassettes.bypass_vcr import bypass_vcr

    settings = request.config.stash[SETTINGS]
    browser = Browser(
        settings.browser, headed=settings.headed, slowmo=settings.slowmo, apart=bypass_vcr
    )
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
def miniwob_agent(request: pytest.FixtureRequest, miniwob_case: Case) -> Agent:
    """A new agent, the one that `--miniwob-agent` names. Override it for one with arguments."""
    from pytest_miniwob_agent.agents.registry import load_agent

    settings = request.config.stash[SETTINGS]
    with _as_error():
        return load_agent(
            settings.agent, settings.prompts, settings.agent_params, task=miniwob_case.task
        )


@pytest.fixture
def miniwob_llm(
    request: pytest.FixtureRequest, miniwob_agent: Agent, miniwob_case: Case
) -> Iterator[LLM]:
    """The model, behind the item's cassette. Override it for a model of your own."""
    from pytest_miniwob_agent.cassettes.item import ItemCassette, Record, stem
    from pytest_miniwob_agent.cassettes.transport import CassetteTransport
    from pytest_miniwob_agent.models.budget import Budget
    from pytest_miniwob_agent.models.client import OpenAILLM

    settings = request.config.stash[SETTINGS]
    with _as_error():
        if settings.model is None:
            raise UsageError(
                "no model is named: give --miniwob-model, or miniwob_model in the ini file. "
                "Recorded ones are folders of " + str(settings.cassettes / miniwob_agent.name)
            )
        name = stem(miniwob_agent.name, settings.model, miniwob_case)
        cassette = ItemCassette(settings.cassettes, name, Record(settings.record))
        request.node.stash[_CASSETTE] = cassette
        budget = None
        if cassette.live:
            budget = Budget(
                request.config.stash[_SHARED],
                calls=settings.max_calls,
                cost=settings.max_cost,
                price=settings.price,
                concurrency=settings.concurrency,
            )
        with CassetteTransport(cassette, budget) as transport:
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
    from pytest_miniwob_agent.episode import Camera, run_episode
    from pytest_miniwob_agent.plugin.trace import Trace

    item = request.node
    model = getattr(miniwob_llm, "model", type(miniwob_llm).__name__)
    outcome = item.stash[_OUTCOME] = _outcome(item, miniwob_agent.name, model)
    cassette = item.stash.get(_CASSETTE, None)

    def announce(origin: Origin) -> None:
        outcome["item"]["prompts"].update(origin.prompts)
        if cassette is not None:
            cassette.before_call(origin)

    def run(watch: Callable[[Event], None], camera: Camera | None) -> Episode:
        return run_episode(
            miniwob_case,
            miniwob_agent,
            miniwob_environment,
            miniwob_llm,
            miniwob_limits,
            model=model,
            announce=announce,
            watch=watch,
            camera=camera,
        )

    keeper = item.config.stash.get(KEEPER, None)
    trace = keeper.trace(run, miniwob_environment) if keeper else Trace(run)
    try:
        try:
            episode = trace.run()
        except BrowserLost:
            if cassette is None:  # a model of the user's own can't be asked the same again
                raise
            cassette.rewind()
            episode = trace.run()
        if cassette is not None:
            cassette.finish(miniwob_limits)
        outcome |= {"episode": episode.to_data(), "trials": miniwob_limits.trials}
    except Pending as pending:
        outcome["pending"] = pending.request
        pytest.skip("waiting for a completion")
    except BudgetReached as reached:
        outcome["budget"] = str(reached)
        pytest.skip(f"{reached}; run again to go on from here")
    except MiniwobError as error:
        if isinstance(error, Drift):
            outcome["drift"] = {
                "report": str(error),
                "causes": to_data(error.causes),
                "changes": list(error.changes),
            }
        outcome["error"] = type(error).__name__
        message = outcome["message"] = sanitize_lines(f"{error}{_how_to_record(error, item)}")
        raise pytest.fail.Exception(message, pytrace=False) from None
    finally:
        if cassette is not None:
            outcome |= {
                "cassette": cassette.stem,
                "replayed": cassette.replayed.to_data(),
                "recorded": cassette.recorded.to_data(),
                "left": cassette.left.to_data(),
            }
        if keeper is not None:
            keeper.finish(trace, outcome, cassette)
    item.stash[_EPISODE] = episode
    return episode


def _outcome(item: pytest.Item, agent: str, model: str) -> dict[str, Any]:
    """What an item tells the run of itself, before anything has become of it."""
    case = case_of(item)
    assert case is not None
    settings = item.config.stash[SETTINGS]
    return {
        "case": case.id,
        "category": case.category,
        "item": {
            "category": case.category,
            "task": case.task,
            "seed": case.seed,
            "repeat": case.repeat,
            "agent": agent,
            "model": model,
            "params": settings.llm_params,
            "prompts": {},
        },
    }


def _how_to_record(error: MiniwobError, item: pytest.Item) -> str:
    """The command that records a call that could not be replayed."""
    if not isinstance(error, NotRecorded):
        return ""
    return f"\nRecord it with: {command(item.config, item.nodeid)}"


# --- Reports ---


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Forget what an earlier run of the item left: plugins may run an item again."""
    keys: tuple[pytest.StashKey[Any], ...] = (_OUTCOME, _EPISODE, _CASSETTE)
    for key in keys:
        if key in item.stash:
            del item.stash[key]
    if case_of(item) is not None:
        item.user_properties[:] = [
            each for each in item.user_properties if not each[0].startswith("miniwob_")
        ]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, Any, Any]:
    """Let the item's outcome travel with its last report of setup or call, as plain data."""
    report = yield
    last = report.when == "call" or (report.when == "setup" and not report.passed)
    if not last or case_of(item) is None:
        return report
    settings = item.config.stash[SETTINGS]
    if (outcome := item.stash.get(_OUTCOME, None)) is None and report.failed:
        outcome = _outcome(item, settings.agent, settings.model or "")
    if outcome is not None:
        if report.failed and call.excinfo and "episode" not in outcome:
            outcome.setdefault("error", call.excinfo.typename)
            outcome.setdefault("message", call.excinfo.exconly())
        report.miniwob = outcome
        _tell(item, call, report)
        if (judgement := item.config.stash.get(_JUDGEMENT, None)) is not None:
            judgement.forgive(item, report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable(config: pytest.Config) -> Generator[None, Any, Any]:
    """Send no half of a surrogate pair to the controller, which execnet refuses.

    A page may hold one, and the test's log, or its failure, tell of it in any report of the item.
    The outcome arrives as it was, in ASCII.
    """
    data = yield
    if hasattr(config, "workerinput") and data:
        if "miniwob" in data:
            data["miniwob"] = json.dumps(data["miniwob"])
        data = _whole(data)
    return data


@pytest.hookimpl(wrapper=True)
def pytest_report_from_serializable() -> Generator[None, Any, Any]:
    """Take the outcome out again, as it was."""
    report = yield
    if isinstance(getattr(report, "miniwob", None), str):
        report.miniwob = json.loads(report.miniwob)
    return report


def _whole(data: Any) -> Any:
    """The data with U+FFFD in the place of each half of a surrogate pair."""
    match data:
        case str():
            return _HALF.sub("\ufffd", data)
        case dict():
            return {_whole(key): _whole(value) for key, value in data.items()}
        case list():
            return [_whole(each) for each in data]
        case tuple():
            return tuple(_whole(each) for each in data)
    return data


def _tell(item: pytest.Item, call: pytest.CallInfo[None], report: Any) -> None:
    """Give the report the item's properties, and the transcript where it is asked for.

    A failure that is no other than that the episode is not solved consists of the transcript; of
    the test's code and of the assertion there is nothing to be learnt then.
    """
    from pytest_miniwob_agent.plugin.baseline import result_of
    from pytest_miniwob_agent.plugin.exports import properties
    from pytest_miniwob_agent.terminal.transcript import transcript

    outcome = report.miniwob
    item.user_properties.extend(properties(result_of(outcome)))
    report.user_properties = list(item.user_properties)
    episode = item.stash.get(_EPISODE, None)
    exports = item.config.stash.get(_EXPORTS, None)
    reason = call.excinfo.value if call.excinfo else None
    unsolved = isinstance(reason, (AssertionError, pytest.fail.Exception)) and not (
        episode is None or episode.solved
    )
    if episode is None or not (unsolved or exports):
        return
    settings = item.config.stash[SETTINGS]
    more = {}
    if "cassette" in outcome:  # a model of the user's own would be asked again
        more["all of it"] = show_command(item.config, outcome["case"], item)
    if settings.report is not None:
        more["in the report"] = (
            f"{display_path(settings.report)}/index.html#/item/{outcome['case']}"
        )
    text = transcript(episode, more)
    verdict = text.partition("\n")[0]
    if unsolved and call.excinfo and str(reason).partition("\n")[0] == verdict:
        failure = pytest.fail.Exception(text, pytrace=False).with_traceback(call.excinfo.tb)
        report.longrepr = item.repr_failure(pytest.ExceptionInfo.from_exception(failure))
        if (crash := getattr(report.longrepr, "reprcrash", None)) is not None:
            crash.message = verdict  # what pytest's short summary says of the item
    elif unsolved:
        report.sections.append(("MiniWoB++ transcript", text))
    if exports is not None:
        exports.give(item, report, text, _last_picture(outcome, settings))


def _last_picture(outcome: dict[str, Any], settings: Settings) -> Path | None:
    """The last picture that the run's report has of an item, if there is one."""
    from pytest_miniwob_agent.report.site import Report

    pictures = outcome.get("trace", {}).get("pictures")
    if settings.report is None or not pictures:
        return None
    return Report(settings.report).picture(pictures[-1]["name"])


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(report: Any) -> tuple[str, str, Any] | None:
    """Count distinct things bypass_vcr; what happened to them is told at the end, once for all."""
    outcome = getattr(report, "miniwob", {})
    match report.outcome:
        case "failed" if "drift" in outcome:
            return "drifted", "D", ("drift", {"red": True})
        case "failed" if outcome.get("change") == "regressed":
            return "failed", "F", ("REGRESSED", {"red": True})
        case "skipped" if outcome.get("change") == "regressed":
            return "regressed", "R", ("REGRESSED", {"yellow": True})
        case "skipped" if "pending" in outcome:
            return "waiting", "w", ("waiting", {"yellow": True})
        case "skipped" if "budget" in outcome:
            return "budget", "b", ("budget", {"yellow": True})
        case "passed" if outcome.get("change") == "progressed":
            return "progressed", "P", ("PROGRESSED", {"green": True})
    return None
