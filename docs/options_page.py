"""The page docs/options.md, made of the options themselves: `make options` writes it."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

from pytest_miniwob_agent.plugin.options import Option
from pytest_miniwob_agent.plugin.reading import all_options

PAGE = Path(__file__).with_name("options.md")

INTRODUCTION = """\
# Options

Every option has a twin in the ini file. The command line overrides the
[marker](fixtures.md#the-marker), which overrides the ini file. An empty value, such as
`--miniwob-baseline=`, sets aside what the ini file says. Relative paths start from the working
directory on the command line, and from the project's folder in the ini file.

The examples below are for `[tool.pytest]` in `pyproject.toml`. In `pytest.ini`, values have no
quotes, and lists have a line for each value:

```ini
[pytest]
miniwob_model = gpt-5
miniwob_llm_params = {"temperature": 0}
miniwob_prices =
    gpt-5 1.25 10
    gpt-5-mini 0.25 2
```

One setting has no option: `miniwob_suites = ["tests/suites/*.py"]` names test files that own
cassettes but are not collected by default, for `miniwob-agent cassettes lint` and `prune`.
"""


EXAMPLES = {
    "model": "gpt-5",
    "base_url": "http://127.0.0.1:8000/v1",
    "key_variable": "MY_GATEWAY_KEY",
    "upstream": "ollama=http://127.0.0.1:11434",
    "llm_params": '{"temperature": 0}',
    "agent": "rci",
    "agent_params": '{"planning": "iterative"}',
    "prompts": "prompts",
    "seeds": "1000-1004,7",
    "trials": "3",
    "steps": "20",
    "repeats": "4",
    "max_answer": "200",
    "graders": "graders:keeps_others",
    "judge_model": "gpt-5-mini",
    "judge_base_url": "http://127.0.0.1:8000/v1",
    "judge_key_variable": "JUDGE_KEY",
    "pages": "tests/pages",
    "record": "new_episodes",
    "app": "live",
    "cassettes": "recordings",
    "answers": ".miniwob/answers.jsonl",
    "max_calls": "50",
    "max_cost": "2.50",
    "prices": "gpt-5 1.25 10",
    "concurrency": "8",
    "results": "results.jsonl",
    "baseline": "git:main",
    "gate": "paired",
    "shard": "2/5",
    "report": "report",
    "trace": "on",
    "browser": "/opt/chromium/chrome",
    "remote": "http://127.0.0.1:4444",
    "capabilities": '{"browserVersion": "156"}',
    "serve": "runner.internal:8800",
}
"""A value of each option, by its field."""


def render() -> str:
    """Return the page."""
    lines = [INTRODUCTION]
    for option in all_options():
        lines += [f"## {option.group}", ""] if option.group else []
        lines += _section(option)
    return "\n".join(lines).rstrip() + "\n"


def _section(option: Option) -> Iterator[str]:
    """Yield the lines on one option."""
    yield from (f"### `{option.name}`", "")
    yield from (*_description(option.help), "")
    value = EXAMPLES.get(option.key, "")
    written = f"'{value}'" if set(value) & set(' {"') else value
    argument = option.name if option.flag else f"{option.name}={written}"
    example = f"`{argument}`, or `{option.ini} = {_toml(option)}`."
    if option.default not in (None, "", "{}"):
        example += f" Default: `{option.default}`."
    yield from (example, "")


def _toml(option: Option) -> str:
    """Return the example as it is written in `[tool.pytest]`."""
    if option.flag:
        return "true"
    value = EXAMPLES[option.key]
    text = value if re.fullmatch(r"\d+(\.\d+)?", value) else f'"{value}"'
    if '"' in value:
        text = f"'{value}'"
    return f"[{text}]" if option.ini_type == "linelist" else text


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
    r"""--[a-z]+[a-z-]*(?:=[a-z_]+)?|\bminiwob_[a-z]+|\b[A-Z]+(?:_[A-Z]+)+\b|'\{.*?\}'|\{[^{}]*\}"""
    r"""|\bminiwob-agent [a-z]+ [a-z]+|\bllm\.\S+\w"""
    r"""|(?:\b[a-z]+=)?https?://\S+\w|\.\w+/\S+\w|git:[A-Z:]+\b|'[A-Z ]+'|"\w+"|(?<= )-n\b"""
)
"""Code in help texts."""


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
