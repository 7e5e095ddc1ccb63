"""The project's folder, where cassettes and `.miniwob/` lie and paths of the ini file start.

It is the folder that `--rootdir` names, else that of the ini file, else the working directory. That
is not always pytest's rootdir: without an ini file, pytest takes the common folder of the
arguments, among them the value of `--miniwob-prompts DIR`, as it does not know the option yet.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from _pytest.config.findpaths import determine_setup

from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.files import display_path
from pytest_miniwob_agent.plugin.options.settings import OPTIONS
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
    folder, values = _ini_file(Path.cwd())
    value = getattr(values.get("miniwob_pages"), "value", None) or ""
    text = value if isinstance(value, str) else "\n".join(value)
    return [folder.parent / path for path in parse_folders("miniwob_pages", text)] if folder else []


def check_ini_file(config: pytest.Config) -> None:
    """Check that pytest has not overlooked the ini file because of one of our options.

    Raises:
        UsageError: it has; the message names the option and the way to write it.
    """
    options = {option.name for option in OPTIONS if not option.flag}
    separate = options.intersection(map(str, config.invocation_params.args))
    if config.inipath is not None or config.getoption("rootdir") or not separate:
        return
    inipath, _ = _ini_file(config.invocation_params.dir)
    if inipath is not None and not config.getoption("inifilename"):
        raise UsageError(
            f"pytest did not read {display_path(inipath)}, as it takes the value of an option that "
            "it does not know yet for a test folder: write "
            + " ".join(f"{name}=VALUE" for name in sorted(separate))
        )


def _ini_file(folder: Path) -> tuple[Path | None, dict[str, Any]]:
    """Return the ini file that a run without arguments reads in a folder, and its values."""
    _, inipath, values, _ = determine_setup(
        inifile=None, override_ini=None, args=[], rootdir_cmd_arg=None, invocation_dir=folder
    )
    return inipath, values
