"""A pytest plugin for inner runs: prints the files of the package in which the functions of an item
run, one line per item."""

import sys
from pathlib import Path

import pytest

import pytest_miniwob_agent

PACKAGE = Path(pytest_miniwob_agent.__file__).parent


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol():
    files = set()

    def called(frame, event, arg):
        code = frame.f_code
        if event == "call" and code.co_name != "<module>":  # not what an import runs
            files.add(Path(code.co_filename))

    sys.setprofile(called)
    try:
        return (yield)
    finally:
        sys.setprofile(None)
        own = sorted(str(file.relative_to(PACKAGE)) for file in files if PACKAGE in file.parents)
        print("\nfiles", *own)
