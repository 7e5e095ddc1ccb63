"""Processes that tests kill."""

import os
import signal
from pathlib import Path


def pid_of(driver, victim):
    """The process of a session's "browser" or of its "driver".

    A browser may be started by a script that stays, as Debian's headless shell is: its child then.
    """
    if victim == "driver":
        return driver.service.process.pid
    pid: int = driver.capabilities["goog:processID"]
    if "chrom" not in os.readlink(f"/proc/{pid}/exe"):
        return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])
    return pid


def kill(driver, victim):
    """Kill the browser or the driver of a session."""
    os.kill(pid_of(driver, victim), signal.SIGKILL)
