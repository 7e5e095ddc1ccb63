"""The lines of two texts that differ, marked and folded for people to read."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

CONTEXT = 2
"""Unchanged lines that are shown around a change."""

LONG = 160
"""Longer lines that changed are folded: only the changed words and some around them are shown."""


def diff(old: str, new: str) -> list[str]:
    """Return the lines of two texts, those that differ marked `- ` or `+ `, equal ones folded."""
    a, b = old.splitlines(), new.splitlines()
    shown: list[str] = []
    opcodes = SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    for tag, a1, a2, b1, b2 in opcodes:
        if tag == "equal":
            head = CONTEXT if shown else 0
            tail = CONTEXT if a2 < len(a) or b2 < len(b) else 0
            if a2 - a1 > head + tail + 1:
                shown += [f"  {_fold(line)}" for line in a[a1 : a1 + head]]
                shown.append(f"  … {a2 - a1 - head - tail} unchanged lines")
                shown += [f"  {_fold(line)}" for line in a[a2 - tail : a2]]
            else:
                shown += [f"  {_fold(line)}" for line in a[a1:a2]]
        elif tag == "replace" and a2 - a1 == b2 - b1:
            pairs = [_pair(*pair) for pair in zip(a[a1:a2], b[b1:b2], strict=True)]
            shown += [f"- {before}" for before, _ in pairs] + [f"+ {after}" for _, after in pairs]
        else:
            shown += [f"- {line}" for line in a[a1:a2]] + [f"+ {line}" for line in b[b1:b2]]
    return shown


def _fold(line: str, head: bool = True, tail: bool = True) -> str:
    """Cut the middle out of a long text; whole words of its beginning and its end are kept."""
    if len(line) <= LONG // 2:
        return line
    start = line[: LONG // 4].rpartition(" ")[0] if head else ""
    end = line[-LONG // 4 :].partition(" ")[2] if tail else ""
    return f"{start} … {end}"


def _pair(old: str, new: str) -> tuple[str, str]:
    """Return two versions of a line; of long ones, the words that differ and some around them."""
    if max(len(old), len(new)) <= LONG:
        return old, new
    words = [re.findall(r"\s+|\w+|[^\w\s]", line) for line in (old, new)]
    matcher = SequenceMatcher(None, words[0], words[1], autojunk=False)
    if matcher.ratio() < 0.5:
        return old, new
    texts = ["", ""]
    opcodes = matcher.get_opcodes()
    for index, (tag, a1, a2, b1, b2) in enumerate(opcodes):
        for side, part in enumerate((words[0][a1:a2], words[1][b1:b2])):
            text = "".join(part)
            if tag == "equal":
                text = _fold(text, head=index > 0, tail=index < len(opcodes) - 1)
            texts[side] += text
    return texts[0].strip(), texts[1].strip()
