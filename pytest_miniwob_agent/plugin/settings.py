"""Settings of a run: each option of the engine is declared as the field that holds its value."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_miniwob_agent.cassettes.folder import PENDING
from pytest_miniwob_agent.core.case import Limits
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.models.api import FOLDER
from pytest_miniwob_agent.models.budget import Price, parse_prices
from pytest_miniwob_agent.models.params import kept_params, shown_url
from pytest_miniwob_agent.plugin.options import (
    SETUP,
    option,
    options_in,
    parse_baseline,
    parse_count,
    parse_dollars,
    parse_folders,
    parse_object,
    parse_program,
    parse_server,
    parse_shard,
    parse_upstreams,
    parse_variable,
)
from pytest_miniwob_agent.tasks.selectors import parse_seeds

SEEDS = "1000-1024"
"""The seeds if no option, marker or ini file names any: those of the paper (6.1)."""

OVERRIDES = "overrides the marker"


def _shown_params(text: str) -> str:
    try:
        return json.dumps(kept_params(parse_object(text)), ensure_ascii=False)
    except UsageError:  # the other of the ini file and the command line, which is not read
        return "(not shown)"


def _shown_upstreams(text: str) -> str:
    return ",".join(f"{name}={shown_url(url)}" for name, url in parse_upstreams(text).items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The options of a run, read once; None if there is neither a value nor a default.

    Values of options that the marker may set (`Option.marker`) are those of the command line, and
    `ini` has those of the ini file.
    """

    model: str | None = option(
        "the model's id, as its server calls it; also a folder of the cassettes",
        metavar="ID",
        group="Model",
    )
    base_url: str | None = option(
        "an OpenAI-compatible server, such as http://127.0.0.1:8000/v1 (default: OPENAI_BASE_URL "
        "or the API's own)",
        parse=parse_server,
        metavar="URL",
        secret=True,
        shown=shown_url,
    )
    key_variable: str | None = option(
        "the environment variable that holds the key, for all requests (default: OPENAI_API_KEY; "
        "ANTHROPIC_API_KEY for /v1/messages, GEMINI_API_KEY for Gemini, GOOGLE_API_KEY "
        "for Vertex AI)",
        parse=parse_variable,
        metavar="NAME",
    )
    upstream: dict[str, str] | None = option(
        "servers of other APIs, such as ollama=http://127.0.0.1:11434; separated by commas, or one "
        "per line of the ini file. Calls to llm.base_url/upstream/NAME go there, with the key in "
        "NAME_API_KEY. For the names openai, anthropic, gemini and vertex_ai, all calls of these "
        "APIs do",
        parse=parse_upstreams,
        metavar="NAME=URL",
        ini_type="linelist",
        secret=True,
        shown=_shown_upstreams,
    )
    llm_params: dict[str, Any] = option(
        """parameters of every model call, as JSON, such as '{"temperature": 0}'. """
        '"extra_body" holds parameters that only this server knows, such as {"top_k": 40}; '
        '"extra_headers" and "extra_query" are sent, but never stored, shown or matched; '
        '"timeout" is how many seconds the server may be silent (default: 600), and is not sent',
        parse=parse_object,
        default="{}",
        metavar="JSON",
        secret=True,
        shown=_shown_params,
    )
    agent: str = option(
        "the agent: reflective, rci, webwise, tools, one of an installed package, module:Class, or "
        "a program's command line",
        default="reflective",
        metavar="NAME",
        group="Agent",
    )
    agent_params: dict[str, Any] = option(
        """parameters of the agent's class, as JSON, such as '{"planning": "iterative"}'; """
        "relative paths start from the working directory",
        parse=parse_object,
        default="{}",
        metavar="JSON",
    )
    prompts: Path | None = option(
        "a folder of prompts that replace the agent's own, file by file (plan.txt, ...)",
        parse=Path,
        metavar="DIR",
    )
    seeds: list[int] | None = option(
        f"the seeds of every task, such as 1000-1024,7; {OVERRIDES} (default: {SEEDS})",
        parse=parse_seeds,
        metavar="SEEDS",
        marker=True,
        group="Items",
    )
    trials: int | None = option(
        f"how many trials an item may have; {OVERRIDES} (default: {Limits().trials})",
        parse=parse_count,
        metavar="N",
        marker=True,
    )
    steps: int | None = option(
        f"how many actions a trial may have; {OVERRIDES} (default: {Limits().steps})",
        parse=parse_count,
        metavar="N",
        marker=True,
    )
    repeats: int | None = option(
        "how many samples to record per task and seed, as separate items (.../1000, "
        f".../1000-2, ...); {OVERRIDES} (default: 1)",
        parse=parse_count,
        metavar="N",
        marker=True,
    )
    pages: list[Path] | None = option(
        "folders of your own pages, separated by commas: a task is NAME.html, or a site "
        f"NAME/index.html. {OVERRIDES.capitalize()}; a path in a marker starts from the test file",
        parse=parse_folders,
        metavar="DIR",
        ini_type="linelist",
        marker=True,
    )
    record: str = option(
        "what to do at a model call: none = replay only, a call that is not recorded is an error; "
        "new_episodes = replay what is recorded, record the rest, and put unused calls aside; "
        "all = record everything anew; defer = replay, and write calls without a completion to "
        f"{PENDING} as a batch file (see --miniwob-answers)",
        default="none",
        choices=("none", "new_episodes", "all", "defer"),
        whole_run=True,
        group="Recording",
    )
    cassettes: Path = option(
        "the folder of recorded model calls",
        parse=Path,
        default="cassettes",
        metavar="DIR",
    )
    answers: Path | None = option(
        "with --miniwob-record=defer: first put the completions of this Batch API output file "
        "into the cassettes that wait for them",
        parse=Path,
        metavar="FILE",
        whole_run=True,
    )
    max_calls: int | None = option(
        "record at most N model calls, over all workers; items that need more are skipped, and the "
        "next run continues there",
        parse=parse_count,
        metavar="N",
        group="Money and calls",
    )
    max_cost: float | None = option(
        "like --miniwob-max-calls, but a limit in US dollars; needs miniwob_prices",
        parse=parse_dollars,
        metavar="USD",
    )
    prices: Mapping[str, Price] | None = option(
        "prices of models: 'MODEL PROMPT COMPLETION', in US dollars per million tokens, with "
        "'cached=PRICE written=PRICE' for tokens read from the provider's cache and written "
        "into it; separated by commas, or one per line of the ini file",
        parse=parse_prices,
        metavar="PRICES",
        ini_type="linelist",
    )
    concurrency: int | None = option(
        "at most N model calls at a time, over all workers (default: no limit; with "
        "--miniwob-max-cost one per worker)",
        parse=parse_count,
        metavar="N",
    )
    results: Path | None = option(
        "write the outcome of each item to this file, one line of JSON per item. If an item has no "
        "outcome, FILE stays as it was, and the results go to FILE's name with .incomplete",
        parse=Path,
        metavar="FILE",
        whole_run=True,
        group="Results and gate",
    )
    baseline: Path | str | None = option(
        "the earlier results to compare this run with: a file of --miniwob-results, git:REF for "
        "that file at a commit, or git:REF:PATH; if this run writes the file, its committed "
        "version. setup:AGENT/MODEL for one of the two set-ups of this run (default, with a gate: "
        "the first of the marker)",
        parse=parse_baseline,
        metavar="FILE",
        whole_run=True,
    )
    gate: str = option(
        "when the run fails against its baseline: items[:M] = an item is no longer solved (with "
        "repeats: by M samples); paired[:ALPHA][:by-task] = the solved rate fell, or there are too "
        "few items to rule that out, for runs that were recorded again; "
        "until-decided[:ALPHA][:by-task] = the same, in rounds up to the one that decides; "
        "rate:POINTS = the solved rate fell by more than POINTS; ...,calls:+10% = a limit as well, "
        "also on tokens, cost or steps; grade:NAME:-POINTS = the mean grade of a grader fell by "
        "more than POINTS, as a limit or alone; ...,perturbed:-POINTS,followed:PERCENT = limits "
        "for perturbed and attacked items beside clean ones, which need no baseline and may stand "
        "alone; ...,lenient = an inconclusive verdict does not fail the run",
        default="items",
        metavar="KIND",
        whole_run=True,
    )
    shard: tuple[int, int] | None = option(
        "this run is a shard of a suite, such as 2/5 for the second of five, and judges nothing. "
        "Other tools choose its items; with --splits and --group of pytest-split, leave it out",
        parse=parse_shard,
        metavar="K/N",
        whole_run=True,
    )
    browser: Path | str | None = option(
        "the Chromium or Chrome to use (default: MINIWOB_BROWSER, or the first one found, "
        "the faster chromium-headless-shell before others)",
        parse=parse_program,
        metavar="PATH",
        group="Browser",
    )
    headed: bool = option(
        "show the browser's window; run without -n, as windows take each other's focus",
        ini_type=bool,
    )
    ini: Mapping[str, Any]
    pending: Path
    """The batch file of deferred recording."""
    ini_baseline: Path | None
    """The baseline of the ini file, if it is a file."""

    @property
    def baseline_file(self) -> Path | None:
        """The file whose earlier version a baseline of the form `git:REF` means."""
        return self.ini_baseline or self.results

    @property
    def baseline_setup(self) -> str | None:
        """The set-up of the run itself that is its baseline; None if none is named."""
        name = self.baseline
        named = isinstance(name, str) and name.startswith(SETUP)
        return str(name).removeprefix(SETUP) if named else None

    @property
    def kept_params(self) -> dict[str, Any]:
        """The parameters of model calls that may be stored and shown."""
        return kept_params(self.llm_params)

    @property
    def sent_pictures(self) -> list[Path]:
        """The folders of pictures that were sent to a model; the last has those of no cassette."""
        return [self.cassettes / FOLDER, self.pending.with_name(FOLDER)]

    def find_price(self, model: str | None) -> Price | None:
        return (self.prices or {}).get(model or "")


OPTIONS = options_in(Settings)
"""The options of the engine, in the order of `--help`; those of plugins follow."""

BY_MARKER = tuple(option.key for option in OPTIONS if option.marker)
"""The arguments of the miniwob marker that are options, too."""
