"""A pytest plugin for inner runs: writes every item's outcome and events to $EVENTS, where anybody
slept while an item ran to $SLEPT, and the imported libraries that send HTTP to $SENDING."""

import json
import os
import sys
import time
import traceback

import pytest

OUTCOMES = {}
SENDING = {"vcr", "requests", "httpx", "httpx2", "openai"}


def pytest_configure(config):
    sleep = time.sleep

    def watched(seconds):
        frames = traceback.extract_stack()
        inside = any(frame.name == "run_episode" for frame in frames)
        starting = any(frame.name == "_start" for frame in frames)  # selenium, until Chromium is up
        if inside and not starting:
            with open(os.environ["SLEPT"], "a") as file:
                file.write(f"{frames[-2]}\n")
        sleep(seconds)

    time.sleep = watched


def pytest_runtest_logreport(report):
    if hasattr(report, "miniwob"):
        OUTCOMES[report.nodeid] = [report.outcome, report.miniwob.to_data()]


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    if not hasattr(session.config, "workerinput"):
        with open(os.environ["EVENTS"], "w") as file:
            json.dump(OUTCOMES, file, sort_keys=True, indent=1)
        if "SENDING" in os.environ:
            with open(os.environ["SENDING"], "w") as file:
                file.write(" ".join(SENDING & sys.modules.keys()))
