"""Replies to WebWISE: the program in a reply."""

from __future__ import annotations

import re
import textwrap

from pytest_miniwob_agent.agents.webwise.language import ProgramError

_FENCED = re.compile(r"```[^\n`]*\n(.*?)(?:```|\Z)", re.S)
_CODE = re.compile(
    r"\s*(?:(?:click|enter_text|scroll|objects|print)\s*\(|(?:for|while|if|elif)\b.*[:(\[{]|else\s*:"
    r"|[A-Za-z_]\w*+(?:\[.*\])?\s*[-+*/]?=(?!=)|#|(?:pass|break|continue)\s*$"
    r"|import\s+\w+\s*$|from\s+\w+\s+import\b|def\s+\w+\(|try\s*:)"
)
_REST = re.compile(r"[ \t)\]}].*\S")


def extract_program(reply: str) -> str:
    """Return the program in a reply: its fenced blocks, or from its first to its last line of code.

    Raises:
        ProgramError: there is none.
    """
    if blocks := _FENCED.findall(reply):
        program = "\n".join(block.strip("\n") for block in blocks)
    else:
        lines = reply.split("\n")
        code = [at for at, line in enumerate(lines) if _CODE.match(line)]
        if not code:
            raise ProgramError("there is no program in the answer")
        last = code[-1]
        while last + 1 < len(lines) and _REST.match(lines[last + 1]):
            last += 1
        program = "\n".join(lines[code[0] : last + 1])
    if not program.strip():
        raise ProgramError("there is no program in the answer")
    return textwrap.dedent(program).strip()
