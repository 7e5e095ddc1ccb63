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
from typing import NamedTuple

import pytest

from pytest_miniwob_agent.cassettes.folder.stems import Used
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.plugin.run.state import STATE


class NoItems(UsageError):
    """Error: no item was collected that uses a cassette."""


_FILE = "MINIWOB_COLLECTED"
"""Variable with the path of the file that the inner run writes."""


class Collected(NamedTuple):
    """The cassettes that the items of a pytest run use, deselected items included.

    `key_variable` is the environment variable with the key that an option of the run names.
    """

    used: Used
    key_variable: str | None

    def check(self) -> Used:
        """Return the cassettes.

        Raises:
            NoItems: none of the items uses a cassette, or there are none.
        """
        if self.used.stems:
            return self.used
        raise NoItems(
            "no item here uses a cassette: run this where your tests are, or name them after --; "
            "and name a model, in the ini file (miniwob_model) or with -- --miniwob-model=ID"
        )


def used_cassettes(args: Sequence[str]) -> Used:
    """Return the cassettes that the items of `pytest ARGS` use, deselected items included.

    Raises:
        NoItems: none of the items uses a cassette, or there are none.
        UsageError: pytest can't collect the items; the message has its output.
    """
    return collect(args).check()


def collect(args: Sequence[str]) -> Collected:
    """Collect the items of `pytest ARGS` in a process of their own.

    Raises:
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
    used = Used(Path(data["folder"]), data["stems"], deselected=data["deselected"])
    return Collected(used, data["key_variable"])


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Collect every file: `--lf` leaves out those without an item that failed."""
    config.option.lf = False


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Write the cassettes that the collected items use to a file."""
    state = session.config.stash[STATE]
    settings = state.settings
    stems = set(state.cassettes_of(state.selection.cases))
    selected = state.cassettes_of(state.selection.to_run)
    data = {
        "key_variable": settings.key_variable,
        "folder": str(settings.cassettes),
        "stems": sorted(stems),
        "deselected": sorted(stems.difference(selected)),
    }
    Path(os.environ[_FILE]).write_text(json.dumps(data), encoding="utf-8")
