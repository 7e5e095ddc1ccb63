"""The options: each on the command line, in the ini file, and read once into `Settings`."""

from __future__ import annotations

import json
import math
import os
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.files import display_path
from pytest_miniwob_agent.core.limits import Limits
from pytest_miniwob_agent.core.secrets import redact
from pytest_miniwob_agent.core.text import nearest
from pytest_miniwob_agent.models.prices import Price, parse_prices
from pytest_miniwob_agent.tasks.selection import parse_seeds

if TYPE_CHECKING:
    import pytest

SEEDS = "1000-1024"
"""The seeds where neither option, marker nor ini file names any: those of the paper (6.1)."""

PENDING = Path(".miniwob/pending.jsonl")
"""Where deferred recording puts what waits for a completion, below the root folder."""


BY_MARKER = ("seeds", "trials", "steps", "repeats")
"""Options that a marker may set: the command line goes before it, the ini file after it."""


PATHS = ("prompts", "cassettes", "answers", "results", "baseline", "examples", "report")
"""Options that name a file or a folder."""

REPLAYING = (
    "model", "llm-params", "agent", "agent-params", "prompts", "seeds", "trials", "steps",
    "repeats", "cassettes", "browser",
)  # fmt: skip
"""Options that decide which items there are, and what an item does when it is replayed."""

_NOT_RECORDING = ("record", "answers", "report", "trace", "slowmo")


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
        "once = record items that have no cassette; new_episodes = replay what is recorded, record "
        "the rest and drop what is no longer used; all = record everything anew; defer = replay, "
        f"and write calls without a completion to {PENDING} as a batch file (see "
        "--miniwob-answers)",
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
        'temperature. "timeout" is how many seconds the server may be silent (600 unless given), '
        'and is not sent; "extra_body" holds what only this server knows, such as {"top_k": 40}',
        '{"temperature": 0}',
        metavar="JSON",
    ),
    Option(
        "agent",
        "the agent: reflective, rci, webwise, one that an installed package brings, or "
        "package.module:Class",
        "reflective",
        metavar="NAME",
    ),
    Option(
        "agent-params",
        """what the agent's class is given, as JSON, such as '{"planning": "iterative"}'; """
        "paths in it count from the working directory",
        "{}",
        metavar="JSON",
    ),
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
    Option(
        "repeats",
        "how many samples of every item are recorded, each its own item (.../1000, .../1000-2, "
        "...); likewise (default: 1)",
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
        "max-calls",
        "record at most N model calls, over all workers; items that need more are skipped, and the "
        "next run goes on from there",
        metavar="N",
    ),
    Option(
        "max-cost",
        "record until model calls have cost this many US dollars, over all workers; likewise. "
        "Needs miniwob_prices",
        metavar="USD",
    ),
    Option(
        "concurrency",
        "at most N model calls at a time, over all workers (default: one each worker)",
        metavar="N",
    ),
    Option(
        "prices",
        "what models cost: 'MODEL PROMPT COMPLETION', US dollars for a million tokens; several "
        "with commas, in the ini file one a line",
        metavar="PRICES",
    ),
    Option(
        "results",
        "write what became of each item to this file, one line of JSON an item",
        metavar="FILE",
    ),
    Option(
        "examples",
        "write what webwise solved without an example to this file, two of a task; "
        """--miniwob-agent-params='{"examples": "FILE"}' shows them to the model in another run""",
        metavar="FILE",
    ),
    Option(
        "baseline",
        "results to judge this run by, written by --miniwob-results: a file, git:REF for that file "
        "as it was at a commit, or git:REF:PATH",
        metavar="FILE",
    ),
    Option(
        "gate",
        "when the run fails against its baseline: items[:M] = an item is no longer solved (with "
        "repeats: by M samples); paired[:ALPHA] = the change is significantly for the worse, for "
        "runs that were recorded again; rate:POINTS = the solved rate fell by more than that",
        "items",
        metavar="KIND",
    ),
    Option(
        "report",
        "write a report to look at into this folder: pages that open from disk, index.html first",
        metavar="DIR",
    ),
    Option(
        "trace",
        "pictures of the pages for --miniwob-report: off; on = of every item, taken as it runs; "
        "retain-on-failure = of items that are not solved or drifted, which are replayed for that, "
        "so that the others take no longer",
        "retain-on-failure",
        choices=("off", "on", "retain-on-failure"),
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
    Option(
        "slowmo",
        "with --miniwob-headed: every action takes this many milliseconds longer, half of them "
        "once the pointer is there and half afterwards, and the pointer is drawn in the window; "
        "what the page does and what is recorded stay the same",
        metavar="MS",
    ),
)


def add_options(parser: pytest.Parser) -> None:
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
    agent_params: dict[str, Any]
    prompts: Path | None
    seeds: list[int] | None
    trials: int | None
    steps: int | None
    repeats: int | None
    cassettes: Path
    answers: Path | None
    max_calls: int | None
    max_cost: float | None
    concurrency: int | None
    prices: Mapping[str, Price]
    results: Path | None
    examples: Path | None
    baseline: Path | str | None
    """A file, or `git:REF` or `git:REF:PATH`."""
    gate: str
    report: Path | None
    trace: str
    browser: str | None
    headed: bool
    slowmo: int | None
    """None where no window is shown."""
    pending: Path
    ini: dict[str, str | None]
    """What the ini file says of `BY_MARKER`, for markers that say nothing."""

    ini_baseline: Path | None
    """The baseline of the ini file, where that is a file."""

    @property
    def baseline_file(self) -> Path | None:
        """The file whose earlier version a baseline of the form `git:REF` means."""
        return self.ini_baseline or self.results

    @property
    def price(self) -> Price | None:
        """What calls of the model cost, if that is known."""
        return self.prices.get(self.model or "")


def read_settings(config: pytest.Config) -> Settings:
    """The settings of a run.

    Raises:
        UsageError: a wrong value; the message names its option.
    """
    given: dict[str, Any] = {}
    ini: dict[str, str | None] = {}
    for option in OPTIONS:
        value = config.getoption(option.ini)
        in_file = config.getini(option.ini) or None
        key = option.ini.removeprefix("miniwob_")
        if key in BY_MARKER:
            ini[key] = in_file
            given[key] = value
        elif key == "baseline" and (value or in_file or "").startswith("git:"):
            given[key] = value or in_file
        elif key in PATHS:  # relative to where they were written
            base = config.invocation_params.dir if value is not None else config.rootpath
            path = value or in_file or option.default
            given[key] = base / path if path else None
        else:
            given[key] = value if value is not None else in_file or option.default
    for option in OPTIONS:  # argparse has looked at those of the command line only
        value, choices = given[option.ini.removeprefix("miniwob_")], option.choices
        if choices and value not in choices:
            raise UsageError(
                f"{option.ini} = {value}: not one of {', '.join(choices)}" + nearest(value, choices)
            )
    if config.getoption("miniwob_trace") is not None and not given["report"]:
        raise UsageError("--miniwob-trace goes with --miniwob-report=DIR, which shows the pictures")
    given["headed"] = bool(given["headed"])
    if not given["headed"]:
        if config.getoption("miniwob_slowmo") is not None:
            raise UsageError("--miniwob-slowmo goes with --miniwob-headed, which shows the window")
        given["slowmo"] = None
    if given["answers"] and given["record"] != "defer":
        raise UsageError("--miniwob-answers goes with --miniwob-record=defer")
    given["model"] = given["model"] or None  # an unset variable of a script names none
    given["llm_params"] = _object("--miniwob-llm-params", given["llm_params"])
    given["agent_params"] = _object("--miniwob-agent-params", given["agent_params"])
    if given["examples"]:
        _check_examples(given["examples"], given["agent_params"].get("examples"))
    if fixed := {"messages", "model", "stream"} & given["llm_params"].keys():
        raise UsageError(f"--miniwob-llm-params: can't set {', '.join(sorted(fixed))}")
    if given["seeds"] is not None:
        given["seeds"] = parse_seeds(given["seeds"])
    for name in ("trials", "steps", "repeats", "max_calls", "concurrency", "slowmo"):
        if given[name] is not None:
            given[name] = count(f"--miniwob-{name.replace('_', '-')}", given[name])
    given["prices"] = parse_prices(given["prices"] or "")
    if given["max_cost"] is not None:
        given["max_cost"] = _dollars(given["max_cost"])
        if given["model"] not in given["prices"]:
            raise UsageError(
                f"--miniwob-max-cost needs the price of {given['model']}: add "
                f"'{given['model']} PROMPT COMPLETION' to miniwob_prices, in US dollars for a "
                "million tokens"
            )
    in_file = config.getini("miniwob_baseline")
    return Settings(
        **given,
        pending=config.rootpath / PENDING,
        ini=ini,
        ini_baseline=config.rootpath / in_file if in_file and in_file[:4] != "git:" else None,
    )


def count(what: str, value: Any) -> int:
    """A number from 1 up.

    Raises:
        UsageError: it is none.
    """
    try:
        number = int(value)
    except (TypeError, ValueError):
        number = 0
    if number < 1:
        raise UsageError(f"{what}: {value!r} is no number from 1 up")
    return number


def _check_examples(path: Path, shown_ones: Any) -> None:
    """Whether examples can be written to the file; `shown_ones` are those that the agent is given.

    Raises:
        UsageError: they can't.
    """
    if path.is_dir():
        raise UsageError(f"--miniwob-examples: {display_path(path)} is a folder; name a file")
    if isinstance(shown_ones, str) and os.path.abspath(shown_ones) == os.path.abspath(path):
        raise UsageError(
            f"--miniwob-examples: the agent is shown {display_path(path)} (examples of "
            "--miniwob-agent-params), which would be overwritten; name another file"
        )


def _object(what: str, text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise UsageError(f"{what}: {text!r} is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise UsageError(f'{what}: {text!r} is no JSON object, such as {{"name": 1}}')
    return value


def _dollars(value: str) -> float:
    try:
        amount = float(value)
    except ValueError:
        amount = math.nan
    if not 0 < amount < math.inf:
        raise UsageError(f"--miniwob-max-cost: {value!r} is no amount of US dollars above 0")
    return amount


def exports(config: pytest.Config) -> list[str]:
    """Which plugins that take attachments write a report of this run, by their own options."""
    known = {"html": "htmlpath", "json": "json_report", "allure": "allure_report_dir"}
    return [name for name, option in known.items() if config.getoption(option, None)]


def command(config: pytest.Config, item: str | None = None) -> str:
    """The pytest command that records what this run lacks, for one item or for all."""
    if item is None:
        given = list(map(str, config.invocation_params.args))
    else:
        given = [item, *_given(config, lambda name: name not in _NOT_RECORDING)]
    return redact(shlex.join(["pytest", *given, "--miniwob-record=new_episodes"]))


def show_command(config: pytest.Config, case: str, item: pytest.Item) -> str:
    """The command that shows all of an item's episode."""
    test, _, _ = item.nodeid.partition("::")[2].partition("[")
    where = [f"{display_path(item.path)}::{test}", *_given(config, REPLAYING.__contains__)]
    return redact(shlex.join(["miniwob-agent", "show", case, "--", *where]))


def _given(config: pytest.Config, wanted: Callable[[str], bool]) -> list[str]:
    """The wanted of our options that the command line gives, as it gives them."""
    return [
        f"--miniwob-{option.name}" + ("" if option.flag else f"={value}")
        for option in OPTIONS
        if wanted(option.name) and (value := config.getoption(option.ini)) is not None
    ]
