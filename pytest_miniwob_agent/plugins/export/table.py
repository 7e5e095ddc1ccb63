"""Results for other tools: a table with a row for each episode."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from pytest_miniwob_agent.core.outcome import Result
from pytest_miniwob_agent.models.budget import Price, usage_cost
from pytest_miniwob_agent.results.file import Results

COLUMNS = {
    "case": "the item's id",
    "category": "the task's category",
    "task": "the task's name",
    "seed": "the page's seed",
    "repeat": "the number of the sample, from 1",
    "agent": "the agent's name",
    "model": "the model's id, as it was asked for",
    "response_model": "the model that answered, as the server calls it",
    "outcome": "solved, unsolved, drifted, error, waiting or budget",
    "solved": "true or false; empty without an outcome",
    "solved_at": "the trial that solved it, from 1",
    "reward": "the best reward of a trial, from -1 to 1",
    "trials": "the trials that were played",
    "steps": "actions, over all trials",
    "calls": "model calls",
    "prompt_tokens": "tokens of all prompts; empty if the server did not count",
    "completion_tokens": "tokens of all completions",
    "cached_tokens": "those of the prompts that the provider had cached",
    "cost": "US dollars, with --prices",
    "most_trials": "the trials that were allowed",
    "most_steps": "the actions per trial that were allowed",
    "any_reward": "true if a reward above 0 counts as solved",
    "reason": "why there is no outcome, or what graders and the test object to",
    "grades": "what each grader says, with its reason",
}
"""The columns of the table, and what they hold."""

# The beginning of a string that a spreadsheet may take for a formula.
_FORMULA = re.compile(r"""[\t\n]|[\s\x00-\x1f\u200b-\u200f\u2060\ufeff"'`]*[=+\-@]""")

# Places in a string at which a spreadsheet that separates columns there may see a formula begin.
_LATER_FORMULA = re.compile(r"""(?<=[;\t])(?=[\s"'`]*[=+\-@\uff1d\uff0b\uff0d\uff20])""")


def table_row(result: Result, prices: Mapping[str, Price]) -> dict[str, Any]:
    """Return a result's row of the table; None for what is unknown."""
    tokens, limits = result.tokens, result.limits
    cost = usage_cost(result.usage, prices.get(result.model)) if prices else None
    row = {
        "response_model": ", ".join(result.response_models) or None,
        "outcome": str(result.outcome),
        "solved": result.solved if result.conclusive else None,
        "reward": max(result.rewards, default=None),
        "trials": len(result.endings),
        "calls": sum(result.calls.values()),
        "prompt_tokens": tokens.prompt,
        "completion_tokens": tokens.completion,
        "cached_tokens": tokens.cached or None,
        "cost": cost,
        "most_trials": limits and limits.trials,
        "most_steps": limits and limits.steps,
        "any_reward": bool(limits and limits.any_reward),
        "reason": result.reason or "; ".join(result.objections) or None,
        "grades": "; ".join(map(str, result.grades)) or None,
    }
    return {name: row[name] if name in row else getattr(result, name) for name in COLUMNS}


def csv_text(results: Results, prices: Mapping[str, Price]) -> str:
    """Return the table as CSV, with a heading; what is not known is empty.

    A string that a spreadsheet may take for a formula has an apostrophe before it, also behind a
    `;`.
    """
    file = io.StringIO()
    writer = csv.DictWriter(file, list(COLUMNS), lineterminator="\n")
    writer.writeheader()
    for result in results.results:
        writer.writerow({name: _cell(value) for name, value in table_row(result, prices).items()})
    return file.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str):
        return value
    text = "\n".join(re.split("\r\n?", value))  # a writer leaves a lone "\r" without quotes
    text = _LATER_FORMULA.sub("'", text)
    return f"'{text}" if _FORMULA.match(unicodedata.normalize("NFKC", text)) else text
