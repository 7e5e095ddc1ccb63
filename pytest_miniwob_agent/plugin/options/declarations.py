"""Options, each on the command line and in the ini file; `settings` reads them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_miniwob_agent.cassettes.deferred.batch_command import PENDING
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.limits import Limits
from pytest_miniwob_agent.core.text import nearest
from pytest_miniwob_agent.plugin.options.values import (
    Given,
    parse_baseline,
    parse_capabilities,
    parse_count,
    parse_dollars,
    parse_folders,
    parse_grid,
    parse_object,
    parse_optional_text,
    parse_path,
    parse_price_list,
    parse_seed_list,
    parse_serve,
    parse_server,
    parse_shard,
    parse_text,
    parse_variable,
)

if TYPE_CHECKING:
    import pytest

SEEDS = "1000-1024"
"""The seeds where neither option, marker nor ini file names any: those of the paper (6.1)."""

BY_MARKER = ("seeds", "trials", "steps", "repeats", "pages")
"""Options that a marker may set too: it overrides the ini file, the command line overrides it."""


@dataclass(frozen=True, slots=True)
class Option:
    """An option of the command line, and its twin in the ini file (`miniwob_record`)."""

    name: str
    help: str
    default: str | None = None
    metavar: str | None = None
    choices: tuple[str, ...] | None = None
    flag: bool = False
    parse: Callable[[Given], Any] = parse_text

    @property
    def argument(self) -> str:
        """The option's name on the command line."""
        return f"--miniwob-{self.name}"

    @property
    def ini(self) -> str:
        """The option's name in the ini file, and as an attribute of pytest's options."""
        return f"miniwob_{self.key}"

    @property
    def key(self) -> str:
        """The option's field in `Settings`."""
        return self.name.replace("-", "_")

    @property
    def is_object(self) -> bool:
        """True if the value is a JSON object, which may be a table in a file of TOML."""
        return self.parse in (parse_object, parse_capabilities)

    @property
    def is_path(self) -> bool:
        """True if the value names a file or a folder."""
        return self.parse in (parse_path, parse_folders, parse_baseline)

    def read(self, given: Given | None) -> Any:
        """Return the value, checked and parsed; None if there is none.

        Raises:
            UsageError: the value is not valid.
        """
        if given is None:
            return None
        if self.choices and given.text not in self.choices:
            raise UsageError(
                f"{given.name}: {given.text!r} is not one of {', '.join(self.choices)}"
                + nearest(given.text, self.choices)
            )
        return self.parse(given)


OPTIONS = (
    Option(
        "record",
        "what to do at a model call: none = replay only, a call that is not recorded is an error; "
        "once = record items that have no cassette; new_episodes = replay what is recorded, record "
        "the rest and put aside what is no longer used; all = record everything anew; defer = "
        f"replay, and write calls without a completion to {PENDING} as a batch file (see "
        "--miniwob-answers)",
        "none",
        choices=("none", "once", "new_episodes", "all", "defer"),
    ),
    Option(
        "model",
        "the model's id, as its server calls it; also a folder of the cassettes",
        metavar="ID",
        parse=parse_optional_text,
    ),
    Option(
        "base-url",
        "any OpenAI-compatible server, such as http://127.0.0.1:8000/v1 (default: OPENAI_BASE_URL "
        "or the API's own; see --miniwob-key-variable for the key)",
        metavar="URL",
        parse=parse_server,
    ),
    Option(
        "key-variable",
        "the environment variable with the key, for all requests (default: OPENAI_API_KEY; "
        "ANTHROPIC_API_KEY for /v1/messages, GEMINI_API_KEY for /v1beta)",
        metavar="NAME",
        parse=parse_variable,
    ),
    Option(
        "llm-params",
        """further parameters of every model call, as JSON, such as '{"temperature": 0}' for """
        'models that take one. "timeout" is how many seconds the server may be silent (600 unless '
        'given), and is not sent; "extra_body" holds what only this server knows, such as '
        '{"top_k": 40}; "extra_headers" and "extra_query" are sent, but never stored, shown or '
        "matched",
        "{}",
        metavar="JSON",
        parse=parse_object,
    ),
    Option(
        "agent",
        "the agent: reflective, rci, webwise, tools, one that an installed package registers, or "
        "package.module:Class",
        "reflective",
        metavar="NAME",
    ),
    Option(
        "agent-params",
        """parameters of the agent's class, as JSON, such as '{"planning": "iterative"}'; """
        "paths in it count from the working directory",
        "{}",
        metavar="JSON",
        parse=parse_object,
    ),
    Option(
        "prompts",
        "a folder of prompt texts that replace the agent's own, file by file (plan.txt, ...)",
        metavar="DIR",
        parse=parse_path,
    ),
    Option(
        "seeds",
        "the seeds of every task, such as 1000-1024,7; on the command line for all tests, in the "
        f"ini file for those whose marker names none (default: {SEEDS})",
        metavar="SEEDS",
        parse=parse_seed_list,
    ),
    Option(
        "trials",
        "how many trials an item may have; on the command line for all tests, in the ini file "
        f"for those whose marker names none (default: {Limits().trials})",
        metavar="N",
        parse=parse_count,
    ),
    Option(
        "steps",
        f"how many actions a trial may have; as for trials (default: {Limits().steps})",
        metavar="N",
        parse=parse_count,
    ),
    Option(
        "repeats",
        "how many samples of every item are recorded, each its own item (.../1000, .../1000-2, "
        "...); as for trials (default: 1)",
        metavar="N",
        parse=parse_count,
    ),
    Option(
        "pages",
        "a folder of pages of one's own, each a task: NAME.html, or a site NAME/index.html; "
        "several with commas, in the ini file one a line. As for trials; paths of a marker count "
        "from its test file",
        metavar="DIR",
        parse=parse_folders,
    ),
    Option(
        "cassettes",
        "the folder of recorded model calls",
        "cassettes",
        metavar="DIR",
        parse=parse_path,
    ),
    Option(
        "answers",
        "with --miniwob-record=defer: first put the completions of this Batch API output file "
        "into the cassettes that wait for them",
        metavar="FILE",
        parse=parse_path,
    ),
    Option(
        "max-calls",
        "record at most N model calls, over all workers; items that need more are skipped, and the "
        "next run continues from there",
        metavar="N",
        parse=parse_count,
    ),
    Option(
        "max-cost",
        "record until model calls have cost this many US dollars, over all workers; items that "
        "need more are skipped, as with --miniwob-max-calls. Needs miniwob_prices",
        metavar="USD",
        parse=parse_dollars,
    ),
    Option(
        "concurrency",
        "at most N model calls at a time, over all workers (default: one each worker)",
        metavar="N",
        parse=parse_count,
    ),
    Option(
        "ask-above",
        "before a recording that is likely to take more than N model calls, ask whether to go on; "
        "only on a terminal, and never where CI is set",
        "1000",
        metavar="N",
        parse=parse_count,
    ),
    Option(
        "keep-going",
        "continue with the next item after an error of the model's server that all calls would "
        "meet (a wrong key, a refused parameter, a server that is not there); otherwise the run "
        "stops there",
        flag=True,
    ),
    Option(
        "prices",
        "what models cost: 'MODEL PROMPT COMPLETION', US dollars for a million tokens; several "
        "with commas, in the ini file one a line",
        "",
        metavar="PRICES",
        parse=parse_price_list,
    ),
    Option(
        "results",
        "write the outcome of each item to this file, one line of JSON an item",
        metavar="FILE",
        parse=parse_path,
    ),
    Option(
        "baseline",
        "results to compare this run with, written by --miniwob-results: a file, git:REF for that "
        "file as it was at a commit, or git:REF:PATH",
        metavar="FILE",
        parse=parse_baseline,
    ),
    Option(
        "gate",
        "when the run fails against its baseline: items[:M] = an item is no longer solved (with "
        "repeats: by M samples); paired[:ALPHA] = the change is significantly for the worse, for "
        "runs that were recorded again; paired:strict or paired:ALPHA:strict = or the items are "
        "too few to decide; rate:POINTS = the solved rate fell by more than that",
        "items",
        metavar="KIND",
    ),
    Option(
        "shard",
        "this run is a shard of a suite, such as 2/5 for the second of five: its results and "
        "report say so, and it judges nothing. Other tools choose its items; with --splits and "
        "--group of pytest-split this option is not needed",
        metavar="K/N",
        parse=parse_shard,
    ),
    Option(
        "judge-shard",
        "judge the items of this shard by the baseline, by themselves; otherwise that is done once "
        "miniwob-agent results merge has joined all shards",
        flag=True,
    ),
    Option(
        "report",
        "write an HTML report into this folder: pages that open from disk, index.html first",
        metavar="DIR",
        parse=parse_path,
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
        "the Chromium or Chrome to use (default: MINIWOB_BROWSER, or the first one found; "
        "chromium-headless-shell before the others, as it is faster)",
        metavar="PATH",
        parse=parse_optional_text,
    ),
    Option(
        "remote",
        "open the browsers on the Selenium Grid at this address, such as http://grid:4444; one "
        "session for each worker, kept for the whole run. The Grid's user and password come from "
        "the environment (MINIWOB_REMOTE_USER, MINIWOB_REMOTE_PASSWORD) or from the address, and "
        "are neither stored nor shown",
        metavar="URL",
        parse=parse_grid,
    ),
    Option(
        "capabilities",
        "with --miniwob-remote: what the sessions need besides Chrome, as JSON, such as "
        """'{"platformName": "linux", "goog:chromeOptions": {"args": ["--no-sandbox"]}}'""",
        "{}",
        metavar="JSON",
        parse=parse_capabilities,
    ),
    Option(
        "serve",
        "with --miniwob-remote: the name under which nodes of the Grid reach this machine, where "
        "each worker serves the pages, and the port of the first worker; the others take the ports "
        "after it (default: the address of the interface that leads to the Grid, at free ports)",
        metavar="HOST[:PORT]",
        parse=parse_serve,
    ),
    Option(
        "headed",
        "show the browser's window, which takes a whole Chromium; without -n, as windows take each "
        "other's focus",
        flag=True,
    ),
    Option(
        "slowmo",
        "with --miniwob-headed: every action takes this many milliseconds longer, half of them "
        "once the pointer is there and half afterwards, and the pointer is drawn in the window; "
        "what the page does and what is recorded stay the same",
        metavar="MS",
        parse=parse_count,
    ),
)


def add_options(parser: pytest.Parser) -> None:
    """Add every option and its ini twin; the command line overrides the ini file."""
    group = parser.getgroup("miniwob", "MiniWoB++ agents (pytest-miniwob-agent)")
    for option in OPTIONS:
        name, text = option.argument, option.help.replace("%", "%%")
        about = f"default of {name}"
        if option.flag:
            parser.addini(option.ini, about, "bool", None)
            group.addoption(name, action="store_true", default=None, help=text)
        else:
            # Typed values of `[tool.pytest]` too; those of other files are texts.
            parser.addini(option.ini, about, str | int | float, None)
            group.addoption(
                name,
                default=None,
                choices=option.choices,
                metavar=option.metavar,
                help=text + (f" (default: {option.default})" if option.default else ""),
            )
