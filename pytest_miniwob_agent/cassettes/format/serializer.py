"""The YAML of a cassette: the format that people review in a pull request, and that vcrpy reads."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from pytest_miniwob_agent.cassettes.format.validation import SCHEMA, InvalidCassette, check_cassette
from pytest_miniwob_agent.core.data import to_data
from pytest_miniwob_agent.core.events import Origin

Source = tuple[Origin | None, tuple[str, ...]]
"""The origin of a call, if it is known, and the parts of its request that were normalized."""

END = "...\n"
"""The last line of a file."""


class Serializer:
    """A vcrpy serializer, for `vcr.VCR.register_serializer`.

    Args:
        sources: where the calls that are written were made, and what was normalized in them.
        metadata: further keys of the file.
        schema: the schema of the file.

    After `deserialize`, `sources` and `metadata` hold what was read.
    """

    def __init__(
        self,
        sources: Sequence[Source] = (),
        metadata: Mapping[str, Any] | None = None,
        schema: int = SCHEMA,
    ) -> None:
        self.sources = list(sources)
        self.metadata = dict(metadata or {})
        self._schema = schema

    def serialize(self, cassette: Mapping[str, Any]) -> str:
        """Return the YAML text of vcrpy's data; the data is not changed."""
        texts = []
        for index, interaction in enumerate(cassette["interactions"]):
            source = self.sources[index] if index < len(self.sources) else (None, ())
            texts.append(dump_interaction(interaction, source))
        return join_interactions(texts, self._schema, self.metadata)

    def deserialize(self, text: str) -> Any:
        """Return vcrpy's data of a YAML text.

        Raises:
            InvalidCassette: the text is YAML, but not a cassette of this package.
            yaml.YAMLError: the text is not YAML.
        """
        data = _parse(text)
        check_cassette(data)
        self.metadata = {key: data[key] for key in data if key not in ("version", "interactions")}
        self.sources = []
        for interaction in data["interactions"]:
            call = dict(interaction.get("call") or {})
            normalized = tuple(call.pop("normalized", ()))
            self.sources.append((Origin(**call) if call else None, normalized))
            request, response = interaction["request"], interaction["response"]
            request["body"] = json.dumps(request["body"], ensure_ascii=False)
            response["body"] = {"string": json.dumps(response["body"], ensure_ascii=False)}
        return data


def dump_interaction(interaction: Mapping[str, Any], source: Source = (None, ())) -> str:
    """Return the YAML text of one of vcrpy's interactions, an entry of `interactions`."""
    origin, normalized = source
    call = (to_data(origin) if origin else {}) | (
        {"normalized": list(normalized)} if normalized else {}
    )
    request, response = interaction["request"], interaction["response"]
    return _dump(
        [
            ({"call": call} if call else {})
            | {
                "request": {**request, "body": json.loads(request["body"])},
                "response": {**response, "body": json.loads(response["body"]["string"])},
            }
        ]
    )


def join_interactions(texts: Sequence[str], schema: int, metadata: Mapping[str, Any]) -> str:
    """Return the YAML text of a cassette.

    Args:
        texts: those of `dump_interaction`.
        schema: the schema of the file.
        metadata: further keys of the file.
    """
    head = _dump({"version": 1, "schema": schema, **metadata})
    calls = f"\n{''.join(texts)}" if texts else " []\n"
    return f"{head}interactions:{calls}{END}"


def _dump(data: Any) -> str:
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


def _parse(text: str) -> Any:
    """Return the data of a YAML text; a third faster than `yaml.load`, as most of it is strings."""
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        return None if node is None else _construct(loader, node)
    except (TypeError, RecursionError):  # a list as a key, or a node that holds itself
        raise InvalidCassette("it is not plain data") from None
    except yaml.constructor.ConstructorError as error:
        raise InvalidCassette(f"it is not plain data: {error.problem}") from None
    finally:
        loader.dispose()


def _construct(loader: Any, node: yaml.Node) -> Any:
    if isinstance(node, yaml.MappingNode):
        return {key.value: _construct(loader, value) for key, value in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [_construct(loader, child) for child in node.value]
    if node.tag == "tag:yaml.org,2002:str":
        return node.value
    return loader.construct_object(node)


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True

    def analyze_scalar(self, scalar: str) -> Any:
        analysis = super().analyze_scalar(scalar)
        analysis.allow_block = _BLOCK.fullmatch(scalar) is not None
        if re.search("[\x85\u2028\u2029]", scalar):  # breaks of a line, kept by double quotes only
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
