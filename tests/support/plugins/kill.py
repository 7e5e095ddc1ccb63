"""A pytest plugin for inner runs: writes each change of a file below their `cassettes` to the file
in CHANGES, a line each, and kills its process group before change KILL_AT, counted from 0."""

import os
import signal
import sys
from itertools import count
from pathlib import Path


def pytest_configure():
    numbers, last = count(), int(os.environ["KILL_AT"])
    # Not that of the package, in which Python keeps what it compiles.
    cassettes = Path("cassettes").resolve()

    def hear(event, values):
        if event not in ("os.rename", "os.remove"):
            return
        path = Path(os.fsdecode(values[event == "os.rename"]))
        if cassettes not in path.absolute().parents:
            return
        with open(os.environ["CHANGES"], "a", encoding="utf-8") as file:
            file.write(f"{event} {path.name.partition('.yaml.')[0]}\n")  # without what is random
        if next(numbers) == last:
            os.killpg(0, signal.SIGKILL)  # a server that was forked, too

    sys.addaudithook(hear)
