"""Results for other tools: a table with a row for each episode, and records of whole runs."""

from __future__ import annotations

import csv
import io
import re
import time
import unicodedata
from collections.abc import Iterator, Mapping
from importlib import metadata
from typing import Any

from pytest_miniwob_agent.core.data import canonical_json
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.models.budget import Price, cost_of
from pytest_miniwob_agent.results.file import Result, Results
from pytest_miniwob_agent.results.statistics import standard_error
from pytest_miniwob_agent.tasks.problems import PROBLEM_LISTS

COLUMNS = {
    "case": "the item's id",
    "category": "the task's category",
    "task": "the task's name",
    "seed": "the page's seed",
    "repeat": "the number of the sample, from 1",
    "agent": "the agent's name",
    "model": "the model's id, as it was asked for",
    "response_model": "what answered, as the server calls it; several with commas",
    "outcome": "solved, unsolved, or why there is none: drifted, error, waiting, budget",
    "solved": "true or false; empty without an outcome",
    "solved_at": "the trial that solved it, from 1",
    "reward": "the best reward of a trial, from -1 to 1",
    "trials": "the trials that were played",
    "steps": "actions, over all trials",
    "calls": "model calls",
    "prompt_tokens": "tokens of all prompts; empty where a server did not report them",
    "completion_tokens": "tokens of all completions",
    "cached_tokens": "those of the prompts that the provider had cached",
    "cost": "US dollars, with --prices",
    "most_trials": "the trials that were allowed",
    "most_steps": "the actions per trial that were allowed",
    "any_reward": "true if a reward above 0 counts as solved",
    "reason": "why there is no outcome",
}
"""The columns of the table, and what they hold."""

JOURNAL = (
    "git_user", "agent_name", "benchmark", "benchmark_version", "date", "study_id", "avg_reward",
    "std_err", "n_err", "n_completed", "comment", "os", "python_version", "playwright_version",
    "agentlab_version", "agentlab_git_hash", "agentlab__local_modifications",
    "browsergym_version", "browsergym_git_hash", "browsergym__local_modifications",
)  # fmt: skip
"""The columns of AgentLab's `reproducibility_journal.csv`."""

_FORMULA = re.compile(r"""[\t\n]|[\s\x00-\x1f\u200b-\u200f\u2060\ufeff"'`]*[=+\-@]""")
"""The beginning of a text that a spreadsheet may take for a formula."""


def row_of(result: Result, prices: Mapping[str, Price]) -> dict[str, Any]:
    """Return a result's row of the table; None for what is not known."""
    tokens, limits = result.tokens, result.limits or {}
    cost = cost_of(result.usage, prices.get(result.model)) if prices else None
    row = {
        "response_model": ", ".join(result.response_models) or None,
        "outcome": str(result.outcome),
        "solved": result.solved if result.conclusive else None,
        "reward": max(result.rewards, default=None),
        "trials": len(result.endings),
        "calls": sum(result.calls.values()),
        "prompt_tokens": tokens["prompt"],
        "completion_tokens": tokens["completion"],
        "cached_tokens": tokens.get("cached"),
        "cost": cost,
        "most_trials": limits.get("trials"),
        "most_steps": limits.get("steps"),
        "any_reward": bool(limits.get("any_reward")),
        "reason": result.reason or None,
    }
    return {name: row[name] if name in row else getattr(result, name) for name in COLUMNS}


def csv_text(results: Results, prices: Mapping[str, Price]) -> str:
    """Return the table as CSV, with a heading; what is not known is empty.

    A text that a spreadsheet may take for a formula has an apostrophe before it.
    """
    return _csv(list(COLUMNS), (row_of(result, prices) for result in results.results))


def parquet_bytes(results: Results, prices: Mapping[str, Price]) -> bytes:
    """Return the table as a Parquet file; a `UsageError` where pyarrow is missing."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise UsageError(
            "a Parquet file needs pyarrow: pip install 'pytest-miniwob-agent[parquet]'"
        ) from None
    rows = [row_of(result, prices) for result in results.results]
    columns = {name: [row[name] for row in rows] for name in COLUMNS}
    file = io.BytesIO()
    parquet.write_table(pyarrow.table(columns), file)
    return file.getvalue()


def journal_text(results: Results) -> str:
    """Return a row of AgentLab's journal for each agent and model, with its heading.

    Episodes count as often as BrowserGym's schedule has them. What only AgentLab knows is empty.

    Raises:
        UsageError: the results are not those of the suite `browsergym`.
    """
    return _csv(list(JOURNAL), (_journal_row(run) for run in results.by_setup.values()))


def _journal_row(run: Results) -> dict[str, Any]:
    times = PROBLEM_LISTS["browsergym"].read()
    found = [(result, times[result.task, result.seed]) for result in run.results]
    if not found or not all(count for _, count in found):
        raise UsageError(
            f"{run.source} has items that are not in BrowserGym's schedule: run "
            '@pytest.mark.miniwob("browsergym")'
        )
    done = [(result.solved, count) for result, count in found if result.conclusive]
    episodes = sum(count for _, count in done)
    rate = sum(count for solved, count in done if solved) / episodes if episodes else 0.0
    first = run.results[0]
    return dict.fromkeys(JOURNAL, "") | {
        "agent_name": f"{first.agent}-{first.model}",
        "benchmark": "miniwob",
        "avg_reward": round(rate, 3),
        "std_err": round(standard_error(rate, episodes), 3) if episodes else 0.0,
        "n_err": sum(count for _, count in found) - episodes,
        "n_completed": f"{episodes}/{times.total()}",
        "comment": "pytest-miniwob-agent",
    }


def every_eval_ever_text(results: Results) -> str:
    """Return a record for each agent and model, one to a line, as Every Eval Ever collects them.

    A record has the solved rate of all items, and that of each task, of version 0.3.0 of the
    `eval.schema.json` of https://github.com/evaleval/every_eval_ever. What results do not tell,
    such as who ran them, is "unknown".
    """
    now = str(int(time.time()))
    records = [_record(run, now) for run in results.by_setup.values()]
    return "".join(canonical_json(record) + "\n" for record in records)


def _record(run: Results, now: str) -> dict[str, Any]:
    first = run.results[0]
    tasks: dict[str, list[Result]] = {}
    for result in run.results:
        if result.conclusive:
            tasks.setdefault(result.task, []).append(result)
    scores = {"miniwob": [result for found in tasks.values() for result in found]}
    scores |= {f"miniwob/{task}": found for task, found in sorted(tasks.items())}
    return {
        "schema_version": "0.3.0",
        "evaluation_id": f"miniwob/{first.agent}/{first.model}/{now}",
        "retrieved_timestamp": now,
        "source_metadata": {
            "source_type": "evaluation_run",
            "source_organization_name": "unknown",
            "evaluator_relationship": "other",
        },
        "eval_library": {
            "name": "pytest-miniwob-agent",
            "version": metadata.version("pytest-miniwob-agent"),
        },
        "model_info": {
            "name": first.model,
            "id": first.model,
            "additional_details": {
                "deployment_type": "unknown",
                "model_availability": "unknown",
                "agent": first.agent,
            },
        },
        "evaluation_results": [
            _score(name, found, first) for name, found in scores.items() if found
        ],
    }


def _score(name: str, found: list[Result], first: Result) -> dict[str, Any]:
    rate = sum(result.solved for result in found) / len(found)
    return {
        "evaluation_name": name,
        "source_data": {
            "dataset_name": "MiniWoB++",
            "source_type": "url",
            "url": ["https://github.com/Farama-Foundation/miniwob-plusplus"],
        },
        "metric_config": {
            "metric_kind": "pass_rate",
            "metric_unit": "proportion",
            "evaluation_description": "share of episodes that the page judges as solved",
            "lower_is_better": False,
            "score_type": "continuous",
            "min_score": 0,
            "max_score": 1,
        },
        "score_details": {
            "score": rate,
            "uncertainty": {
                "standard_error": {
                    "value": standard_error(rate, len(found)),
                    "method": "analytic",
                },
                "num_samples": len(found),
            },
        },
        "generation_config": {
            "additional_details": {
                **{f"most_{name}": str(most) for name, most in (first.limits or {}).items()},
                **{name: str(value) for name, value in first.params.items()},
            },
        },
    }


def _csv(columns: list[str], rows: Iterator[dict[str, Any]]) -> str:
    file = io.StringIO()
    writer = csv.DictWriter(file, columns, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: _cell(value) for name, value in row.items()})
    return file.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str):
        return value
    text = "\n".join(re.split("\r\n?", value))  # a writer leaves a lone "\r" without quotes
    return f"'{text}" if _FORMULA.match(unicodedata.normalize("NFKC", text)) else text
