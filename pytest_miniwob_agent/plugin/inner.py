"""Pytest inside a command: a run with one more plugin, and without its output.

`replay` runs one item for `miniwob-agent show` and `play`; `collect` finds out what the items of a
run use, for `cassettes` and `doctor`; `open_apps` looks at apps that run. Commands of plugins use
`run` and `Replay`.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pytest_miniwob_agent.cassettes.folder import ASIDE, Used, case_name
from pytest_miniwob_agent.core.actions import AnyAction
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.code_digest import is_of_project
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.events import Event
from pytest_miniwob_agent.core.observations import Shot
from pytest_miniwob_agent.core.outcome import Outcome
from pytest_miniwob_agent.core.protocols import Observer, Page, Visible
from pytest_miniwob_agent.core.text import listed, nearest
from pytest_miniwob_agent.plugin.collection import get_cases, get_problem
from pytest_miniwob_agent.plugin.reading import all_options, read_settings, suite_files
from pytest_miniwob_agent.plugin.settings import Settings
from pytest_miniwob_agent.plugin.state import STATE
from pytest_miniwob_agent.tasks.catalogue import TaskPage

NO_ITEMS = (
    "no item collected here uses a cassette; run this in the directory of your tests, or name them "
    "after --, and name a model, in the ini file (miniwob_model) or with -- --miniwob-model=ID"
)

Begin = Callable[[Path, Path], None]
"""Is told the folders of cassettes and of unused calls."""

Step = Callable[[AnyAction | str, Any, TaskPage], bool]
"""Is told of an action before it is carried out, or that a `trial` or the `episode` ends, with the
page and its task; the replay ends when it returns False."""

# Options of pytest and pytest-xdist with which all items run, in this process.
_ALL_HERE: dict[str, Any] = {"maxfail": 0, "numprocesses": None, "dist": "no", "tx": []}

# Pytest's own options that write or delete files, or send something.
_WRITING = {"xmlpath", "log_file", "pastebin", "basetemp"}


class _AddoptsFilter:
    """Plugin of each run, in which `addopts` sets no options of other plugins, and none that write.

    Which plugins write a report can't be told, and they are switched on by options. In force are
    options of pytest, of this package and of conftest.py files, and all that the command names.
    """

    def __init__(self) -> None:
        self._ignored: list[str] = []

    @property
    def remark(self) -> str:
        if not self._ignored:
            return ""
        return (
            "options of other plugins in addopts are ignored here, as are those that write "
            f"({', '.join(self._ignored)}); name what the tests need after --\n"
        )

    def pytest_addoption(self, parser: pytest.Parser) -> None:
        # No other plugin is loaded yet, so these options are pytest's own.
        self._held = vars(parser.parse_known_args([])).keys() - _WRITING

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_load_initial_conftests(
        self, early_config: pytest.Config, parser: pytest.Parser
    ) -> Generator[None, Any, Any]:
        # Plugins such as pytest-cov read options this early.
        named = vars(parser.parse_known_args([*map(str, early_config.invocation_params.args)]))
        self._named = {
            name: value
            for name, value in named.items()
            if name not in self._held and not name.startswith("miniwob_")
        }
        vars(early_config.known_args_namespace).update(self._named)
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> Generator[None, Any, Any]:
        # Before plugins prepare for them.
        options = vars(config.option)
        self._ignored = sorted(name for name in self._named if options[name] != self._named[name])
        options.update(self._named)
        return (yield)


def run(plugin: object, args: Sequence[str]) -> str:
    """Run pytest with a plugin; return what was ignored, and its output."""
    addopts = _AddoptsFilter()
    sys.path.insert(0, os.getcwd())  # as `python -m pytest` does
    before = {*sys.modules}
    # A file, as programs that an agent starts write to it, too.
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8") as output,
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(output),
    ):
        # This package is imported already, which pytest warns of.
        args = ["-s", "-Wignore::pytest.PytestAssertRewriteWarning", *args]
        pytest.main(args, plugins=[addopts, plugin])
        # Pytest imports conftest.py anew in a further run: so are the modules that import it.
        for name in {*sys.modules} - before:
            if is_of_project(getattr(sys.modules[name], "__dict__", {})):  # None bars an import
                del sys.modules[name]
        output.seek(0)
        return addopts.remark + output.read().rstrip()


def replay(
    case: str,
    args: Sequence[str],
    observer: Observer,
    step: Step | None = None,
    slowmo: int | None = None,
) -> None:
    """Replay the one item of `pytest ARGS` whose id is `case`, or ends with it.

    No model behind a cassette is called, and nothing is written. The observer gets no pictures.
    `step` is called before each action, and when a trial or the episode ends. `slowmo` are
    milliseconds that each action takes longer.

    Raises:
        UsageError: no item has this id, or more than one, or pytest can't run it; the message has
            its output.
    """
    player = _Player(case, observer, step, slowmo)
    output = run(player, args)
    if player.failure is not None:
        raise player.failure
    if not player.complete:
        raise UsageError(f"pytest can't run the item:\n{output}")


class Replay:
    """Plugin of a run that does nothing but run items; it replays them."""

    record = "none"
    app = "recorded"

    @pytest.hookimpl(wrapper=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> Generator[None, Any, Any]:
        # Before plugins prepare for what a run does besides running items.
        for name, value in _ALL_HERE.items():
            if hasattr(config.option, name):
                setattr(config.option, name, value)
        fixed = {"record": self.record, "app": self.app}
        for option in all_options(config.hook):
            if option.whole_run or option.key in fixed:  # it writes, sends, judges, or records
                setattr(config.option, option.ini, fixed.get(option.key, ""))
        return (yield)


@dataclass(eq=False)
class _Player(Replay, Observer):
    """Plugin of a run that replays one item, and follows its episode; see `replay`."""

    case: str
    observer: Observer
    step: Step | None
    slowmo: int | None
    complete: bool = False
    failure: BaseException | None = None

    def __post_init__(self) -> None:
        self.wants_pictures = self.step is not None  # before each action, the pointer in place
        self._stdout = sys.stdout

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        config.stash[STATE].slowmo = self.slowmo

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, items: list[pytest.Item]
    ) -> None:
        found = {item.nodeid: problem for item in items if (problem := get_problem(item))}
        ids = {name: problem.case.id for name, problem in found.items()}
        meant = [
            name
            for name, id_ in ids.items()
            if name == self.case or f"/{id_}".endswith(f"/{self.case}")
        ]
        self._task = next((found[name].page for name in meant), None)
        items[:] = [item for item in items if [item.nodeid] == meant]
        if session.testsfailed or len(meant) == 1:  # a failure is in pytest's output
            return
        if not ids:
            text = (
                "no MiniWoB++ item collected here; run this in the directory of your tests, or "
                "name them after --"
            )
        elif meant:
            text = f"{len(meant)} items are called {self.case}; name one: {listed(meant)}"
        else:
            text = f"no item collected here is called {self.case}"
            text += nearest(self.case, sorted(set(ids.values())))
            text += "; name other tests, seeds or options after --, as you would run them"
        self.failure = UsageError(text)

    def pytest_miniwob_observer(self, page: Page | None) -> Observer | None:
        if page is None:
            return None
        self._page = page
        with self._in_command():
            if self.wants_pictures and not isinstance(page, Visible):
                raise UsageError(
                    f"the page of {self.case} is not in a browser, so there is nothing to see: "
                    "`miniwob-agent show` prints the episode"
                )
        return self

    def before_episode(self, case: Case) -> None:
        with self._in_command():
            self.observer.before_episode(case)

    def on_event(self, event: Event) -> None:
        with self._in_command():
            self.observer.on_event(event)

    def on_picture(self, shot: Shot, trial: int, step: int, action: AnyAction | None) -> None:
        self._wait(action or "trial")

    def after_item(self, outcome: Outcome) -> None:
        if self.wants_pictures and not self.complete:  # until the user has seen the end
            self._wait("episode")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if (outcome := getattr(report, "miniwob", None)) is not None:
            self.complete = True
            with self._in_command():
                self.observer.after_item(outcome)

    def _wait(self, following: AnyAction | str) -> None:
        """Wait until the user lets the replay go on; end the run if not."""
        assert self.step is not None
        assert self._task is not None
        with self._in_command():
            go_on = self.step(following, self._page, self._task)
        if not go_on:
            self.complete = True
            raise KeyboardInterrupt  # which no agent takes for an error of its own

    @contextlib.contextmanager
    def _in_command(self) -> Iterator[None]:
        if self.failure is None:
            try:
                with contextlib.redirect_stdout(self._stdout):
                    yield
            except (UsageError, BrokenPipeError, KeyboardInterrupt) as error:
                self.failure = error
        if self.failure is not None:
            raise KeyboardInterrupt


class Looking(Replay, Observer):
    """Plugin of a run of items on apps, whose pages `look` gets in the place of an agent.

    It returns what is wrong with the page of a case, empty if nothing is.
    """

    record = "all"

    def __init__(self, look: Callable[[Case, Page], str]) -> None:
        self.looked = False
        self.found: dict[str, str] = {}
        self._look = look

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [one for one in items if (found := get_problem(one)) and found.page.app]

    def pytest_miniwob_observer(self, page: Page | None) -> Observer | None:
        if page is None:
            return None
        self._page = page
        return self

    def before_episode(self, case: Case) -> None:
        # The episode ends before the agent begins it.
        self.looked = True
        raise UsageError(self._look(case, self._page))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if (outcome := getattr(report, "miniwob", None)) is not None:
            self.found[report.nodeid] = outcome.message

    def run(self, args: Sequence[str]) -> None:
        """Run the items of `pytest ARGS` that are on apps, whatever agent and model they have.

        Raises:
            UsageError: there is no such item, or pytest can't run them; the message has its output.
        """
        with tempfile.TemporaryDirectory() as folder:
            options = {
                "agent": "tools", "agent-params": "{}", "prompts": "", "model": "none",
                "prices": "none 0 0", "base-url": "http://127.0.0.1:9/v1", "cassettes": folder,
            }  # fmt: skip
            words = [f"--miniwob-{name}={value}" for name, value in options.items()]
            output = run(self, [*args, *words])
        if not (self.looked or self.found):
            raise UsageError(f"no item on an app was run:\n{output}")


def open_apps(args: Sequence[str], show: Callable[[Case, Page], str]) -> None:
    """Show the page of each item of `pytest ARGS` that is on an app, in a window.

    `show` returns "" to go on to the next, and raises `KeyboardInterrupt` to end. Nothing is
    recorded. Raises as `Looking.run`, and if an item can't be shown.
    """
    stdout = sys.stdout

    def look(case: Case, page: Page) -> str:
        with contextlib.redirect_stdout(stdout):
            return show(case, page)

    plugin = Looking(look)
    plugin.run([*args, "--miniwob-headed"])
    if problems := [*filter(None, plugin.found.values())]:
        raise UsageError("\n".join(problems))


class Collector:
    """Plugin of a run that only collects.

    Args:
        begin: is told the folders of cassettes and of unused calls before the items are collected.
        whole: True to collect what pytest collects by default, too, if the arguments name files.

    Attributes:
        used: the cassettes of the run's items; those of `miniwob_suites` count as deselected.
        settings: the settings of the run, also if it can't collect its items; None if it has none.
        config: the run's configuration; None if its options are wrong.
        problem: why the items can't be collected, with pytest's output; empty if they can.
    """

    def __init__(self, begin: Begin, *, whole: bool = False) -> None:
        self._begin, self._whole = begin, whole
        self.used = Used(Path(), ())
        self.settings: Settings | None = None
        self.config: pytest.Config | None = None
        self.problem = "pytest can't collect the items:\n"
        self._suites: list[Path] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> None:
        config.option.lf = False  # which leaves out files without an item that failed
        with contextlib.suppress(UsageError):  # pytest reports it later
            self.settings = read_settings(config)
            self._begin(self.settings.cassettes, self.settings.pending.with_name(ASIDE))

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        self.config = config
        named = config.args_source is config.ArgsSource.ARGS
        if named and not self._whole:
            return
        files = suite_files(config)
        if named:
            files += _default_paths(config)
        else:
            self._suites = files
        config.args += map(str, files)
        config.option.keepduplicates = True  # also those in a folder of tests

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if item.path not in self._suites]

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if session.testsfailed:
            return
        state = session.config.stash[STATE]
        stems = set(state.find_cassettes(state.selection.cases))
        deselected = stems.difference(state.find_cassettes(get_cases(session.items)))
        settings = state.settings
        unused = settings.pending.with_name(ASIDE)
        cases = {case_name(case) for case in state.selection.cases if not case.setup}
        self.used = Used(settings.cassettes, sorted(stems), sorted(deselected), unused, cases)
        self.problem = ""


def _default_paths(config: pytest.Config) -> list[Path]:
    """Return what pytest collects if no argument names a file."""
    here = config.invocation_params.dir
    patterns = config.getini("testpaths") if here == config.rootpath else []
    return [path for each in patterns for path in sorted(here.glob(each))] or [here]


def collect(
    args: Sequence[str], begin: Begin = lambda folder, unused: None, *, whole: bool = False
) -> Collector:
    """Return what `pytest ARGS` would use; `begin` and `whole` are those of `Collector`."""
    collector = Collector(begin, whole=whole)
    gc.disable()  # many objects are made, and few go
    try:
        output = run(collector, ["--collect-only", "-qq", "--assert=plain", *args])
    finally:
        gc.enable()
    if collector.problem:
        collector.problem += output
    return collector


def used_cassettes(args: Sequence[str], begin: Begin = lambda folder, unused: None) -> Used:
    """Return the cassettes that the items of a project use; `begin` is that of `Collector`.

    `args` are arguments of pytest. Items of files that they don't name count, too.

    Raises:
        UsageError: pytest can't collect the items, or none of them uses a cassette.
    """
    collected = collect(args, begin, whole=True)
    if collected.problem:
        raise UsageError(collected.problem)
    if not collected.used.stems:
        raise UsageError(NO_ITEMS)
    return collected.used
