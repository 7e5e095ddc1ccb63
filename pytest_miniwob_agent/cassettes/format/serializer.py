"""The YAML of a cassette: the format that people review in a pull request, and that vcrpy reads."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import yaml

from pytest_miniwob_agent.cassettes.format.validation import SCHEMA, InvalidCassette, check_cassette

END = "...\n"
"""The last line of a file."""

_JSON_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float")}


class Serializer:
    """A vcrpy serializer, for `vcr.VCR.register_serializer`: JSON bodies are mappings in the file.

    Attributes:
        data: the file as it was read, with what vcrpy has no place for.
    """

    def __init__(self) -> None:
        self.data: dict[str, Any] = {}

    def deserialize(self, text: str) -> dict[str, Any]:
        """Return vcrpy's data of a YAML text.

        Raises:
            InvalidCassette: the text is YAML, but not a cassette of this package.
            yaml.YAMLError: the text is not YAML.
        """
        self.data = parse(text)
        check_cassette(self.data)
        return self.data | {
            "interactions": [
                {
                    "request": {**request, "body": json.dumps(request["body"])},
                    "response": {**response, "body": {"string": json.dumps(response["body"])}},
                }
                for interaction in self.data["interactions"]
                for request, response in [(interaction["request"], interaction["response"])]
            ]
        }

    def serialize(self, cassette: Mapping[str, Any]) -> str:
        """Return the YAML text of vcrpy's data."""
        interactions = [
            {
                "request": {**request, "body": json.loads(request["body"])},
                "response": {**response, "body": json.loads(response["body"]["string"])},
            }
            for interaction in cassette["interactions"]
            for request, response in [(interaction["request"], interaction["response"])]
        ]
        return dump({"version": 1, "schema": SCHEMA, "interactions": interactions}) + END


def dump(data: Any) -> str:
    """Return the YAML text of data without its end marker, which PyYAML adds to some by itself."""
    text: str = yaml.dump(
        data,
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        width=1_000_000,
        explicit_end=True,
    )
    return text.removesuffix(END)


_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def parse(text: str) -> Any:
    """Return the data of a YAML text; a third faster than `yaml.load`, as most of it is strings.

    Raises:
        InvalidCassette: it holds something else than JSON's types.
        yaml.YAMLError: the text is not YAML.
    """
    loader = _Loader(text)
    try:
        return _construct(loader, loader.get_single_node())
    except RecursionError:  # a node that holds itself
        raise InvalidCassette("it is not plain data") from None
    finally:
        loader.dispose()


def _construct(loader: Any, node: yaml.Node | None) -> Any:
    if isinstance(node, yaml.MappingNode):
        return {_key(key): _construct(loader, value) for key, value in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [_construct(loader, child) for child in node.value]
    if node is None or node.tag == "tag:yaml.org,2002:str":
        return node and node.value
    if node.tag not in _JSON_TAGS:
        raise InvalidCassette(f"it is not plain data: {node.value!r} is of type {node.tag}")
    return loader.construct_object(node)


def _key(node: yaml.Node) -> str:
    if not isinstance(node, yaml.ScalarNode):
        raise InvalidCassette("it is not plain data: a key must be a text")
    return str(node.value)


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True

    def analyze_scalar(self, scalar: str) -> Any:
        analysis = super().analyze_scalar(scalar)
        analysis.allow_block = _BLOCK.fullmatch(scalar) is not None
        if re.search("[\x85\u2028\u2029]", scalar):  # line breaks that only double quotes keep
            analysis.allow_flow_plain = analysis.allow_block_plain = False
            analysis.allow_single_quoted = False
        return analysis


# PyYAML quotes a text with a tab or with a space at the end of a line. In a literal block both are
# safe, except for a tab before all else, a last line of nothing else, and characters that YAML
# takes as line breaks.
_BLOCK = re.compile(
    r"(?![ \n]*\t)"
    r"[\n\t\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010fffe]*"
    r"(?<![ \t])"
)


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)
