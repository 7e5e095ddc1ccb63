"""Prompt texts, one file a prompt: from the user's folder, else from the agent's.

A text is a `string.Template`: `$goal` or `${goal}` stands for a value, `$$` for a dollar sign.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any

from pytest_miniwob_agent.core.data import digest
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.observations import data_url
from pytest_miniwob_agent.core.text import nearest


class Prompt(str):
    """A text with the digests of the prompt files that it was made of, by their names.

    It may have pictures, PNGs, which it calls `[picture 1]` and so on.
    """

    __slots__ = ("files", "pictures")
    files: Mapping[str, str]
    pictures: Sequence[bytes]

    @classmethod
    def of(cls, text: str, pictures: Sequence[bytes] = ()) -> Prompt:
        """Make a prompt that is not from a file."""
        prompt = cls(text)
        prompt.files, prompt.pictures = {}, tuple(pictures)
        return prompt

    @classmethod
    def joined(cls, parts: Iterable[str]) -> Prompt:
        """Join parts, each a text or a `Prompt`, with an empty line between them."""
        texts = list(parts)
        return cls("\n\n".join(texts))._made_of(texts)

    def _made_of(self, parts: Iterable[str]) -> Prompt:
        """Take over the files and the pictures of the parts of this prompt."""
        self.files, self.pictures = {}, ()
        for part in parts:
            self.files |= getattr(part, "files", {})
            self.pictures += tuple(getattr(part, "pictures", ()))
        return self

    @property
    def content(self) -> str | list[dict[str, Any]]:
        """The content of a message, in the Chat Completions form: the pictures, then the text."""
        pictures = getattr(self, "pictures", ())
        parts: list[dict[str, Any]] = []
        for number, png in enumerate(pictures, start=1):
            parts.append({"type": "text", "text": f"[picture {number}]"})
            parts.append({"type": "image_url", "image_url": {"url": data_url(png)}})
        return [*parts, {"type": "text", "text": self}] if parts else self


class Prompts:
    """The prompt texts of one agent.

    Args:
        built_in_folder: the folder of the agent's texts (`*.txt`).
        users_folder: the user's texts; each file replaces the agent's of the same name.

    Raises:
        UsageError: the user's folder does not exist, or a file in it has the name of no prompt.
    """

    def __init__(self, built_in_folder: Path, users_folder: str | Path | None = None) -> None:
        self._files = {path.stem: path for path in built_in_folder.glob("*.txt")}
        self._texts: dict[str, str] = {}
        if users_folder is None:
            return
        users_folder = Path(users_folder)
        if not users_folder.is_dir():
            raise UsageError(f"--miniwob-prompts: {users_folder} is not a folder")
        for path in sorted(users_folder.glob("*.txt")):
            if path.stem not in self._files:
                known = sorted(f"{name}.txt" for name in self._files)
                raise UsageError(
                    f"--miniwob-prompts: {path}: the agent has no such prompt"
                    + nearest(path.name, known) + f"; it has {', '.join(known)}"
                )  # fmt: skip
            self._files[path.stem] = path

    def has(self, name: str) -> bool:
        """Return True if the agent has a prompt of this name."""
        return name in self._files

    def fill(self, name: str, **values: str) -> Prompt:
        """Fill in the values of a prompt, each a text or a `Prompt`.

        Raises:
            UsageError: the file names an unknown value, or lacks one.
        """
        path = self._files[name]
        if name not in self._texts:
            self._texts[name] = path.read_text(encoding="utf-8").strip()
        text = self._texts[name]
        template = Template(text)
        if not template.is_valid():
            raise UsageError(f"{path}: a $ without a name; write $$ for a dollar sign")
        names = set(template.get_identifiers())
        if unknown := names - values.keys():
            problem = f"has no value {_placeholders(unknown)}"
        elif missing := values.keys() - names:
            problem = f"must contain {_placeholders(missing)}"
        else:
            prompt = Prompt(template.substitute(values))._made_of(values.values())
            prompt.files = {f"{name}.txt": digest(text), **prompt.files}
            return prompt
        raise UsageError(
            f"{path}: this prompt {problem}; its values are {_placeholders(values) or 'none'}"
        )


def _placeholders(names: Iterable[str]) -> str:
    return ", ".join(f"${name}" for name in sorted(names))
