"""The page docs/options.md, made of the options themselves: `make options` writes it."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

from pytest_miniwob_agent.plugin.options.declarations import OPTIONS, Option
from pytest_miniwob_agent.plugin.options.values import parse_price_list

PAGE = Path(__file__).with_name("options.md")

INTRODUCTION = """\
# Options

Every option of the command line has a twin in the ini file: `--miniwob-llm-params` is
`miniwob_llm_params` there. The command line overrides the ini file. Of seeds, trials, steps,
repeats and pages a test's [marker](fixtures.md#the-marker) is in between: it overrides the ini
file, and the command line overrides it. Paths count from the working directory on the command
line, and from the project's folder in the ini file. `pytest --help` prints the texts of this page,
which `make options` writes.

The ini file is any that pytest reads. In `pytest.ini`, values are written as on the command line,
without a shell's quotes:

```ini
[pytest]
miniwob_model = gpt-5
miniwob_seeds = 1000-1004
miniwob_llm_params = {"temperature": 0}
miniwob_prices =
    gpt-5 1.25 10
    gpt-5-mini 0.25 2
```

In `pyproject.toml` they are texts, numbers and truth values of TOML. Parameters may be a table,
seeds and prices a list:

```toml
[tool.pytest]
miniwob_model = "gpt-5"
miniwob_seeds = "1000-1004"
miniwob_llm_params = {temperature = 0}
miniwob_prices = ["gpt-5 1.25 10", "gpt-5-mini 0.25 2"]
```

`[tool.pytest.ini_options]` may hold the same, and `pytest.toml` below `[pytest]`. For one run,
`-o miniwob_model=gpt-5` sets a value of the ini file. Examples below are in the form of TOML.
"""

GROUPS = {
    "Model": ("model", "base-url", "key-variable", "llm-params"),
    "Agent": ("agent", "agent-params", "prompts"),
    "Items": ("seeds", "trials", "steps", "repeats", "pages"),
    "Recording": ("record", "cassettes", "answers"),
    "Money and calls": (
        "max-calls", "max-cost", "prices", "ask-above", "concurrency", "keep-going",
    ),
    "Results and gate": ("results", "baseline", "gate", "shard", "judge-shard"),
    "Report": ("report", "trace"),
    "Browser": ("browser", "headed", "slowmo"),
    "Selenium Grid": ("remote", "capabilities", "serve"),
}  # fmt: skip
"""The parts of the page, in order, with their options; others come last."""

EXAMPLES = {
    "record": "new_episodes",
    "model": "gpt-5",
    "base-url": "http://127.0.0.1:8000/v1",
    "key-variable": "MY_GATEWAY_KEY",
    "llm-params": '{"temperature": 0}',
    "agent": "rci",
    "agent-params": '{"planning": "iterative"}',
    "prompts": "prompts",
    "seeds": "1000-1004,7",
    "trials": "3",
    "steps": "20",
    "repeats": "4",
    "pages": "tests/pages",
    "cassettes": "recordings",
    "answers": ".miniwob/answers.jsonl",
    "max-calls": "50",
    "max-cost": "2.50",
    "prices": "gpt-5 1.25 10",
    "ask-above": "100",
    "concurrency": "8",
    "results": "results.jsonl",
    "baseline": "git:main",
    "gate": "paired",
    "shard": "2/5",
    "report": "report",
    "trace": "on",
    "browser": "/opt/chromium/chrome",
    "slowmo": "800",
    "remote": "http://127.0.0.1:4444",
    "capabilities": '{"browserVersion": "156"}',
    "serve": "runner.internal:8800",
}
"""Values by the names of options; one that is not here is shown with its placeholder."""


def render() -> str:
    """Return the page."""
    known = {option.name: option for option in OPTIONS}
    named = {name for names in GROUPS.values() for name in names}
    others = tuple(name for name in known if name not in named)
    groups = GROUPS | ({"Others": others} if others else {})
    lines = [INTRODUCTION]
    for title, names in groups.items():
        lines += [f"## {title}", ""]
        for name in names:
            lines += _section(known[name]) if name in known else []
    return "\n".join(lines).rstrip() + "\n"


def _section(option: Option) -> Iterator[str]:
    """Yield the lines on one option."""
    yield from (f"### `{option.argument}`", "")
    yield from (*_description(option.help), "")
    value = "" if option.flag else EXAMPLES.get(option.name, option.metavar or "")
    written = f"'{value}'" if set(value) & set(' {"') else value
    argument = option.argument + ("" if option.flag else f"={written}")
    example = f"Example: `{argument}`; in the ini file `{option.ini} = {_toml(option, value)}`."
    if option.default and option.default != "{}":
        example += f" Default: `{option.default}`."
    yield from (example, "")


def _toml(option: Option, value: str) -> str:
    """Return a value as it is written in `[tool.pytest]`."""
    if option.flag:
        return "true"
    if option.is_object:
        return re.sub(r'"(\w+)": ', r"\1 = ", value)
    if option.parse is parse_price_list:
        return f'["{value}"]'
    return value if re.fullmatch(r"\d+(\.\d+)?", value) else f'"{value}"'


def _description(text: str) -> Iterator[str]:
    """Yield the lines of a help text; values of the form `name = meaning` are a list."""
    head, _, rest = text.partition(": ")
    values = rest.split("; ") if re.search(r"(?:^|; )[^ ]+ = ", rest) else []
    yield from _wrap(_sentence(head + ":" if values else text))
    if values:
        yield ""
    for value in values:
        name, equals, meaning = value.partition(" = ")
        yield from _wrap(
            f"- `{name.replace(' or ', '` or `')}`" + (f": {_marked(meaning)}" if equals else ""),
            "  ",
        )


def _sentence(text: str) -> str:
    text = _marked(text[0].upper() + text[1:])
    return text if text.endswith((".", ":")) else f"{text}."


def _marked(text: str) -> str:
    """Return a text in which code is marked as such."""
    return re.sub(CODE, r"`\g<0>`", text)


def _wrap(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(
        text, 110, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


CODE = re.compile(
    r"""--[a-z]+[a-z-]*(?:=[a-z]+)?|\bminiwob_[a-z]+|\b[A-Z]+(?:_[A-Z]+)+\b|'\{.*?\}'|\{[^{}]*\}"""
    r"""|\bminiwob-agent [a-z]+ [a-z]+"""
    r"""|https?://\S+\w|\.\w+/\S+\w|git:[A-Z:]+\b|'[A-Z ]+'|"\w+"|(?<= )-n\b"""
)
"""Code in help texts."""


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
