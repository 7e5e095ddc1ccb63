"""The cassette folder: which files are in it, which of them items use, and finding one.

A cassette is `<agent>/<model>/<task>/<sample>.yaml`. Its path without the ending is its stem; the
first two parts are its model folder, the last two its case. Beside it there may be the files of an
unfinished recording and of unused calls, see `tape.files`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.text import nearest
from pytest_miniwob_agent.pictures.references import FOLDER

PARTIAL = ".partial.yaml"
"""The ending of the file of an unfinished recording."""

UNUSED = ".unused.yaml"
"""The ending of the file of unused calls."""


@dataclass(frozen=True, slots=True)
class Used:
    """The cassettes that the items of a pytest run use, by the agent and model of its options.

    A test that overrides a fixture may use another agent, whose cassettes are in another folder.

    Args:
        folder: the cassette folder.
        stems: the cassettes of all items, see `names.stem`.
        deselected: those that only deselected items use.
    """

    folder: Path
    stems: Collection[str]
    deselected: Collection[str] = ()

    def has(self, stem: str) -> bool:
        """Return True if an item uses this cassette."""
        return stem in self.stems

    @property
    def model_folders(self) -> set[str]:
        """The folders of the items' agents and models."""
        return {model_folder_of(stem) for stem in self.stems}


def cassette_files(folder: Path) -> list[Path]:
    """Return the cassettes of a folder, with unfinished recordings and files of unused calls.

    A user's own cassettes may be in the same folder, at another depth.
    """
    return sorted(path for path in folder.glob("*/*/*/*.yaml") if not path.name.startswith("."))


def stray_files(folder: Path) -> list[Path]:
    """Return the temporary files of writes that were killed."""
    return sorted([*folder.glob("*/*/*/.*.yaml.*"), *folder.glob(f"{FOLDER}/.*.png.*")])


def unused_files(used: Used) -> list[Path]:
    """Return the cassettes that no item uses, in the folders of the items' agents and models."""
    folders = used.model_folders
    unused = []
    for path in cassette_files(used.folder):
        stem = stem_of(used.folder, path)
        if model_folder_of(stem) in folders and not used.has(stem):
            unused.append(path)
    return unused


def find_cassette(folder: Path, case: str, used: Callable[[], Collection[str]]) -> Path:
    """Return the cassette of a case: an item's id, task and seed, a stem, or the file itself.

    Args:
        folder: the cassette folder.
        case: the case.
        used: returns the stems that decide where several agents or models have the case.

    Raises:
        UsageError: there is none, or several agents or models have one.
    """
    if (path := Path(case)).is_file():
        return path
    end = case_of(case)
    stems = finished_stems(folder)
    found = [stem for stem in stems if stem == case or case_of(stem) == end]
    if not found:
        raise UsageError(
            f"{folder} has no cassette of {case}"
            + nearest(end, sorted({case_of(stem) for stem in stems}))
        )
    if len(found) > 1:
        decided = set(used()).intersection(found)
        found = list(decided) if len(decided) == 1 else found
    if len(found) > 1:
        raise UsageError(f"{case} is recorded more than once; name one of {', '.join(found)}")
    return folder / f"{found[0]}.yaml"


def is_partial(path: Path) -> bool:
    """Return True for the file of an unfinished recording."""
    return path.name.endswith(PARTIAL)


def holds_unused_calls(path: Path) -> bool:
    """Return True for a file of calls that an item no longer makes."""
    return path.name.endswith(UNUSED)


def is_cassette(path: Path) -> bool:
    """Return True for a cassette, as opposed to the files that may be beside it."""
    return not is_partial(path) and not holds_unused_calls(path)


def stem_of(folder: Path, path: Path) -> str:
    """Return a cassette's path below the folder, without its ending."""
    name = path.relative_to(folder).as_posix()
    return name.removesuffix(".yaml").removesuffix(".partial").removesuffix(".unused")


def finished_stems(folder: Path) -> list[str]:
    """Return the stems of all cassettes, without the files that may be beside them."""
    return [stem_of(folder, path) for path in cassette_files(folder) if is_cassette(path)]


def model_folder_of(stem: str) -> str:
    """Return the agent and the model of a stem: `reflective/claude`."""
    return "/".join(stem.split("/")[:-2])


def case_of(stem: str) -> str:
    """Return the task and the sample of a stem, or of an item's id: `click-menu-2/1000`."""
    return "/".join(stem.split("/")[-2:])
