"""An option: one declaration, as a field of `Settings`, of all that belongs to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.text import nearest
from pytest_miniwob_agent.plugin.options.values import parse_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """An option of the command line, and its twin in the ini file.

    Attributes:
        key: the field of `Settings` that holds the value.
        help: the text of `--help`.
        group: the heading in `docs/options.md`, at the first option below it.
        parse: turns the name of the option and a text into the value; None for an empty text that
            switches the option off.
        default: the value where none is given, as a text.
        ini_type: the type of the twin in pytest's terms. A list is joined to lines.
        marker: true if the miniwob marker may set it: the marker overrides the ini file, the
            command line overrides the marker.
        whole_run: true if it concerns the run as a whole, so that a command that is shown for one
            item leaves it out.
    """

    key: str = ""
    help: str
    group: str = ""
    parse: Callable[[str, str], Any] = parse_text
    default: str | None = None
    metavar: str | None = None
    choices: tuple[str, ...] | None = None
    ini_type: Any = str | int | float
    marker: bool = False
    whole_run: bool = False

    @property
    def name(self) -> str:
        """The option on the command line, such as `--miniwob-max-calls`."""
        return f"--miniwob-{self.key.replace('_', '-')}"

    @property
    def ini(self) -> str:
        """Its twin in the ini file, and the attribute of pytest's options: `miniwob_max_calls`."""
        return f"miniwob_{self.key}"

    @property
    def flag(self) -> bool:
        """True for an option without a value."""
        return self.ini_type is bool

    def read(self, name: str, text: str, folder: Path) -> Any:
        """Return the value of a text.

        Args:
            name: the option or its twin, for messages.
            text: the value as it was written.
            folder: what relative paths count from.

        Raises:
            UsageError: the text is not valid.
        """
        if text and self.choices and text not in self.choices:
            choices = ", ".join(self.choices)
            hint = nearest(text, self.choices)
            raise UsageError(f"{name}: {text!r} is not one of {choices}{hint}")
        value = self.parse(name, text)
        if isinstance(value, list):
            return [folder / part if isinstance(part, Path) else part for part in value]
        return folder / value if isinstance(value, Path) else value


def option(help_text: str, *, secret: bool = False, **more: Any) -> Any:
    """Declare an option as a field of a dataclass, whose name is the option's.

    Args:
        help_text: the text of `--help`.
        secret: true if the value may hold a key, so that `repr` must not show it.
        **more: further attributes of `Option`.
    """
    return field(repr=not secret, metadata={"option": Option(help=help_text, **more)})
