"""A pytest plugin for inner runs: writes each change of a file below `cassettes` to the file in
CHANGES, a line each with its number among those of its kind, and kills its process group before
the change that KILL_AT names so."""

import os
import signal
import sys
from collections import Counter
from pathlib import Path


def pytest_configure():
    kinds, last = Counter(), os.environ["KILL_AT"]

    def hear(event, values):
        if event not in ("os.rename", "os.remove"):
            return
        path = Path(os.fsdecode(values[event == "os.rename"]))
        if "cassettes" not in path.parts:
            return
        # Neither what is random nor how many bodies there are before a call.
        kind = "a body" if ".gz" in path.name else f"{event} {path.name.partition('.yaml.')[0]}"
        kinds[kind] += 1
        change = f"{kinds[kind]}. {kind}"
        with open(os.environ["CHANGES"], "a", encoding="utf-8") as file:
            file.write(f"{change}\n")
        if change == last:
            os.killpg(0, signal.SIGKILL)  # a server that was forked, too

    sys.addaudithook(hear)
