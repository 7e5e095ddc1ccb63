"""Anthropic's Messages: https://docs.anthropic.com/en/api/messages."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_miniwob_agent.core.chat import Message, ToolCall, token_count
from pytest_miniwob_agent.core.events import Completion
from pytest_miniwob_agent.models.api import (
    API,
    Provider,
    content_text,
    joined,
    mapping,
    mappings,
    parsed_arguments,
    string,
    tool_call,
)

_INPUT_TOKENS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class Messages(API):
    """The API of `/v1/messages`."""

    path = "/v1/messages"
    provider = Provider(
        "anthropic", "ANTHROPIC_API_KEY", "x-api-key", "https://api.anthropic.com/v1"
    )

    def messages(self, body: Mapping[str, Any]) -> list[Message]:
        found = []
        if system := content_text(body.get("system")):
            found.append(Message("system", system))
        for message in mappings(body.get("messages")):
            found += _messages(string(message.get("role")), message.get("content"))
        return found

    def tools(self, body: Mapping[str, Any]) -> dict[str, Any]:
        return {string(tool.get("name")): tool for tool in mappings(body.get("tools"))}

    def is_answer(self, answer: Mapping[str, Any]) -> bool:
        return bool(answer) and answer.get("type") != "error"

    def completion(self, answer: Mapping[str, Any]) -> Completion:
        usage = mapping(answer.get("usage"))
        counts = [token_count(usage.get(name)) for name in _INPUT_TOKENS]
        blocks = mappings(answer.get("content"))
        reasoning = [string(block.get("thinking")) for block in blocks]
        return Completion(
            "".join(string(block.get("text")) for block in blocks),
            None if counts[0] is None else sum(count or 0 for count in counts),
            token_count(usage.get("output_tokens")),
            string(answer.get("model")) or None,
            tool_calls=_tool_calls(blocks),
            finish_reason=string(answer.get("stop_reason")) or None,
            reasoning="\n".join(filter(None, reasoning)) or None,
        )

    def answer(self, completion: Completion) -> dict[str, Any]:
        content: list[dict[str, Any]] = []
        if text := completion.text or completion.refusal:
            content.append({"type": "text", "text": text})
        for call in completion.tool_calls:
            given = parsed_arguments(call.arguments)
            given = given if isinstance(given, dict) else {"arguments": call.arguments}
            content.append({"type": "tool_use", "id": call.id, "name": call.name, "input": given})
        end = "refusal" if completion.refusal else "end_turn"
        answer = {
            "type": "message", "role": "assistant", "model": completion.model or "model",
            "content": content, "stop_sequence": None,
            "stop_reason": "tool_use" if completion.tool_calls else end,
        }  # fmt: skip
        return answer | self._usage(completion)

    def usage(self, prompt: int, completion: int) -> dict[str, Any]:
        return {"input_tokens": prompt, "output_tokens": completion}

    def served(self, answer: Mapping[str, Any], digest: str) -> dict[str, Any]:
        return {"id": f"msg_{digest}", **answer}

    def collect(self, events: Sequence[Any]) -> dict[str, Any]:
        answer: dict[str, Any] = {}
        blocks: dict[Any, dict[str, Any]] = {}
        for event in mappings(events):
            kind, index = event.get("type"), event.get("index", 0)
            if kind == "message_start":
                answer.update(mapping(event.get("message")))
            elif kind == "content_block_start":
                blocks[index] = dict(mapping(event.get("content_block")))
            elif kind == "content_block_delta" and index in blocks:
                _add_delta(blocks[index], mapping(event.get("delta")))
            elif kind == "message_delta":
                usages = map(mapping, (answer.get("usage"), event.get("usage")))
                answer["usage"] = {name: n for usage in usages for name, n in usage.items()}
                answer.update(mapping(event.get("delta")))
        for block in blocks.values():
            if isinstance(block.get("partial_json"), str):
                block["input"] = parsed_arguments(block.pop("partial_json"))
        answer["content"] = list(blocks.values())
        return answer if answer.get("stop_reason") else {}

    def events(self, answer: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the events of a stream: for each block its beginning, its content and its end."""
        usage = mapping(answer.get("usage"))
        unspent = {**usage, "output_tokens": 0}
        begun = {**answer, "content": [], "stop_reason": None, "usage": unspent}
        events: list[dict[str, Any]] = [{"type": "message_start", "message": begun}]
        for index, block in enumerate(mappings(answer.get("content"))):
            empty, deltas = _pieces(block)
            here = {"index": index}
            events.append({"type": "content_block_start", **here, "content_block": empty})
            events += [{"type": "content_block_delta", **here, "delta": delta} for delta in deltas]
            events.append({"type": "content_block_stop", **here})
        end = {name: answer.get(name) for name in ("stop_reason", "stop_sequence")}
        spent = {"output_tokens": usage.get("output_tokens", 0)}
        events.append({"type": "message_delta", "delta": end, "usage": spent})
        return [*events, {"type": "message_stop"}]


def _messages(role: str, content: Any) -> list[Message]:
    if isinstance(content, str):
        return [Message(role, content)]
    found, others = [], []
    for block in mappings(content):
        if block.get("type") == "tool_result":
            result = content_text(block.get("content"))
            call = string(block.get("tool_use_id")) or None
            found.append(Message("tool", result, tool_call_id=call))
        elif block.get("type") not in ("tool_use", "thinking", "redacted_thinking"):
            others.append(block)
    calls = _tool_calls(mappings(content))
    if others or calls or not found:
        found.append(Message(role, content_text(others), calls))
    return found


def _tool_calls(blocks: Sequence[Mapping[str, Any]]) -> tuple[ToolCall, ...]:
    calls = (block for block in blocks if block.get("type") == "tool_use")
    return tuple(tool_call(*map(call.get, ("id", "name", "input"))) for call in calls)


def _add_delta(block: dict[str, Any], delta: Mapping[str, Any]) -> None:
    for name, part in delta.items():
        if name == "citation":
            block["citations"] = [*(block.get("citations") or []), part]
        elif name != "type":
            block[name] = joined(block.get(name), part, name)


def _pieces(block: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return a content block as a stream begins it, and what is then added."""
    match block.get("type"):
        case "text":
            return {**block, "text": ""}, [{"type": "text_delta", "text": block.get("text", "")}]
        case "tool_use":
            given = json.dumps(block.get("input", {}), ensure_ascii=False)
            delta = {"type": "input_json_delta", "partial_json": given}
            return {**block, "input": {}}, [delta]
        case "thinking":
            parts = ("thinking", "signature")
            empty = {**block, **dict.fromkeys(parts, "")}
            return empty, [{"type": f"{name}_delta", name: block.get(name, "")} for name in parts]
    return dict(block), []
