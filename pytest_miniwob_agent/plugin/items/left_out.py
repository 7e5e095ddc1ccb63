"""Items of the baseline that a run left out on purpose, so that they are not missing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_miniwob_agent.plugin.run.state import State

if TYPE_CHECKING:
    from pytest_miniwob_agent.results.file import Results


class LeftOut:
    """Case ids of the baseline that a run left out on purpose.

    An item is left out if the marker of a test that was collected selects it and the command line
    does not: by `-k`, `-m`, `--deselect`, `--lf`, `--miniwob-seeds`, or because other items are
    named. It is also left out if its test was not asked for: the arguments name other tests, files
    or folders. So an item that a marker no longer selects, and one of a test that is gone, is not
    left out, whatever the arguments.

    Args:
        config: pytest's configuration.
        state: the state of the run.
        baseline: the results of the earlier run.
    """

    def __init__(self, config: pytest.Config, state: State, baseline: Results) -> None:
        self._config = config
        self._seeds = state.settings.seeds
        self._collected = state.offered.keys()
        self._selected = set(map(_item, state.selected))
        self._offered = {_item(case) for cases in state.offered.values() for case in cases}
        self._tasks = {item.rpartition("/")[0] for item in self._offered}
        self._tests = {result.item: result.test for result in baseline.results}

    def __contains__(self, case: object) -> bool:
        item = _item(str(case))
        if item in self._selected:
            return False  # it was to run, but the run was stopped
        task, _, seed = item.rpartition("/")
        other_seed = self._seeds is not None and int(seed) not in self._seeds
        if item in self._offered or (other_seed and task in self._tasks):
            return True
        test = self._tests.get(item, "")
        return bool(test) and test not in self._collected and not self._asked_for(test)

    def _asked_for(self, test: str) -> bool:
        """True if the arguments ask for a test; `--lf` asks for none that it does not collect."""
        if getattr(self._config.option, "lf", False):
            return False
        path, *names = test.split("::")
        file = (self._config.rootpath / path).resolve()
        for argument in self._config.args:
            where, _, rest = str(argument).partition("::")
            wanted = rest.partition("[")[0].split("::") if rest else []
            place = Path(self._config.invocation_params.dir, where).resolve()
            covered = place == file or place in file.parents or not place.exists()  # --pyargs
            if covered and names[: len(wanted)] == wanted:
                return True
        return False


def _item(case: str) -> str:
    """The item of a case, whose samples are `ITEM`, `ITEM-2`, `ITEM-3` and so on."""
    task, _, sample = case.rpartition("/")
    return f"{task}/{sample.partition('-')[0]}"
