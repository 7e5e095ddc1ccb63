"""The form of help texts: options and commands in them can be copied."""

from __future__ import annotations

import argparse
import textwrap
from typing import Any


class HelpFormatter(argparse.HelpFormatter):
    """A formatter that breaks no option at a hyphen, and keeps paragraphs and indented lines."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n\n".join(
            textwrap.indent(
                part if part.startswith(" ") else "\n".join(self._split_lines(part, width)), indent
            )
            for part in text.rstrip().split("\n\n")
        )


class Parser(argparse.ArgumentParser):
    """A parser of arguments whose help, and that of its commands, has this form."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"formatter_class": HelpFormatter, **options})
