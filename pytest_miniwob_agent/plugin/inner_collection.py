"""Cassettes that the items of a pytest run use, found by an inner run that only collects.

The module is a plugin of that inner run (`-p pytest_miniwob_agent.plugin.inner_collection`); it has
the function that starts it, too.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from pytest_miniwob_agent.cassettes.folder import Used
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.plugin.collection import case_of


class NoItems(UsageError):
    """Error: no item was collected that uses a cassette."""


_FILE = "MINIWOB_COLLECTED"
"""Variable with the path of the file that the inner run writes."""


def used_cassettes(args: Sequence[str]) -> Used:
    """Return the cassettes that the items of `pytest ARGS` use.

    Raises:
        NoItems: none of the items uses a cassette, or there are none.
        UsageError: pytest can't collect the items; the message has its output.
    """
    with tempfile.TemporaryDirectory(prefix="miniwob-") as folder:
        file = Path(folder, "used.json")
        run = subprocess.run(
            [sys.executable, "-m", "pytest", "--collect-only", "-qq", "-p", __name__, *args],
            env={**os.environ, _FILE: str(file)},
            capture_output=True,
            text=True,
            errors="replace",
        )
        collected = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
        if run.returncode not in collected or not file.exists():
            raise UsageError(f"pytest can't collect the items:\n{run.stdout}{run.stderr}".rstrip())
        data = json.loads(file.read_text(encoding="utf-8"))
    used = Used(Path(data["folder"]), data["stems"], data["cases"])
    if not used.stems and not used.cases:
        raise NoItems(
            "no item here uses a cassette: run this where your tests are, or name them after --; "
            "and name a model, in the ini file (miniwob_model) or with -- --miniwob-model=ID"
        )
    return used


def pytest_collection_finish(session: pytest.Session) -> None:
    """Write the cassettes that the collected items use to a file."""
    from pytest_miniwob_agent.agents.registry import load_agent
    from pytest_miniwob_agent.cassettes.names import stem
    from pytest_miniwob_agent.plugin import fixtures
    from pytest_miniwob_agent.plugin.state import settings_of

    settings = settings_of(session.config)
    agent = load_agent(settings.agent, settings.prompts, settings.agent_params).name
    stems, cases = [], []
    for item in session.items:
        case = case_of(item)
        if case is None or not isinstance(item, pytest.Function):
            continue
        definitions = item._fixtureinfo.name2fixturedefs
        if any(
            definitions[name][-1].func.__module__ != fixtures.__name__
            for name in ("miniwob_agent", "miniwob_llm")
            if name in definitions
        ):
            cases.append(f"{case.task}/{case.sample}")
        elif settings.model is not None:
            stems.append(stem(agent, settings.model, case))
    data = {"folder": str(settings.cassettes), "stems": stems, "cases": cases}
    Path(os.environ[_FILE]).write_text(json.dumps(data), encoding="utf-8")
