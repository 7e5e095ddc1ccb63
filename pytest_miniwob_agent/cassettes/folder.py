"""The cassette folder: the names of cassettes, and which of them items use.

A cassette is `<agent>/<model>/<task>/<sample>.yaml`. Its path without the ending is its stem; the
first two parts are its model folder, the last two its case. Beside it there may be the file of an
unfinished recording and the traffic of an app, and below `.miniwob/unused` the file of unused
calls, see `files` and `traffic`.

Agents, models and tasks have names of their own in a path, on every file system. A plain name
(lower-case ASCII letters, digits, `_`, `.` and `-`) is kept as it is. Any other becomes lower-case
and gets a digest of the original after a `~`, which no plain name holds: `vendor/x:free` is
`vendor_x_free~4dc9217baf56`. That of a perturbed task has the perturbation there: `shop~overlay`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.files import display_path
from pytest_miniwob_agent.core.text import nearest
from pytest_miniwob_agent.models.api import FOLDER

PARTIAL, UNUSED = ".partial.yaml", ".unused.yaml"
"""The endings of the files of an unfinished recording and of unused calls."""

TRAFFIC = ".traffic.jsonl"
"""The ending of the file of an item's traffic."""

BODIES = "bodies"
"""The folder of the bodies of answers, below the cassette folder."""

ASIDE = "unused"
"""The folder of unused calls in the project's folder `.miniwob`."""

PENDING = Path(".miniwob/pending.jsonl")
"""The batch file of deferred recording, below the project's folder."""

# Names of up to 120 characters; Windows drops a dot at the end of a name.
_PLAIN = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]{0,118}[a-z0-9_-])?")


def model_folder(agent: str, model: str) -> str:
    """Return the folder of the cassettes of an agent and a model, below the cassette folder."""
    return f"{_safe_name(agent)}/{_safe_name(model)}"


def stem(folder: str, case: Case) -> str:
    """Return the path of a case's cassette in a model folder, without its ending."""
    return f"{folder}/{case_name(case)}"


def case_name(case: Case) -> str:
    """Return the task and the sample of a case, as `parse_case` returns them of its stem."""
    return f"{_task_folder(case.task)}/{case.sample}"


def _task_folder(task: str) -> str:
    return "~".join(map(_safe_name, task.split("~")))


def _safe_name(name: str) -> str:
    if _PLAIN.fullmatch(name):
        return name
    readable = re.sub(r"[^a-z0-9_-]+", "_", name.lower())[:60]
    return f"{readable or '_'}~{hashlib.sha256(name.encode()).hexdigest()[:12]}"


def parse_model_folder(stem: str) -> str:
    """Return the agent and the model of a stem: `reflective/claude`."""
    return "/".join(stem.split("/")[:-2])


def find_family(agent: object) -> str:
    """Return the folder of the agent that this one is a variant of, or an empty string."""
    return _safe_name(name) if (name := getattr(agent, "variant_of", "")) else ""


def sharing_group(stem: str, family: str = "") -> str:
    """Return what the stems of items that share answers have in common.

    These are the variants of an agent, whose `family` is the folder of the agent that they name in
    `variant_of`, and a perturbed task (`shop~overlay`) and its clean twin. A second sample
    does not share.
    """
    agent, _, rest = stem.partition("/")
    model, _, case = rest.partition("/")
    task, _, sample = case.partition("/")
    if "-" in sample:
        return stem
    return f"{family or agent}/{model}/{task.partition('~')[0]}/{sample}"


def siblings(folder: Path, stem: str, family: str = "") -> list[str]:
    """Return the other recorded stems of a stem's group, those of its own agent first.

    A family is its agent (`reflective`) and those whose names continue it with a `-`
    (`reflective-plain-memory`). A recording that is under way counts.
    """
    group, own = sharing_group(stem, family), stem.partition("/")[0]
    agent, model, task, sample = group.split("/")
    patterns = [own, agent, f"{agent}-*"] if family else [own]
    files = chain(*(folder.glob(f"{of}/{model}/{task}*/{sample}*.yaml") for of in patterns))
    names = (file.relative_to(folder).as_posix() for file in files)
    stems = {name.removesuffix(PARTIAL).removesuffix(".yaml") for name in names} - {stem}
    found = (other.split("/") for other in stems if sharing_group(other, agent) == group)
    return ["/".join(parts) for parts in sorted(found, key=lambda each: (each[0] != own, each))]


def other_models(cassettes: Path, stem: str) -> list[str]:
    """Return the folders of the other models that the agent of a stem is recorded with."""
    own = cassettes / parse_model_folder(stem)
    return sorted(path.name for path in own.parent.glob("*/") if path.is_dir() and path != own)


def parse_case(stem: str) -> str:
    """Return the task and the sample of a stem, or of an item's id: `click-menu-2/1000`."""
    return "/".join(stem.split("/")[-2:])


@dataclass(frozen=True)
class Used:
    """The cassettes that the items of a pytest run use, by the agent and model of its options.

    `stems` are those of all items, and `deselected` those that only deselected items use. A test
    that overrides a fixture may use another agent, whose cassettes are in another folder. `unused`
    is the folder of unused calls. `open_cases` are those of tests that leave agent and model to the
    options, by `case_name`.
    """

    folder: Path
    stems: Collection[str]
    deselected: Collection[str] = ()
    unused: Path = Path(".miniwob", ASIDE)
    open_cases: Collection[str] = ()

    @property
    def files(self) -> list[CassetteFile]:
        """The cassettes of the folder, and all other files of their items."""
        return cassette_files(self.folder, self.unused)

    def lacks(self, stem: str) -> bool:
        """Return True if no item uses this cassette, but others of its agent and model.

        An open case may be run with any agent that another test names.
        """
        known = parse_model_folder(stem) in self.model_folders
        return known and stem not in self.stems and parse_case(stem) not in self.open_cases

    @cached_property
    def model_folders(self) -> set[str]:
        return {parse_model_folder(stem) for stem in self.stems}


class CassetteFile(NamedTuple):
    """A cassette, or another file of its item; `ending` is `.yaml` or one of those above."""

    path: Path
    stem: str
    ending: str


def cassette_files(*folders: Path) -> list[CassetteFile]:
    """Return the cassettes of folders, and the other files of their items, sorted.

    A user's own cassettes may be in the same folder, at another depth.
    """
    files = []
    for folder in folders:
        found = (folder.glob(f"*/*/*/[!.]*{end}") for end in (".yaml", TRAFFIC))
        for path in sorted(chain(*found)):
            name = path.relative_to(folder).as_posix()
            ending = next(end for end in (PARTIAL, UNUSED, TRAFFIC, ".yaml") if name.endswith(end))
            files.append(CassetteFile(path, name.removesuffix(ending), ending))
    return files


def finished_stems(folder: Path) -> list[str]:
    """Return the stems of what is recorded: calls, traffic or both."""
    files = cassette_files(folder)
    return sorted({file.stem for file in files if file.ending in (".yaml", TRAFFIC)})


def stray_files(folder: Path) -> list[Path]:
    """Return the temporary files of writes that were killed."""
    places = ("*/*/*/.*.yaml.*", f"*/*/*/.*{TRAFFIC}.*", f"{FOLDER}/.*.png.*", f"{BODIES}/.*.gz.*")
    return sorted(chain(*map(folder.glob, places)))


def find_cassette(folder: Path, case: str, used: Callable[[], Collection[str]]) -> Path:
    """Return the cassette of a case: an item's id, task and seed, a stem, or the file itself.

    If several agents or models have the case, the stems that `used` returns decide.

    Raises:
        UsageError: there is none, or several agents or models have one.
    """
    if (path := Path(case)).is_file():
        return path
    *setup, task, sample = ["", *case.split("/")]
    end = f"{_task_folder(task)}/{sample}"
    stems = finished_stems(folder)
    if len(setup) == 4:  # of an id that begins with agent and model
        stems = [stem for stem in stems if parse_model_folder(stem) == "/".join(setup[1:3])]
    found = [case] if case in stems else [stem for stem in stems if parse_case(stem) == end]
    if not found:
        recorded = sorted({parse_case(stem) for stem in stems})
        where = display_path(folder)
        raise UsageError(f"{where} has no cassette of {case}{nearest(end, recorded)}")
    if len(found) > 1:
        decided = set(used()).intersection(found)
        found = list(decided) if len(decided) == 1 else found
    if len(found) > 1:
        raise UsageError(f"{case} is recorded more than once; name one of {', '.join(found)}")
    return folder / f"{found[0]}.yaml"
