"""Prompts, one file each: from the user's folder, else from the agent's.

A file is a `string.Template`: `$goal` or `${goal}` stands for a value, `$$` for a dollar sign.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from string import Template
from typing import Any

from pytest_miniwob_agent.core.data import digest
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.observations import data_url
from pytest_miniwob_agent.core.text import nearest


class Prompt(str):
    """A string with the digests of its prompt files, by name, and its pictures (PNG).

    It calls the pictures `[picture 1]` and so on.
    """

    __slots__ = ("files", "pictures")
    files: dict[str, str]
    pictures: tuple[bytes, ...]

    def __new__(
        cls, text: str = "", parts: Iterable[str] = (), pictures: tuple[bytes, ...] = ()
    ) -> Prompt:
        """Make a prompt with the files and pictures of its parts, those that are prompts."""
        prompt = super().__new__(cls, text)
        prompt.files, prompt.pictures = {}, pictures
        for part in parts:
            if isinstance(part, Prompt):
                prompt.files |= part.files
                prompt.pictures = tuple(dict.fromkeys(prompt.pictures + part.pictures))
        return prompt

    @classmethod
    def joined(cls, parts: Iterable[str]) -> Prompt:
        """Join parts with an empty line between them."""
        parts = list(parts)
        return cls("\n\n".join(parts), parts)

    @property
    def content(self) -> str | list[dict[str, Any]]:
        """The content of a message, in the Chat Completions form: the pictures, then the text."""
        parts: list[dict[str, Any]] = []
        for number, png in enumerate(self.pictures, start=1):
            parts.append({"type": "text", "text": f"[picture {number}]"})
            parts.append({"type": "image_url", "image_url": {"url": data_url(png)}})
        return [*parts, {"type": "text", "text": self}] if parts else self


class Prompts:
    """The prompts of one agent.

    Args:
        built_in_folder: the folder of the agent's prompts (`*.txt`).
        users_folder: the user's prompts; each file replaces the agent's of the same name.

    Raises:
        UsageError: the user's folder does not exist, or a file in it has the name of no prompt or
            not the values of the agent's.
    """

    def __init__(self, built_in_folder: Path, users_folder: str | Path | None = None) -> None:
        self._files = {path.stem: path for path in built_in_folder.glob("*.txt")}
        if users_folder is None:
            return
        if not Path(users_folder).is_dir():
            raise UsageError(f"--miniwob-prompts: {users_folder} is not a folder")
        known = sorted(f"{name}.txt" for name in self._files)
        for path in sorted(Path(users_folder).glob("*.txt")):
            if path.name not in known:
                hint = nearest(path.name, known)
                raise UsageError(
                    f"--miniwob-prompts: {path}: the agent has no such prompt{hint}; it has "
                    f"{', '.join(known)}"
                )
            replaced = _read(self._files[path.stem])
            _check(path, _read(path), replaced.get_identifiers())
            self._files[path.stem] = path

    def fill(self, name: str, /, **values: str) -> Prompt:
        """Fill in the values of a prompt, each a string or a `Prompt`.

        Raises:
            UsageError: the file names an unknown value, or lacks one.
        """
        path = self._files[name]
        template = _read(path)
        _check(path, template, values)
        prompt = Prompt(template.substitute(values), values.values())
        prompt.files = {f"{name}.txt": digest(template.template), **prompt.files}
        return prompt


def _read(path: Path) -> Template:
    return Template(path.read_text(encoding="utf-8").strip())


def _check(path: Path, template: Template, values: Iterable[str]) -> None:
    if not template.is_valid():
        raise UsageError(f"{path}: a $ without a name; write $$ for a dollar sign")
    names, known = set(template.get_identifiers()), {*values}
    if names == known:
        return
    if unknown := names - known:
        problem = f"has no value {_placeholders(unknown)}"
    else:
        problem = f"must contain {_placeholders(known - names)}"
    raise UsageError(
        f"{path}: this prompt {problem}; its values are {_placeholders(known) or 'none'}"
    )


def _placeholders(names: Iterable[str]) -> str:
    return ", ".join(f"${name}" for name in sorted(names))
