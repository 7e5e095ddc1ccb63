"""Folder of a project, where cassettes and `.miniwob/` lie; paths of the ini file count from it.

It is the folder that `--rootdir` names, else that of the ini file, else the working directory. That
is not always pytest's rootdir: where there is no ini file, pytest takes the common folder of the
arguments, and before plugins are loaded the value of `--miniwob-prompts DIR` is one for it.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from _pytest.config.findpaths import determine_setup

from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.files import display_path
from pytest_miniwob_agent.plugin.options.declarations import OPTIONS

if TYPE_CHECKING:
    import pytest


def project_folder(config: pytest.Config) -> Path:
    """Return the folder of a run's project; workers of pytest-xdist have that of the controller."""
    if (given := getattr(config, "workerinput", {}).get("miniwob_folder")) is not None:
        return Path(given)
    if config.getoption("rootdir") or config.inipath is not None:
        return config.rootpath
    return config.invocation_params.dir


def describe_cassettes(config: pytest.Config, cassettes: Path) -> str:
    """Return a line on the folder of cassettes and the reason for it."""
    if config.getoption("miniwob_cassettes"):
        reason = "by --miniwob-cassettes"
    elif config.getoption("rootdir"):
        reason = "by --rootdir"
    elif config.inipath is not None:
        reason = f"by {display_path(config.inipath)}"
    else:
        reason = "of the working directory, as there is no ini file"
    return f"miniwob cassettes: {display_path(cassettes)}, {reason}"


def pages_of_ini_file() -> list[Path]:
    """Return the folders that `miniwob_pages` names in the ini file of the working directory."""
    from pytest_miniwob_agent.plugin.options.values import Given, parse_folders

    here = Path.cwd()
    root, inipath, values, *_ = determine_setup(
        inifile=None, override_ini=None, args=[], rootdir_cmd_arg=None, invocation_dir=here
    )
    found = values.get("miniwob_pages", "")
    value = getattr(found, "value", found)  # pytest 9 keeps the place beside the value
    text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
    folder = root if inipath is not None else here
    return parse_folders(Given("miniwob_pages", text, folder)) if text else []


def check_ini_file(config: pytest.Config) -> None:
    """Check that pytest has not overlooked the ini file for the value of one of our options.

    Raises:
        UsageError: it has; the message names the option and the way to write it.
    """
    arguments = [
        *shlex.split(os.environ.get("PYTEST_ADDOPTS", "")),
        *map(str, config.invocation_params.args),
    ]
    taken = dict(_taken_for_arguments(arguments, config.invocation_params.dir))
    if not taken or config.getoption("rootdir") or config.getoption("inifilename"):
        return
    _, inipath, *_ = determine_setup(
        inifile=None,
        override_ini=None,
        args=[each for number, each in enumerate(arguments) if number not in taken],
        rootdir_cmd_arg=None,
        invocation_dir=config.invocation_params.dir,
    )
    if inipath is not None and inipath != config.inipath:
        options = " ".join(taken.values())
        raise UsageError(
            f"pytest did not read {display_path(inipath)}, as it takes the value of an option that "
            f"it does not know yet for a folder of tests: write {options}"
        )


def _taken_for_arguments(arguments: list[str], folder: Path) -> Iterator[tuple[int, str]]:
    """Yield the numbers of arguments that are values of our options and exist as files.

    With each comes the form of the option that pytest does not take for an argument.
    """
    names = {option.argument for option in OPTIONS if not option.flag}
    for number, (name, value) in enumerate(pairwise(arguments), start=1):
        if name in names and (folder / value).exists():
            yield number, shlex.quote(f"{name}={value}")
