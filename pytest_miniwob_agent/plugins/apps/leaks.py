"""Secrets in an app's traffic: found before any of it is stored, and told all at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pytest_miniwob_agent.cassettes.traffic import body_digest
from pytest_miniwob_agent.core.app import AppTask
from pytest_miniwob_agent.core.errors import CassetteError
from pytest_miniwob_agent.core.files import display_path
from pytest_miniwob_agent.core.secrets import REDACTED, Secret, find
from pytest_miniwob_agent.core.text import first_items

Searched = dict[tuple[str, ...], list[Secret]]
"""What was found in bodies, by their digests, their charset, and what a task redacts."""

SHOWN = 20
"""Secrets that an error names."""


class Leak(NamedTuple):
    """A secret and its place; `replaced` is True if `AppTask(redact=[...])` has an effect there."""

    place: str
    secret: Secret
    replaced: bool

    def __str__(self) -> str:
        secret = self.secret
        place = self.place.replace(secret.text, "\u2026") if secret.text else self.place
        lines = f", line {secret.line}" if "\n" in secret.whole else ""
        encoding = f", {secret.encoding}" if secret.encoding else ""
        return f"{place}{lines}{encoding}: {secret.kind}: {secret.excerpt}"


class Leaks:
    """The secrets in the traffic of an item.

    Args:
        task: the item's task, which says what else is secret, and what is not.
        path: the file of the traffic.
        searched: what was found in bodies so far, also in those of other items.
    """

    def __init__(self, task: AppTask, path: Path, searched: Searched) -> None:
        self._task, self._path, self._searched = task, path, searched
        self._found: dict[tuple[str, str], Leak] = {}

    def search(self, place: object, data: Any, charset: str = "utf-8", *, replaced: bool) -> bool:
        """Search data that is to be stored; return True if it may be."""
        redact = tuple(self._task.redact)
        if isinstance(data, bytes):  # bodies come again and again
            key = (body_digest(data), charset, *redact)
            if key not in self._searched:
                self._searched[key] = find(data, charset, redact=redact)
            secrets = self._searched[key]
        else:
            secrets = find(data, redact=redact)
        secrets = [secret for secret in secrets if not secret.is_allowed(self._task.allow)]
        for secret in secrets:
            here = replaced and not secret.encoding and secret.kind != REDACTED
            leak = Leak(str(place), secret, here and bool(secret.text))
            self._found.setdefault((secret.kind, secret.text), leak)
        return not secrets

    def check(self) -> None:
        """Raise a `CassetteError` that names all that was found, with what to do about it."""
        leaks = list(self._found.values())
        if not leaks:
            return
        lines = [
            f"{display_path(self._path)} is not written, as the traffic holds what looks like "
            "secrets:",
            *first_items(list(map(str, leaks)), SHOWN),
        ]
        hidden = [leak.secret for leak in leaks if leak.replaced]
        if hidden:
            lines.append(
                f"AppTask(redact=[{_patterns(hidden)}]) keeps them from page and recording"
            )
        if len(hidden) < len(leaks):
            which = "the others" if hidden else "them"
            lines.append(
                f"`redact` can't replace {which} where they are: let the app leave them out"
            )
        if named := [secret for _, secret, _ in leaks if secret.text and secret.kind != REDACTED]:
            lines.append(f"what is no secret belongs in AppTask(allow=[{_patterns(named)}])")
        raise CassetteError("\n  ".join(lines))


def _patterns(secrets: Sequence[Secret]) -> str:
    patterns = dict.fromkeys(secret.pattern.replace('"', r"\x22") for secret in secrets)
    return ", ".join(f'r"{pattern}"' for pattern in patterns)
