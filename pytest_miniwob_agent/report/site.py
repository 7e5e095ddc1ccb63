"""The report: a folder of static pages that open from disk, made of the outcomes of a run.

    index.html, report.js, report.css   the same in every report
    data/index.js                       what the overview needs of all items
    data/items/<case>.js                one item, loaded when it is opened
    pictures/<digest>.png               pages as they looked, each picture once

A page that is opened from disk may read no files but scripts, so the data are calls of functions
of report.js with one JSON value. Equal outcomes give equal bytes: there is no time, no path and no
host in it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from pytest_miniwob_agent.core.actions import Action
from pytest_miniwob_agent.core.data import canonical_json
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.files import write_atomically
from pytest_miniwob_agent.core.observations import Element
from pytest_miniwob_agent.results.file import outcome_of
from pytest_miniwob_agent.screen import render

Outcome = Mapping[str, Any]

PAGES = ("index.html", "report.css", "report.js")

_OURS = '<meta name="generator" content="pytest-miniwob-agent">'
"""Tells a report by its index.html."""

_PICTURE = re.compile(r"[0-9a-f]{16}\.png")


class Report:
    """A folder with a report in it, or one to be."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.index = folder / "index.html"

    def check(self) -> None:
        """Whether a report may be written there.

        Raises:
            UsageError: the folder holds something else, or can't be read.
        """
        folder = self.folder
        with self._told():
            if folder.exists() and not folder.is_dir():
                raise UsageError(f"--miniwob-report: {folder} is a file; name a folder")
            if folder.is_dir() and any(folder.iterdir()) and not self._is_ours():
                raise UsageError(
                    f"--miniwob-report: {folder} holds something else than a report, which would "
                    "be mixed with it; name another folder or an empty one"
                )

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """Tell of a folder that can't be used as of a mistake in the option that names it."""
        try:
            yield
        except OSError as error:
            why = error.strerror or error
            raise UsageError(
                f"--miniwob-report: {self.folder} can't be written: {why}; name another folder"
            ) from None

    def _is_ours(self) -> bool:
        return self.index.is_file() and _OURS in self.index.read_text("utf-8", "replace")

    def prepare(self) -> None:
        """Make the folder known as a report's before pictures come in; an older one stays.

        Raises:
            UsageError: it can't be written.
        """
        with self._told():
            if not self.index.exists():
                self._write_pages()
                self._write("data/index.js", "index", {"items": [], "unfinished": True})

    def add_picture(self, png: bytes) -> str:
        """Store a picture and return its name; called by all processes of a run.

        Raises:
            OSError: it can't be written.
        """
        name = hashlib.sha256(png).hexdigest()[:16] + ".png"
        path = self.picture(name)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            beside = path.with_name(f".{name}.{os.getpid()}")
            beside.write_bytes(png)
            beside.replace(path)
        return name

    def picture(self, name: str) -> Path:
        """Where a picture is."""
        return self.folder / "pictures" / name

    def write(self, outcomes: Iterable[Outcome], *, judged: bool, broken: bool = False) -> None:
        """Write the report, in place of what there was before.

        Args:
            outcomes: those of the items that ran, in any order.
            judged: whether there was a baseline.
            broken: whether the run was broken off, so that items may be missing.

        Raises:
            UsageError: it can't be written.
        """
        ordered = sorted(outcomes, key=lambda one: (one["case"], canonical_json(one)))
        with self._told():
            self._replace(ordered, judged, broken)

    def _replace(self, outcomes: Sequence[Outcome], judged: bool, broken: bool) -> None:
        self._write_pages()
        names = set()
        rows = []
        for id_, outcome in _named(outcomes):
            row = _row(id_, outcome)
            rows.append(row)
            name = f"data/items/{id_}.js"
            names.add(self._write(name, "item", row | _item(outcome)))
        self._write(
            "data/index.js",
            "index",
            {"setup": _setup(outcomes), "judged": judged, "broken": broken, "items": rows},
        )
        kept = {
            picture["name"]
            for outcome in outcomes
            for picture in outcome.get("trace", {}).get("pictures", ())
        }
        self._clean(names, kept)

    def _write_pages(self) -> None:
        for name in PAGES:
            text = Path(__file__).with_name(name).read_text("utf-8")
            write_atomically(self.folder / name, text)

    def _write(self, name: str, function: str, data: Any) -> Path:
        path = self.folder / name
        write_atomically(path, script(function, data))
        return path

    def _clean(self, items: Collection[Path], pictures: Collection[str]) -> None:
        """Delete what an earlier run wrote, and nothing else."""
        for path in list((self.folder / "data" / "items").rglob("*.js")):
            if path not in items and path.read_bytes().startswith(_call("item").encode()):
                path.unlink()
                for folder in list(path.parents)[:2]:
                    with contextlib.suppress(OSError):  # there is more in it
                        folder.rmdir()
        for path in (self.folder / "pictures").glob("*.png"):
            if path.name not in pictures and _PICTURE.fullmatch(path.name):
                path.unlink()


def _call(function: str) -> str:
    return f"miniwobReport.{function}("


def script(function: str, data: Any) -> str:
    """A script that hands data to a function of report.js; no text in it can end the script."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))  # ASCII alone
    return _call(function) + text.replace("<", "\\u003c") + ");\n"


def _named(outcomes: Iterable[Outcome]) -> Iterator[tuple[str, Outcome]]:
    """Outcomes by what they are called in the report; a second one of a case gets a number."""
    seen: Counter[str] = Counter()
    for outcome in outcomes:
        case = outcome["case"]
        seen[case] += 1
        yield case if seen[case] == 1 else f"{case}~{seen[case]}", outcome


def _setup(outcomes: Sequence[Outcome]) -> list[str]:
    """With which agents and models the items ran."""
    return [
        ", ".join(sorted({outcome["item"][name] for outcome in outcomes}))
        for name in ("agent", "model")
    ]


def _status(outcome: Outcome) -> str:
    """The outcome as the report's filters have it; what waits for a budget waits."""
    word = outcome_of(outcome)
    return {"unsolved": "failed", "budget": "waiting"}.get(word, word)


def _events(outcome: Outcome) -> Sequence[Mapping[str, Any]]:
    """What happened, also in an item that came to no end."""
    source = outcome.get("episode") or outcome.get("trace") or {}
    events: Sequence[Mapping[str, Any]] = source.get("events", ())
    return events


def _row(id_: str, outcome: Outcome) -> dict[str, Any]:
    """An item as the overview lists it."""
    events = _events(outcome)
    calls = [event for event in events if event["kind"] == "call"]
    trials = [event for event in events if event["kind"] == "trial"]
    endings = [event["ending"] for event in events if event["kind"] == "end"]
    counts = [
        call["completion"][name]
        for call in calls
        for name in ("prompt_tokens", "completion_tokens")
    ]
    category, task, sample = id_.split("/")
    return {
        "id": id_,
        "category": category,
        "task": task,
        "seed": sample,
        "status": _status(outcome),
        "change": outcome.get("change", ""),
        "solvedAt": outcome.get("episode", {}).get("solved_at"),
        "trials": len(trials),
        "allowed": outcome.get("trials"),
        "steps": sum(event["kind"] == "act" for event in events),
        "calls": len(calls),
        "tokens": None if None in counts or not counts else sum(counts),
        "ending": endings[-1] if endings else "",
        "goal": trials[0]["observation"]["goal"] if trials else "",
    }


def _item(outcome: Outcome) -> dict[str, Any]:
    """What the item's page shows beyond the overview's line."""
    item, trace = outcome["item"], outcome.get("trace", {})
    return {
        "about": [
            ["agent", item["agent"]],
            ["model", item["model"]],
            ["parameters", canonical_json(item["params"])],
            ["cassette", f"{outcome['cassette']}.yaml" if "cassette" in outcome else ""],
            [
                "prompts",
                ", ".join(f"{name} {id_}" for name, id_ in sorted(item["prompts"].items())),
            ],
        ],
        "reward": outcome.get("episode", {}).get("reward"),
        "reason": _reason(outcome),
        "note": trace.get("note", ""),
        **_frames(_events(outcome), trace.get("pictures", ())),
    }


def _reason(outcome: Outcome) -> str:
    """Why there is no episode."""
    waits = "It waits for a completion." if "pending" in outcome else ""
    return str(outcome.get("message") or outcome.get("budget") or waits)


def _frames(
    events: Iterable[Mapping[str, Any]], pictures: Iterable[Mapping[str, Any]]
) -> dict[str, Any]:
    """The trials as frames of a film: what led to an action, and the action with its result.

    A trial's last frame has no action, but how it ended and what was learnt from it. Screens, which
    often stay as they were, are told once.
    """
    frames: list[dict[str, Any]] = []
    screens: dict[str, int] = {}
    shots = {(one["trial"], one["step"]): one for one in pictures}
    trial, step, seen = 0, 0, None

    def frame() -> dict[str, Any]:
        """The frame that is being filled."""
        if not frames or (frames[-1]["trial"], frames[-1]["step"]) != (trial, step):
            new: dict[str, Any] = {"trial": trial, "step": step, "calls": [], "other": []}
            if seen is not None:
                new["screen"] = screens.setdefault(_screen(seen), len(screens))
            if shot := shots.get((trial, step)):
                new["picture"] = {key: shot[key] for key in ("name", "size", "points", "boxes")}
            frames.append(new)
        return frames[-1]

    for event in events:
        match event["kind"]:
            case "trial":
                trial, step, seen = event["trial"], 0, event["observation"]
                frame()
            case "call":
                frame()["calls"].append(
                    {key: event[key] for key in ("purpose", "prompt", "completion")}
                )
            case "act":
                after = event["transition"]
                frame()["action"] = {
                    "text": action_text(event["action"]),
                    "typed": event["action"].get("text", ""),
                    "error": after["error"],
                    "done": after["done"],
                    "reward": after["reward"],
                    "changed": seen != after["observation"],
                }
                step, seen = event["step"] + 1, after["observation"]
                if after["done"]:
                    seen = None
                frame()
            case "end":
                frame()["end"] = {"ending": event["ending"], "detail": event["detail"]}
            case "reflect":
                frame()["reflection"] = {key: event[key] for key in ("step", "action", "disabled")}
            case _:  # of a later version, or of an agent of one's own
                frame()["other"].append(event)
    return {"frames": frames, "screens": list(screens)}


def _screen(observation: Mapping[str, Any]) -> str:
    return render(Element(**one) for one in observation["elements"])


def action_text(data: Mapping[str, Any]) -> str:
    """An action as an agent writes it."""
    fields = {key: value for key, value in data.items() if key != "kind"}
    for kind in get_args(Action):
        if kind.__name__.lower() == data["kind"]:
            return str(kind(**fields))
    return f"{data['kind']} {canonical_json(fields)}"
