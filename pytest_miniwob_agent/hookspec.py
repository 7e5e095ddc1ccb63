"""The hooks of plugins: what they may add to runs, and to the command `miniwob-agent`.

A plugin is a module, or an object with these methods, as pytest's are; docs/hooks.md has
examples. What is not here is done with pytest's own hooks. The abilities of this package are
plugins too, which use nothing else (`builtin`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pluggy

from pytest_miniwob_agent.core.outcome import Outcome
from pytest_miniwob_agent.core.secrets import mask
from pytest_miniwob_agent.core.text import sanitize_line

if TYPE_CHECKING:
    import pytest

    from pytest_miniwob_agent.core.case import Case, Limits
    from pytest_miniwob_agent.core.events import Episode
    from pytest_miniwob_agent.core.grades import Grade
    from pytest_miniwob_agent.core.protocols import Agent, Observer, Page

hookspec = pluggy.HookspecMarker("pytest")


class Subcommand(NamedTuple):
    """A command of `miniwob-agent`.

    Attributes:
        name: what is typed, such as `certify`; for a step of a group two words: `results export`.
        help: its line in `--help`.
        add: `package.module:function` that gets the command's `argparse.ArgumentParser`, adds its
            arguments, and sets the default `run`: a function of the parsed arguments that returns
            the exit status. It is imported for this command alone. Empty for a group of commands.
    """

    name: str
    help: str
    add: str = ""


class Run(NamedTuple):
    """A run that is over.

    Attributes:
        outcomes: the outcomes of all its runs of items.
        items: one outcome per item; of one that ran several times, an unsolved run counts.
        empty_shard: True if all items went to other shards, which is not a failure.
        broken: True if it was stopped.
        without_outcome: the cases of items that ended without one, as they were skipped.
        verdict: that of the gate (`results.gate.Verdict`); None if nothing was judged yet.
    """

    outcomes: Sequence[Outcome]
    items: Sequence[Outcome]
    empty_shard: bool
    broken: bool
    without_outcome: Collection[Case] = ()
    verdict: Any = None


class Step:
    """A step of a run's end; `title` is the summary's section that has its errors."""

    title = "episodes"

    def begin(self) -> None:
        """Check what the step needs; a `MiniwobError` ends the run before anything is done."""

    def finish(self, run: Run) -> None:
        """Do the step; a `MiniwobError` or an `OSError` fails the run, the others still run."""

    def show(self, terminal: pytest.TerminalReporter) -> None:
        """Show what it did."""


@dataclass(frozen=True, slots=True)
class Check:
    """The result of a check; it is wrong if there is a `fix`, unless it is a `note`.

    Attributes:
        what: what was checked, in a word.
        found: what it came to.
        fix: what to do about it; empty if nothing is to be done.
        note: True if only some runs need the fix.
    """

    what: str
    found: str
    fix: str = ""
    note: bool = False

    def __str__(self) -> str:
        word = "WRONG" if self.fix else "ok"
        word = "note" if self.note else word
        line = f"{word:<6}{self.what:<22}{sanitize_line(mask(self.found))}"
        return f"{line}\n{'':<28}-> {sanitize_line(mask(self.fix))}" if self.fix else line


@hookspec
def pytest_miniwob_options() -> type | None:
    """Declare options: a frozen dataclass whose fields are made by `option`.

    Each gets its twin in the ini file. `options_of(config, TheClass)` has the values.
    """


@hookspec
def pytest_miniwob_commands() -> Sequence[Subcommand]:
    """Add commands to `miniwob-agent`."""
    return ()


@hookspec
def pytest_miniwob_agents() -> Mapping[str, str]:
    """Name agents for `--miniwob-agent`: `package.module:Class` by name."""
    return {}


@hookspec
def pytest_miniwob_apis() -> Sequence[Any]:
    """Describe HTTP APIs of models (`API`), beside OpenAI's.

    Recordings are read without pytest, too: this hook is called once in a process, of the plugins
    of this package and of installed ones.
    """
    return ()


@hookspec
def pytest_miniwob_scripts() -> Mapping[str, str]:
    """Name scripts that `miniwob-agent show --as NAME` prints: `package.module:Class` by name.

    Such a class is an `Observer` of an item that is replayed. Its method `follow(following, page,
    task)` is called before each action, and with "trial" or "episode" when one ends; the replay
    ends if it returns False. Its attribute `script` is what is printed.
    """
    return {}


@hookspec
def pytest_miniwob_marker_arguments() -> Mapping[str, Callable[[Any], Any]]:
    """Name further arguments of the marker `miniwob`.

    Each has a function that returns its value as the plugin needs it (`problem.arguments`), or
    raises a `UsageError`.
    """
    return {}


@hookspec
def pytest_miniwob_begin(session: pytest.Session) -> None:
    """Begin a process of a run that runs items, before its header is shown and workers start.

    Raises:
        UsageError: the run can't be what the options ask for.
    """


@hookspec
def pytest_miniwob_step(config: pytest.Config) -> Step | None:
    """Add a step to the end of a run, in the controller; those of plugins follow the engine's."""


@hookspec(firstresult=True)
def pytest_miniwob_page(
    request: pytest.FixtureRequest, problem: Any, browser: Any, agent: Agent, limits: Limits
) -> Page | None:
    """Open the page of an item, as it is neither the package's nor of a folder of pages.

    A page whose answers are recorded along with the model's calls has a `tape` (`PageTape`).

    Args:
        request: that of the fixture `miniwob_page`.
        problem: the item's `case`, `page` (its task's `TaskPage`, whose `app` is an `AppTask`) and
            `setup`.
        browser: what the fixture `miniwob_browser` gives.
        agent: the item's agent.
        limits: the item's limits.
    """


@hookspec
def pytest_miniwob_grade(item: pytest.Item, problem: Any, episode: Episode) -> Sequence[Grade]:
    """Grade the episode of an item, after its last trial; the item is solved if all pass it.

    What it raises is the item's own error.

    Args:
        item: pytest's item.
        problem: its `case`, `page` (of a task on an app, with the `AppTask` as `app`), `setup`, and
            the `arguments` of its marker that belong to plugins.
        episode: its episode, played or replayed.
    """
    return ()


@hookspec
def pytest_miniwob_fields(item: pytest.Item, problem: Any, episode: Episode) -> Mapping[str, Any]:
    """Add fields to the result of an item that was played, as JSON, by names.

    Results files and their rows have them as `extra`. What it raises is the item's own error.
    """
    return {}


@hookspec
def pytest_miniwob_gates() -> Mapping[str, Callable[[str], Callable[[Any], Iterable[Any]]]]:
    """Add kinds of gates by name, each a function of what follows the name and a colon.

    It raises a `UsageError`, or returns a function of a `results.comparison.Comparison` that gives
    the reasons (`results.gate.Reason`) for which the gate is not passed. `compare` reads gates
    without pytest: this hook is called of the plugins of this package and of installed ones.
    """
    return {}


@hookspec
def pytest_miniwob_grader_calls(config: pytest.Config, problem: Any) -> Mapping[str, int]:
    """Say how many model calls the graders of an item make at most, by model, for the forecast.

    Such calls have an `Origin` outside of the episode, whose purpose is not `test`
    (`ItemRun.open_grader_model`): they are recorded with the item's, but are none of the agent's.
    """
    return {}


@hookspec(firstresult=True)
def pytest_miniwob_launcher(config: pytest.Config) -> Any:
    """Return what launches the browser of this process: a `browser.launcher.Launcher`.

    None leaves it to the next plugin, and at last to the engine, which launches it on this machine.
    """


@hookspec
def pytest_miniwob_secrets(config: pytest.Config) -> Sequence[str]:
    """Name what the run sends somewhere, and must neither keep nor show."""
    return ()


@hookspec
def pytest_miniwob_checks(config: pytest.Config) -> Iterable[Check]:
    """Check for `miniwob-agent doctor` what runs need."""
    return ()


@hookspec
def pytest_miniwob_observer(
    item: pytest.Item, agent: str, model: str, page: Page | None
) -> Observer | None:
    """Observe an item: its episodes, its calls, its outcome.

    Args:
        item: pytest's item.
        agent: the name of its agent.
        model: the name of its model.
        page: its page; None if the item failed before it had one.
    """


@hookspec
def pytest_miniwob_links(config: pytest.Config, outcome: Outcome) -> Mapping[str, str]:
    """Name places where more is to be found on an item, by what is there, for its transcript."""
    return {}


@hookspec
def pytest_miniwob_transcript(
    item: pytest.Item, report: pytest.TestReport, text: str, outcome: Outcome
) -> None:
    """Take the transcript of an item that has a result, in the process that runs it.

    It is made of an unsolved item, which shows it, and of all if a plugin has this hook.

    Args:
        item: pytest's item.
        report: its report, which may be changed.
        text: the transcript; its first line is the verdict.
        outcome: the item's outcome.
    """


@hookspec(firstresult=True)
def pytest_miniwob_picture(config: pytest.Config, name: str) -> Path | None:
    """Find the file of a picture of an outcome, by its name."""
