"""Prompt texts, one file a prompt: the user's folder first, then the agent's own.

A text is a `string.Template`: `$goal` or `${goal}` stands for a value, `$$` for a dollar sign.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from string import Template

from pytest_miniwob_agent.core.data import digest
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.text import nearest


class Prompt(str):
    """A text that knows the prompt files that it was made of: their digests by name."""

    __slots__ = ("files",)
    files: Mapping[str, str]

    @classmethod
    def joined(cls, parts: Iterable[str]) -> Prompt:
        """The parts with an empty line between them, as one text; each may be a `Prompt`."""
        known = list(parts)
        prompt = cls("\n\n".join(known))
        prompt.files = {}
        for part in known:
            prompt.files |= getattr(part, "files", {})
        return prompt


class Prompts:
    """The prompt texts of one agent.

    Args:
        built_in: the folder of the agent's own texts (`*.txt`).
        folder: the user's texts; each file replaces the agent's own of the same name.

    Raises:
        UsageError: the user's folder is not there, or a file in it replaces none.
    """

    def __init__(self, built_in: Path, folder: str | Path | None = None) -> None:
        self._files = {path.stem: path for path in built_in.glob("*.txt")}
        if folder is None:
            return
        folder = Path(folder)
        if not folder.is_dir():
            raise UsageError(f"--miniwob-prompts: {folder} is no folder")
        for path in sorted(folder.glob("*.txt")):
            if path.stem not in self._files:
                known = sorted(f"{name}.txt" for name in self._files)
                raise UsageError(
                    f"--miniwob-prompts: {path}: the agent has no such prompt"
                    + nearest(path.name, known) + f"; it has {', '.join(known)}"
                )  # fmt: skip
            self._files[path.stem] = path

    def fill(self, name: str, **given: str) -> Prompt:
        """The text of a prompt with its values filled in; a value may be a `Prompt` itself.

        Raises:
            UsageError: the text names a value that there is not, or leaves one out.
        """
        path = self._files[name]
        text = path.read_text(encoding="utf-8").strip()
        template = Template(text)
        if not template.is_valid():
            raise UsageError(f"{path}: a $ that begins no name; write $$ for a dollar sign")
        named = set(template.get_identifiers())
        for wrong, what in ((named - given.keys(), "knows no"), (given.keys() - named, "lacks")):
            if wrong:
                raise UsageError(
                    f"{path}: this prompt {what} {_list(wrong)}; "
                    f"it is filled with {_list(given) or 'nothing'}"
                )
        prompt = Prompt(template.substitute(given))
        prompt.files = {f"{name}.txt": digest(text)}
        for value in given.values():
            prompt.files |= getattr(value, "files", {})
        return prompt


def _list(names: Iterable[str]) -> str:
    return ", ".join(f"${name}" for name in sorted(names))
