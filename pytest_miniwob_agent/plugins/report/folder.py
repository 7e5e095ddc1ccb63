"""The report's folder: static pages that open from disk, and the data and pictures they show.

    index.html, report.css, scripts/   the same in every report
    data/index.js                      the overview of all items
    data/items/<case>.js               one item, loaded when its page is opened
    pictures/<digest>.png              pictures of pages, and those that were sent to a model

A page that is opened from disk can load scripts but not read other files, so each data file is a
script that passes one JSON value to a function of scripts/pages.js. Equal outcomes give equal
bytes: the report contains no times, paths or host names.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import shutil
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Annotated, Any

from pytest_miniwob_agent.core.data import canonical_json, from_data, to_data
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.events import (
    Acted,
    Called,
    Event,
    Reflected,
    Remark,
    TrialEnded,
    TrialStarted,
)
from pytest_miniwob_agent.core.files import followed, write_atomically
from pytest_miniwob_agent.core.grades import Grade
from pytest_miniwob_agent.core.observations import Observation
from pytest_miniwob_agent.core.outcome import Outcome, Status
from pytest_miniwob_agent.results.file import Shard, check_shards, read_shard
from pytest_miniwob_agent.results.gate import Verdict
from pytest_miniwob_agent.screen import render

WAITS = "It waits for a completion."
"""The reason for which an item of a deferred recording has no result yet."""

# Stands for a picture in the text of a prompt.
_SENT = re.compile(r"\[picture pictures/([0-9a-f]{16}\.png)\]")


@dataclass
class _Index:
    """What `data/index.js` has; of a run that was stopped, `items` and `unfinished` alone."""

    items: list[Annotated[dict[str, Any], lambda row: isinstance(row.get("id"), str)]]
    setup: Annotated[tuple[str, ...], lambda names: len(names) == 2] = ("", "")
    judged: bool = False
    broken: bool = False
    gate: Any = None
    shard: Any = None
    unfinished: bool = False

    @property
    def head(self) -> dict[str, Any]:
        return {"shard": self.shard} if self.shard is not None else {}


def unique_ids(cases: Iterable[str]) -> list[str]:
    """Return the ids in the report of the items of some cases; repeated ones get a number."""
    seen: Counter[str] = Counter()
    ids = []
    for case in cases:
        seen[case] += 1
        ids.append(case if seen[case] == 1 else f"{case}~{seen[case]}")
    return ids


def parse_case(id_: str) -> str:
    return re.sub(r"~\d+$", "", id_)


def _cause(outcome: Outcome) -> str:
    """Why an item has no result, in words that all items with this cause share."""
    if outcome.status.conclusive:
        return ""
    if outcome.status is Status.WAITING:
        return WAITS
    if outcome.drift is not None:
        from pytest_miniwob_agent.cassettes.drift import heading

        return heading(outcome.drift.causes)
    return outcome.message_of_cause


def gate_data(verdict: Verdict) -> dict[str, Any]:
    """Return a gate and its decision, and as lines its reasons, remarks and warnings."""
    reasons = ["; ".join(filter(None, (r.text, r.hint))) for r in verdict.reasons]
    warnings = [f"warning: {text}" for text in verdict.both.warnings]
    lines = [*reasons, *verdict.notes, *warnings]
    return {"name": str(verdict.gate), "decision": verdict.decision, "lines": lines}


def overview_row(id_: str, outcome: Outcome) -> dict[str, Any]:
    result, events = outcome.result, outcome.history
    completions = [event.completion for event in events if isinstance(event, Called)]
    trials = [event for event in events if isinstance(event, TrialStarted)]
    endings = [event.ending for event in events if isinstance(event, TrialEnded)]
    counts = [c for call in completions for c in (call.prompt_tokens, call.completion_tokens)]
    known = [count for count in counts if count is not None]
    return {
        "id": id_,
        "category": result.group,
        "task": result.task,
        "status": outcome.status,
        "change": outcome.change or "",
        "before": to_data(outcome.earlier),
        "cause": _cause(outcome),
        "solvedAt": result.solved_at,
        "trials": len(trials),
        "allowed": result.limits.trials if result.conclusive and result.limits else None,
        "steps": sum(isinstance(event, Acted) for event in events),
        "calls": len(completions),
        "tokens": sum(known) if known and len(known) == len(counts) else None,
        "ending": endings[-1] if endings else "",
        "goal": trials[0].observation.goal if trials else "",
    }


def item_page(outcome: Outcome) -> dict[str, Any]:
    """Return the data of an item's page that the overview does not need."""
    result = outcome.result
    prompts = (f"{name} {digest}" for name, digest in sorted(result.prompts.items()))
    waits = WAITS if outcome.status is Status.WAITING else ""
    return {
        "about": [
            ["agent", result.agent],
            ["model", result.model],
            ["answered by", ", ".join(outcome.answered_by)],
            ["parameters", canonical_json(result.params)],
            ["cassette", f"{outcome.cassette}.yaml" if outcome.cassette else ""],
            ["prompts", ", ".join(prompts)],
        ],
        "grades": [_grade_row(grade) for grade in result.grades],
        "reward": outcome.episode.reward if outcome.episode is not None else None,
        "reason": outcome.message or "; ".join(result.objections) or waits,
        "note": outcome.pictures_note,
        **_Frames(outcome).data(),
    }


def _grade_row(grade: Grade) -> dict[str, Any]:
    partial = f"{grade.score:g}" if grade.score else "failed"
    judge = f"judged by {grade.judge}" if grade.judge else ""
    return {
        "grader": grade.grader,
        "status": "solved" if grade.passed else "unsolved",
        "verdict": "passed" if grade.passed else partial,
        "said": [each for each in (grade.reason, judge) if each],
    }


class _Frames:
    """The frames of an item's film: each has the model calls before an action, and its result.

    The last frame of a trial has its ending and the reflection on it in place of an action. Screens
    are stored once each and referred to by number, as many actions leave the screen unchanged.
    """

    def __init__(self, outcome: Outcome) -> None:
        self._pictures = {(picture.trial, picture.step): picture for picture in outcome.pictures}
        self._frames: list[dict[str, Any]] = []
        self._screens: dict[str, int] = {}
        self._trial = 0
        self._step = 0
        self._observation: Observation | None = None
        self._before: Called | None = None
        for event in outcome.history:
            self._add(event)

    def data(self) -> dict[str, Any]:
        return {"frames": self._frames, "screens": list(self._screens)}

    def _current_frame(self) -> dict[str, Any]:
        place = self._trial, self._step
        if not self._frames or (self._frames[-1]["trial"], self._frames[-1]["step"]) != place:
            frame: dict[str, Any] = {"trial": place[0], "step": place[1], "calls": [], "other": []}
            if self._observation is not None:
                screen = render(self._observation.elements)
                frame["screen"] = self._screens.setdefault(screen, len(self._screens))
            if (picture := self._pictures.get(place)) is not None:
                data = to_data(picture)
                frame["picture"] = {key: data[key] for key in ("name", "size", "points", "boxes")}
            self._frames.append(frame)
        return self._frames[-1]

    def _add(self, event: Event) -> None:
        match event:
            case TrialStarted(trial=trial, observation=observation):
                self._trial, self._step, self._observation = trial, 0, observation
                self._current_frame()
            case Called():
                self._current_frame()["calls"].append(self._call(event))
            case Acted():
                self._add_action(event)
            case TrialEnded(ending=ending, detail=detail):
                self._current_frame()["end"] = {"ending": ending, "detail": detail}
            case Reflected():
                data = to_data(event)
                names = ("step", "action", "disabled")
                self._current_frame()["reflection"] = {name: data[name] for name in names}
            case Remark():
                self._current_frame()["other"].append(to_data(event))

    def _call(self, call: Called) -> dict[str, Any]:
        """Return a call; one of a conversation with the messages that are new in it."""
        completion = call.completion
        data: dict[str, Any] = {"purpose": call.purpose, "completion": to_data(completion)}
        if (sections := completion.sections) not in ([], [("text", completion.text)]):
            data["sections"] = sections
        if not call.messages:
            return {**data, "prompt": call.prompt}
        new = call.new_since(self._before)
        data["messages"] = [{"role": message.role, "text": str(message)} for message in new]
        data["earlier"] = len(call.messages) - len(new)
        if call.tools != (self._before.tools if self._before else ()):
            data["tools"] = list(call.tools)
        self._before = call
        return data

    def _add_action(self, acted: Acted) -> None:
        action, transition = acted.action, acted.transition
        elements = self._observation.elements if self._observation else ()
        target = next((e for e in elements if e.id == getattr(action, "element", None)), None)
        strings = (target.text, target.placeholder, target.value) if target else ()
        self._current_frame()["action"] = {
            "text": str(action),
            "typed": getattr(action, "text", None) or "",
            # Text that a mark on the element would cover.
            "labelled": any(one and isinstance(one, str) for one in strings),
            "error": transition.error,
            "done": transition.done,
            "reward": transition.reward,
            "changed": self._observation != transition.observation,
        }
        self._step = acted.step + 1
        self._observation = None if transition.done else transition.observation
        self._current_frame()


class SentPictures:
    """Pictures that were sent to a model, or compared, and have a file; `shown` by name."""

    def __init__(self, folders: Sequence[Path]) -> None:
        paths = [path for folder in reversed(folders) for path in folder.glob("*.png")]
        self._files = {path.name: path for path in paths}
        self.shown: dict[str, Path] = {}

    def of(self, outcome: Outcome) -> dict[str, Any]:
        """Return the pictures of an item's calls, and what changed in those of a drifted one."""
        prompts = (event.prompt for event in outcome.history if isinstance(event, Called))
        changed = outcome.drift.pictures if outcome.drift is not None else ()
        return {
            "sent": self._show(name for prompt in prompts for name in _SENT.findall(prompt)),
            "changed": [
                {"what": f"picture {change.number}: {change.what}"}
                | {
                    kind: name
                    for kind in ("recorded", "present", "difference")
                    for name in self._show([PurePath(getattr(change, kind) or "").name])
                }
                for change in changed
            ],
        }

    def _show(self, names: Iterable[str]) -> list[str]:
        found = [name for name in dict.fromkeys(names) if name in self._files]
        self.shown |= {name: self._files[name] for name in found}
        return found


_GENERATOR = '<meta name="generator" content="pytest-miniwob-agent">'  # in every index.html


class Report:
    """A report's folder, which need not exist yet; `option` names the folder in messages."""

    def __init__(self, folder: Path, option: str = "--miniwob-report") -> None:
        self.folder = folder
        self.index = folder / "index.html"
        self._option = option

    def check(self) -> None:
        """Raise a `UsageError` if the folder contains something else, or can't be read."""
        with self._as_usage_error():
            followed(self.folder)
            if self.folder.exists() and not self.folder.is_dir():
                raise UsageError(f"{self._option}: {self.folder} is a file; name a folder")
            if self.index.is_file() and _GENERATOR in self.index.read_text("utf-8", "replace"):
                return
            if self.folder.is_dir() and any(self.folder.iterdir()):
                raise UsageError(
                    f"{self._option}: {self.folder} contains files that are not a report's; name "
                    "an empty folder, or one that does not exist"
                )

    @contextlib.contextmanager
    def _as_usage_error(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            reason = error.strerror or error
            raise UsageError(
                f"{self._option}: {self.folder} can't be written: {reason}; name another folder"
            ) from None

    def prepare(self) -> None:
        """Create the folder before the first picture is added; an earlier report stays as it is."""
        with self._as_usage_error():
            if not self.index.exists():
                self._write_pages()
                self._write_data("data/index.js", "index", {"items": [], "unfinished": True})

    def add_picture(self, png: bytes) -> str:
        """Store a picture and return its name; every process of a run may call this."""
        name = hashlib.sha256(png).hexdigest()[:16] + ".png"
        if not self.picture(name).exists():
            write_atomically(self.picture(name), png)
        return name

    def picture(self, name: str) -> Path:
        return self.folder / "pictures" / name

    def write(
        self,
        outcomes: Iterable[Outcome],
        *,
        judged: bool,
        verdict: Verdict | None = None,
        broken: bool = False,
        shard: Shard | None = None,
        sent: Sequence[Path] = (),
    ) -> None:
        """Write the report, replacing an earlier one.

        `judged` outcomes were compared with a baseline. Of a `broken` run, which was interrupted,
        items may be missing. `sent` are the folders of pictures that were sent to a model.

        Raises:
            UsageError: the folder can't be written.
        """
        ordered = sorted(outcomes, key=lambda outcome: (outcome.result.case, outcome.result.test))
        results = [outcome.result for outcome in ordered]
        ids = unique_ids(result.case for result in results)
        rows = [overview_row(*pair) for pair in zip(ids, ordered, strict=True)]
        names = zip(*((result.agent, result.model) for result in results), strict=True)
        index = {
            "setup": [", ".join(sorted(set(side))) for side in names] or ["", ""],
            "judged": judged,
            "gate": verdict and gate_data(verdict),
            "broken": broken,
            "items": rows,
        }
        if shard is not None:
            index["shard"] = to_data(shard)
        pictures = SentPictures([*sent, self.folder / "pictures"])
        pages = (
            row | item_page(outcome) | pictures.of(outcome)
            for row, outcome in zip(rows, ordered, strict=True)
        )
        taken = {picture.name for outcome in ordered for picture in outcome.pictures}
        self._replace(index, pages, taken, pictures.shown)

    def merge(self, folders: Sequence[Path]) -> int:
        """Write the report of all shards, as one run of all items would; return how many those are.

        `folders` hold the report of each shard, in any order.

        Raises:
            UsageError: they are not the reports of the shards of one suite, all of them, each once;
                or one can't be read, or this one can't be written.
        """
        if self.folder.resolve() in [folder.resolve() for folder in folders]:
            raise UsageError(
                f"{self.folder} is one of the reports that are to be merged: name another folder"
            )
        self.check()
        indexes = [_read_data(folder / "data/index.js", "index", _Index) for folder in folders]
        for folder, index in zip(folders, indexes, strict=True):
            if index.unfinished:
                raise UsageError(
                    f"{folder} is unfinished, as its run was stopped: run the shard again"
                )
            for row in index.items:
                if not {"", ".", ".."}.isdisjoint(row["id"].split("/")):
                    raise UsageError(
                        f"{folder} has an item with the id {row['id']!r}: write it again"
                    )
        sources = list(zip(map(str, folders), indexes, strict=True))
        check_shards([(source, read_shard(index.head, source)) for source, index in sources])
        items = [
            (parse_case(row["id"]), canonical_json(row), folder, row)
            for folder, index in zip(folders, indexes, strict=True)
            for row in index.items
        ]
        items.sort(key=lambda item: item[:2])
        ids = unique_ids(case for case, *_ in items)
        rows = [row | {"id": id_} for id_, (*_, row) in zip(ids, items, strict=True)]
        setups = zip(*(index.setup for index in indexes), strict=True)
        names = [set(", ".join(side).split(", ")) - {""} for side in setups]
        index = {
            "setup": [", ".join(sorted(side)) for side in names],
            "judged": any(index.judged for index in indexes),
            "gate": None,  # `compare` judges the results of all shards
            "broken": any(index.broken for index in indexes),
            "items": rows,
        }
        pages = (
            _read_data(folder / f"data/items/{old['id']}.js", "item", dict[str, Any]) | row
            for row, (_, _, folder, old) in zip(rows, items, strict=True)
        )
        pictures = {path.name: path for folder in folders for path in folder.glob("pictures/*.png")}
        self._replace(index, pages, (), pictures)
        return len(items)

    def _replace(
        self,
        index: Mapping[str, Any],
        pages: Iterable[Mapping[str, Any]],
        taken: Collection[str],
        more: Mapping[str, Path],
    ) -> None:
        """Write the overview and the items' pages in place of those of an earlier report.

        Of the pictures in the folder those that were `taken` stay; `more` are copied there.
        """
        with self._as_usage_error():
            shutil.rmtree(self.folder / "data", ignore_errors=True)
            self._write_pages()
            for page in pages:
                self._write_data(f"data/items/{page['id']}.js", "item", page)
            self._write_data("data/index.js", "index", index)
            for path in self.folder.glob("pictures/*.png"):
                if path.name not in taken and path.name not in more:
                    path.unlink()
            for name, path in more.items():
                write_atomically(self.picture(name), path.read_bytes())

    def _write_pages(self) -> None:
        source = Path(__file__).parent
        for path in (source / "index.html", source / "report.css", *source.glob("scripts/*.js")):
            write_atomically(self.folder / path.relative_to(source), path.read_text("utf-8"))

    def _write_data(self, name: str, function: str, value: Any) -> None:
        # ASCII without `<`, so that no string in it can end the script
        text = json.dumps(value, sort_keys=True, separators=(",", ":")).replace("<", "\\u003c")
        write_atomically(self.folder / name, f"miniwobReport.{function}({text});\n")


def _read_data(path: Path, function: str, kind: Any) -> Any:
    """Return the value of a data file.

    Raises:
        UsageError: there is no such file, or it is not one of that kind.
    """
    try:
        text = path.read_text("ascii")
        data = json.loads(text.removeprefix(f"miniwobReport.{function}(").removesuffix(");\n"))
        return from_data(kind, data)
    except FileNotFoundError:
        raise UsageError(
            f"there is no {path}: name the folder of a report, as --miniwob-report writes it"
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path} can't be read: {error}") from None
