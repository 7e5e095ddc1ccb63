"""Settings of a run: its options, read once, and the commands that run it again with them."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_miniwob_agent.browser.grid_address import (
    Grid,
    HostPort,
    read_grid,
    shown_capabilities,
)
from pytest_miniwob_agent.cassettes.deferred.batch_command import PENDING
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.files import shown_from_here
from pytest_miniwob_agent.core.secrets import redact
from pytest_miniwob_agent.models.params import (
    check_params,
    kept_params,
    sent_only_texts,
    shown_json,
    shown_url,
)
from pytest_miniwob_agent.models.prices import Price
from pytest_miniwob_agent.pictures.references import FOLDER
from pytest_miniwob_agent.plugin.options.declarations import BY_MARKER, OPTIONS, Option
from pytest_miniwob_agent.plugin.options.ini_file import IniFile
from pytest_miniwob_agent.plugin.options.project_folder import project_folder
from pytest_miniwob_agent.plugin.options.values import Given

if TYPE_CHECKING:
    import pytest

REPLAYING = (
    "model", "llm-params", "agent", "agent-params", "prompts", "seeds", "trials", "steps",
    "repeats", "pages", "cassettes", "browser",
)  # fmt: skip
"""Options that decide which items there are, and what an item does when it is replayed."""

_NOT_RECORDING = ("record", "answers", "report", "trace", "slowmo", "shard", "judge-shard")


@dataclass(frozen=True, slots=True)
class Settings:
    """The options, read once. `None` where there is neither an option nor a default."""

    record: str
    model: str | None
    base_url: str | None = field(repr=False)
    key_variable: str | None
    llm_params: dict[str, Any] = field(repr=False)
    agent: str
    agent_params: dict[str, Any]
    prompts: Path | None
    seeds: list[int] | None
    """Those of the command line, as for the four fields below."""
    trials: int | None
    steps: int | None
    repeats: int | None
    pages: list[Path] | None
    cassettes: Path
    answers: Path | None
    max_calls: int | None
    max_cost: float | None
    concurrency: int | None
    ask_above: int
    keep_going: bool
    prices: Mapping[str, Price]
    results: Path | None
    baseline: Path | str | None
    """A file, or `git:REF` or `git:REF:PATH`."""
    gate: str
    shard: tuple[int, int] | None
    """Number of the shard and number of shards, if the run is one of a suite's shards."""
    judge_shard: bool
    report: Path | None
    trace: str
    browser: str | None
    remote: str | None = field(repr=False)
    capabilities: dict[str, Any] = field(repr=False)
    serve: HostPort | None
    headed: bool
    slowmo: int | None
    """None where no window is shown."""
    pending: Path
    ini: Mapping[str, Any]
    """The values of `BY_MARKER` in the ini file, for markers that do not set them."""
    ini_baseline: Path | None
    """The baseline of the ini file, where that is a file."""

    @property
    def baseline_file(self) -> Path | None:
        """The file whose earlier version a baseline of the form `git:REF` means."""
        return self.ini_baseline or self.results

    @property
    def kept_params(self) -> dict[str, Any]:
        """The parameters of model calls that may be stored and shown."""
        return kept_params(self.llm_params)

    @property
    def kept_pictures(self) -> Path:
        """The folder of pictures that were sent to a model and that no cassette has."""
        return self.pending.with_name(FOLDER)

    @property
    def sent_pictures(self) -> list[Path]:
        """The folders of pictures that were sent to a model."""
        return [self.cassettes / FOLDER, self.kept_pictures]

    @property
    def sent_only_texts(self) -> list[str]:
        """The texts that go with model calls, or to the Grid, and are never kept."""
        address = self.base_url or os.environ.get("OPENAI_BASE_URL")
        texts = sent_only_texts(self.llm_params, address)
        return texts if self.grid is None else [*texts, *self.grid.secrets]

    @property
    def grid(self) -> Grid | None:
        """The Grid on which browsers are opened; None for this machine."""
        if self.remote is None:
            return None
        return read_grid(self.remote, self.capabilities, self.serve)

    @property
    def price(self) -> Price | None:
        """The price of the model's calls, if it is known."""
        return self.prices.get(self.model or "")


def read_settings(config: pytest.Config) -> Settings:
    """Read the settings of a run.

    Raises:
        UsageError: a wrong value, or options that do not go together; the message names them.
    """
    values: dict[str, Any] = {}
    ini: dict[str, Any] = {}
    ini_file = IniFile(config)
    for option in OPTIONS:
        if option.flag:
            values[option.key] = bool(config.getoption(option.ini) or config.getini(option.ini))
            continue
        on_line, in_file = _on_command_line(config, option), _in_ini_file(config, ini_file, option)
        if option.key in BY_MARKER:
            values[option.key] = option.read(on_line)
            ini[option.key] = option.read(in_file)
        else:
            values[option.key] = option.read(on_line or in_file)
    values["shard"] = _shard(config, values["shard"])
    _check(config, values)
    folder, file = project_folder(config), config.getini("miniwob_baseline")
    return Settings(
        **values,
        pending=folder / PENDING,
        ini=ini,
        ini_baseline=folder / file if file and not file.startswith("git:") else None,
    )


def _on_command_line(config: pytest.Config, option: Option) -> Given | None:
    """Return what the command line gives; an empty path, of an unset variable, is not given."""
    text = config.getoption(option.ini)
    if text is None or (option.is_path and not text):
        return None
    return Given(option.argument, text, config.invocation_params.dir)


def _in_ini_file(config: pytest.Config, file: IniFile, option: Option) -> Given | None:
    """Return what the ini file gives, or the option's default."""
    text = file.text(option)
    text = option.default if text is None else text
    return None if text is None else Given(option.ini, text, project_folder(config))


def _shard(config: pytest.Config, named: tuple[int, int] | None) -> tuple[int, int] | None:
    """Return the shard that our option or those of pytest-split name.

    Raises:
        UsageError: they name different ones.
    """
    group, splits = config.getoption("group", None), config.getoption("splits", None)
    if not (isinstance(group, int) and isinstance(splits, int)):
        return named
    if named not in (None, (group, splits)):
        raise UsageError(
            f"--miniwob-shard={named[0]}/{named[1]} and --splits={splits} --group={group} name "
            "different shards; leave --miniwob-shard out"
        )
    return group, splits


def _check(config: pytest.Config, values: dict[str, Any]) -> None:
    """Check that the options go together; an option of the ini file that is not used is dropped.

    Raises:
        UsageError: they do not.
    """
    if config.getoption("miniwob_trace") is not None and not values["report"]:
        raise UsageError("--miniwob-trace goes with --miniwob-report=DIR, which shows the pictures")
    if not values["headed"]:
        if config.getoption("miniwob_slowmo") is not None:
            raise UsageError("--miniwob-slowmo goes with --miniwob-headed, which shows the window")
        values["slowmo"] = None
    _check_grid(config, values)
    if values["record"] == "all" and (reruns := reruns_option(config)):
        raise UsageError(
            f"--miniwob-record=all and {reruns} don't go together: an item that failed would be "
            "recorded until it passes, and later replays would show its best sample only; record "
            "without reruns (--reruns=0 overrides the ini file)"
        )
    if values["judge_shard"] and not values["shard"]:
        raise UsageError(
            "--miniwob-judge-shard goes with a shard: --splits and --group of pytest-split, or "
            "--miniwob-shard"
        )
    if values["answers"] and values["record"] != "defer":
        raise UsageError("--miniwob-answers goes with --miniwob-record=defer")
    if fixed := {"messages", "model", "stream"} & values["llm_params"].keys():
        raise UsageError(f"--miniwob-llm-params: can't set {', '.join(sorted(fixed))}")
    check_params(values["llm_params"])
    if values["max_cost"] is not None and values["model"] not in values["prices"]:
        raise UsageError(
            f"--miniwob-max-cost needs the price of {values['model']}: add "
            f"'{values['model']} PROMPT COMPLETION' to miniwob_prices, in US dollars for a "
            "million tokens"
        )


def _check_grid(config: pytest.Config, values: dict[str, Any]) -> None:
    """Check the options of browsers on a Grid against the others.

    Raises:
        UsageError: they do not go together.
    """
    if values["remote"] is None:
        for name in ("capabilities", "serve"):
            if config.getoption(f"miniwob_{name}"):
                raise UsageError(
                    f"--miniwob-{name} goes with --miniwob-remote, the address of a Grid"
                )
    elif config.getoption("miniwob_browser"):
        raise UsageError(
            "--miniwob-browser names a browser of this machine, and --miniwob-remote (or "
            "miniwob_remote) opens browsers on a Grid: name one of its nodes with "
            """--miniwob-capabilities='{"goog:chromeOptions": {"binary": "PATH"}}', or give """
            "--miniwob-remote= to stay on this machine"
        )


def reruns_option(config: pytest.Config) -> str:
    """Return the option of pytest-rerunfailures that has failed items run again, or ""."""
    forced = config.getoption("force_reruns", None)
    if forced is not None:
        return "--force-reruns" if forced else ""
    given = config.getoption("reruns", None)
    if given is not None:
        return "--reruns" if given else ""
    if not config.pluginmanager.hasplugin("rerunfailures"):
        return ""
    return "reruns of the ini file" if config.getini("reruns") not in (None, "", "0") else ""


def record_command(config: pytest.Config, item: str | None = None) -> str:
    """Return the pytest command that records what this run lacks, for one item or for all.

    Args:
        config: pytest's configuration.
        item: pytest's id of the item, as of `id_from_here`; None for all items of the run.
    """
    if item is None:
        arguments = list(map(str, config.invocation_params.args))
    else:
        wanted = _arguments(config, lambda name: name not in _NOT_RECORDING)
        arguments = [item, *_of_pytest(config), *wanted]
    return shlex.join(["pytest", *_shown(arguments), "--miniwob-record=new_episodes"])


def id_from_here(item: pytest.Item) -> str:
    """Return pytest's id of an item, whose path counts from the working directory."""
    _, separator, name = item.nodeid.partition("::")
    return f"{shown_from_here(item.path)}{separator}{name}"


def show_command(config: pytest.Config, case: str, item: pytest.Item) -> str:
    """Return the command that shows all of an item's episode."""
    test, _, _ = item.nodeid.partition("::")[2].partition("[")
    where = [
        f"{shown_from_here(item.path)}::{test}",
        *_of_pytest(config),
        *_arguments(config, REPLAYING.__contains__),
    ]
    return shlex.join(["miniwob-agent", "show", case, "--", *_shown(where, complete=True)])


def _shown(arguments: Sequence[str], *, complete: bool = False) -> list[str]:
    """Return arguments of pytest without what is sent but never kept, and without keys.

    Args:
        arguments: the arguments.
        complete: leave parameters out, for a replay, which needs none of them; otherwise a text
            stands for them.
    """
    shown = []
    hide = None
    for argument in arguments:
        head, equals, value = argument.partition("=")
        if head == "--override-ini":
            name, sign, value = value.partition("=")
            head, equals = f"{head}{equals}{name}", sign
        if hide is not None:
            head, equals, value = "", "", argument
        else:
            hide = next((each for names, each in _HIDING if head.endswith(names)), None)
        if hide is None:
            shown.append(redact(argument))
        elif equals or not head:
            shown.append(f"{head}{equals}{hide(value, complete)}")
            hide = None
        else:  # the value is the next argument
            shown.append(argument)
    return shown


_HIDING: tuple[tuple[tuple[str, ...], Callable[[str, bool], str]], ...] = (
    (
        (
            "miniwob-llm-params",
            "miniwob_llm_params",
            "miniwob-agent-params",
            "miniwob_agent_params",
        ),
        lambda text, complete: shown_json(text, complete=complete),
    ),
    (
        ("miniwob-capabilities", "miniwob_capabilities"),
        lambda text, complete: shown_capabilities(text, complete=complete),
    ),
    (
        ("miniwob-base-url", "miniwob_base_url", "miniwob-remote", "miniwob_remote"),
        lambda text, complete: shown_url(text),
    ),
)
"""Ends of arguments whose value is partly hidden, and the function that hides it."""


_OF_PYTEST = {
    "-c": "-c", "--config-file": "-c", "-o": "-o", "--override-ini": "-o", "-p": "-p",
    "--rootdir": "--rootdir", "--confcutdir": "--confcutdir", "--import-mode": "--import-mode",
}  # fmt: skip
"""Options of pytest that decide which files and plugins an item is run with, and their names in
commands that are shown."""


def _of_pytest(config: pytest.Config) -> list[str]:
    """Return the options of `_OF_PYTEST` of this run's command line."""
    found: list[str] = []
    arguments = iter(map(str, config.invocation_params.args))
    for argument in arguments:
        if argument.startswith("--"):
            name, equals, value = argument.partition("=")
        else:
            name, value = argument[:2], argument[2:].removeprefix("=")
            equals = value
        if name in _OF_PYTEST:
            value = value if equals else next(arguments, "")
            shown = _OF_PYTEST[name]
            found += [f"{shown}={value}"] if shown.startswith("--") else [shown, value]
    return found


def _arguments(config: pytest.Config, wanted: Callable[[str], bool]) -> list[str]:
    """Return those of our options that are wanted and on the command line, as they are there."""
    return [
        option.argument + ("" if option.flag else f"={value}")
        for option in OPTIONS
        if wanted(option.name) and (value := config.getoption(option.ini)) is not None
    ]
