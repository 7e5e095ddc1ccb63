"""Watchdogs that end the browser of a run which was killed.

A process that gets SIGKILL can't end what it has started: chromedriver, Chromium and their folders
would stay for ever, a session on a Grid until it times out. A watchdog is a process of its own,
this file run as a script, that waits for the end of the run.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping

LONGEST_PARENT = 40
"""Length of a path for temporary files in which Chromium can still open its socket: the path of a
socket has 104 characters at most, on macOS, and ends in about 60 that Chromium chooses."""


def _start(*args: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        # Isolated and without site packages, so that it starts fast.
        [sys.executable, "-I", "-S", __file__, *args],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        process_group=0,  # Ctrl-C must not end it before the run
    )


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
        self._process = _start(self.folder)
        self.group = self._process.pid

    def end(self) -> None:
        """Kill the group, the watchdog included, and remove the folder."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.group, signal.SIGKILL)
        self._process.communicate()
        _remove(self.folder)


class SessionWatchdog:
    """Ends a session on a Grid if this process is gone without having done so.

    The headers of the request may hold a password, and never show in the list of processes. It
    trusts the `certificates` of a file, and uses no proxy where it is `direct`.
    """

    def __init__(
        self, url: str, headers: Mapping[str, str], certificates: str | None, direct: bool
    ) -> None:
        self._process = _start()
        assert self._process.stdin is not None
        request = json.dumps([url, dict(headers), certificates, direct])
        self._process.stdin.write(f"{request}\n".encode())
        self._process.stdin.flush()

    def dismiss(self) -> None:
        """End the watchdog, as the session has been ended."""
        self._process.kill()
        self._process.communicate()


def _remove(folder: str) -> None:
    """Remove a folder in which processes that were just killed may still write for seconds."""
    for _ in range(200):
        shutil.rmtree(folder, ignore_errors=True)
        if not os.path.exists(folder):
            return
        time.sleep(0.05)


def watch(folder: str) -> None:
    """Wait until the run is gone, then kill the group of this process and remove the folder."""
    _wait_for_end()
    if os.fork() == 0:  # a leader can't leave its group, but a child can
        group = os.getpgrp()
        os.setpgid(0, 0)
        os.killpg(group, signal.SIGKILL)
        _remove(folder)


def watch_session() -> None:
    """Wait until the run is gone, then end the session that standard input describes."""
    with open(0, "rb", buffering=0, closefd=False) as pipe:  # nothing but the line may be read
        url, headers, certificates, direct = json.loads(pipe.readline())
    _wait_for_end()
    import ssl
    import urllib.request

    context = ssl.create_default_context(cafile=certificates)
    opener = urllib.request.build_opener(
        urllib.request.HTTPSHandler(context=context),
        urllib.request.ProxyHandler({} if direct else None),
    )
    with contextlib.suppress(OSError):
        request = urllib.request.Request(url, headers=headers, method="DELETE")
        opener.open(request, timeout=60).close()


def _wait_for_end() -> None:
    """Wait until the run is gone, which closes its end of the pipe to standard input.

    Processes that it has forked may hold that end too, so look at the parent process every second.
    """
    parent = os.getppid()
    while os.getppid() == parent and not select.select([0], [], [], 1)[0]:
        pass


if __name__ == "__main__":
    if len(sys.argv) > 1:
        watch(sys.argv[1])
    else:
        watch_session()
