"""The project's folder, where cassettes and `.miniwob/` lie and paths of the ini file start.

It is the folder that `--rootdir` names, else that of the ini file, else the working directory. That
is not always pytest's rootdir: without an ini file, pytest takes the common folder of the
arguments, among them the value of `--miniwob-prompts DIR`, as it does not know the option yet.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from _pytest.config.findpaths import determine_setup

from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.plugin.options.values import parse_folders

if TYPE_CHECKING:
    import pytest

SUITES = "miniwob_suites"
"""The ini value that names test files that own cassettes, but are not collected by default."""


def project_folder(config: pytest.Config) -> Path:
    """Return the folder of a run's project; workers of pytest-xdist have that of the controller."""
    if (given := getattr(config, "workerinput", {}).get("miniwob_folder")) is not None:
        return Path(given)
    if config.getoption("rootdir") or config.inipath is not None:
        return config.rootpath
    return config.invocation_params.dir


def suite_files(config: pytest.Config) -> list[Path]:
    """Return the files that `miniwob_suites` names.

    Raises:
        UsageError: a glob matches no file.
    """
    files = []
    for pattern in config.getini(SUITES):
        found = sorted(project_folder(config).glob(pattern))
        if not found:
            raise UsageError(f"{SUITES}: {pattern} matches no file")
        files += found
    return files


def pages_of_ini_file() -> list[Path]:
    """Return the folders that `miniwob_pages` names in the ini file of the working directory."""
    _, inipath, values, _ = determine_setup(
        inifile=None, override_ini=None, args=[], rootdir_cmd_arg=None, invocation_dir=Path.cwd()
    )
    value = getattr(values.get("miniwob_pages"), "value", "")
    text = value if isinstance(value, str) else "\n".join(value)
    folders = parse_folders("miniwob_pages", text)
    return [inipath.parent / folder for folder in folders] if inipath else []
