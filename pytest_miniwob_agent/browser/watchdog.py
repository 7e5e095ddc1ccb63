"""A watchdog that ends the browser of a run which was killed.

A process that gets SIGKILL can't end what it has started: chromedriver, Chromium and their folders
would stay for ever. The watchdog is a process of its own, this file run as a script, that waits for
the end of the run.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

LONGEST_PARENT = 40
"""Length of a path for temporary files in which Chromium can still open its socket: the path of a
socket has 104 characters at most, on macOS, and ends in about 60 that Chromium chooses."""


class Watchdog:
    """A process group and a folder that do not outlive this process, however it ends.

    Attributes:
        group: the id of the process group, for `process_group` of `subprocess.Popen`.
        folder: an empty folder for the temporary files of the group.
    """

    def __init__(self) -> None:
        parent = tempfile.gettempdir()
        parent = parent if len(parent) <= LONGEST_PARENT else "/tmp"
        self.folder = tempfile.mkdtemp(prefix="chromium-", dir=parent)
        self._process = subprocess.Popen(
            # Isolated and without site packages, so that it starts fast.
            [sys.executable, "-I", "-S", __file__, self.folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            process_group=0,  # Ctrl-C must not end it before the run
        )
        self.group = self._process.pid

    def end(self) -> None:
        """Kill the group, the watchdog included, and remove the folder."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.group, signal.SIGKILL)
        self._process.communicate()
        _remove(self.folder)


def _remove(folder: str) -> None:
    """Remove a folder in which processes that were just killed may still write for seconds."""
    for _ in range(200):
        shutil.rmtree(folder, ignore_errors=True)
        if not os.path.exists(folder):
            return
        time.sleep(0.05)


def watch(folder: str) -> None:
    """Wait until the run is gone, then kill the group of this process and remove the folder.

    The end of the run closes its end of the pipe to standard input. Processes that it has forked
    may hold that end too, so look at the parent process every second.
    """
    # Without its parent the group is hung up if a process in it is stopped, as by a debugger.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    parent = os.getppid()
    while os.getppid() == parent and not select.select([0], [], [], 1)[0]:
        pass
    if os.fork() == 0:  # a leader can't leave its group, but a child can
        group = os.getpgrp()
        os.setpgid(0, 0)
        os.killpg(group, signal.SIGKILL)
        _remove(folder)


if __name__ == "__main__":
    watch(sys.argv[1])
