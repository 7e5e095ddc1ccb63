"""APIs of other providers: Anthropic's Messages and Google's `generateContent`.

https://docs.anthropic.com/en/api/messages and https://ai.google.dev/api/generate-content
"""

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
    json_text,
    mapping,
    mappings,
    parsed_arguments,
    text_of,
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
            found += _messages(text_of(message.get("role")), message.get("content"))
        return found

    def tools(self, body: Mapping[str, Any]) -> dict[str, Any]:
        return {text_of(tool.get("name")): tool for tool in mappings(body.get("tools"))}

    def is_answer(self, answer: Mapping[str, Any]) -> bool:
        return bool(answer) and answer.get("type") != "error"

    def completion(self, answer: Mapping[str, Any]) -> Completion:
        usage = mapping(answer.get("usage"))
        counts = [token_count(usage.get(name)) for name in _INPUT_TOKENS]
        blocks = mappings(answer.get("content"))
        reasoning = [text_of(block.get("thinking")) for block in blocks]
        return Completion(
            "".join(text_of(block.get("text")) for block in blocks),
            None if counts[0] is None else sum(count or 0 for count in counts),
            token_count(usage.get("output_tokens")),
            text_of(answer.get("model")) or None,
            tool_calls=_tool_calls(blocks),
            finish_reason=text_of(answer.get("stop_reason")) or None,
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
    """Return a message, and each result of a tool in it as one of its own."""
    if isinstance(content, str):
        return [Message(role, content)]
    found, others = [], []
    for block in mappings(content):
        if block.get("type") == "tool_result":
            result = content_text(block.get("content"))
            call = text_of(block.get("tool_use_id")) or None
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
    """Add a piece of a streamed content block to the block."""
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


class Gemini(API):
    """The API of `/v1beta/models/MODEL:generateContent`, and of its stream."""

    path = "/v1beta/"
    provider = Provider(
        "gcp.gemini",
        "GEMINI_API_KEY",
        "x-goog-api-key",
        "https://generativelanguage.googleapis.com/v1",
    )

    def reads(self, path: str) -> bool:
        return path.startswith(self.path) and path.lower().endswith("generatecontent")

    def streams(self, path: str, body: Mapping[str, Any]) -> bool:
        return path.endswith(":streamGenerateContent")

    def messages(self, body: Mapping[str, Any]) -> list[Message]:
        system = content_text(_parts(body.get("systemInstruction")))
        found = [Message("system", system)] if system else []
        for content in mappings(body.get("contents")):
            said = []
            for part in _parts(content):
                if isinstance(result := part.get("functionResponse"), Mapping):
                    id_ = text_of(result.get("id")) or None
                    text = json_text(result.get("response"))
                    found.append(Message("tool", text, tool_call_id=id_))
                elif "functionCall" not in part:
                    said.append(part)
            role = "assistant" if content.get("role") == "model" else "user"
            calls = _function_calls(content)
            if said or calls:
                found.append(Message(role, content_text(said), calls))
        return found

    def tools(self, body: Mapping[str, Any]) -> dict[str, Any]:
        tools = mappings(body.get("tools"))
        declared = (mappings(tool.get("functionDeclarations")) for tool in tools)
        return {text_of(each.get("name")): each for some in declared for each in some}

    def is_answer(self, answer: Mapping[str, Any]) -> bool:
        return bool(mappings(answer.get("candidates")) or _blocked(answer))

    def completion(self, answer: Mapping[str, Any]) -> Completion:
        usage = mapping(answer.get("usageMetadata"))
        names = ("promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount")
        asked, said, thought = (token_count(usage.get(name)) for name in names)
        first = next(iter(mappings(answer.get("candidates"))), {})
        content = first.get("content")
        texts: dict[bool, str] = {True: "", False: ""}
        for part in _parts(content):
            texts[bool(part.get("thought"))] += text_of(part.get("text"))
        return Completion(
            texts[False],
            asked,
            None if said is None else said + (thought or 0),
            text_of(answer.get("modelVersion")) or None,
            tool_calls=_function_calls(content),
            finish_reason=text_of(first.get("finishReason")).lower() or None,
            reasoning=texts[True] or None,
            refusal=_blocked(answer),
        )

    def answer(self, completion: Completion) -> dict[str, Any]:
        model: dict[str, Any] = {"modelVersion": completion.model or "model"}
        if completion.tokens:
            asked, said = completion.tokens
            model["usageMetadata"] = {"promptTokenCount": asked, "candidatesTokenCount": said}
        if completion.refusal:
            return {"promptFeedback": {"blockReason": completion.refusal}, **model}
        parts: list[dict[str, Any]] = [{"text": completion.text}] if completion.text else []
        for call in completion.tool_calls:
            given = {"id": call.id, "name": call.name, "args": parsed_arguments(call.arguments)}
            parts.append({"functionCall": given})
        content = {"role": "model", "parts": parts}
        return {"candidates": [{"content": content, "finishReason": "STOP"}], **model}

    def served(self, answer: Mapping[str, Any], digest: str) -> dict[str, Any]:
        return {"responseId": digest, **answer}

    def collect(self, events: Sequence[Any]) -> dict[str, Any]:
        """Join the parts of all events; the last one has the reason for the end."""
        answer: dict[str, Any] = {}
        parts: list[Any] = []
        first: dict[str, Any] = {}
        for event in mappings(events):
            answer |= {**event, "candidates": [first]} if "candidates" in event else event
            for candidate in mappings(event.get("candidates"))[:1]:
                parts += _parts(candidate.get("content"))
                first |= {**candidate, "content": {"role": "model", "parts": parts}}
        ended = any(each.get("finishReason") for each in mappings(answer.get("candidates")))
        return answer if (ended or _blocked(answer)) and "error" not in answer else {}

    def stream(self, answer: Mapping[str, Any]) -> str:
        return f"data: {json.dumps(answer, ensure_ascii=False)}\n\n"


def _parts(content: Any) -> list[dict[str, Any]]:
    """Return the parts of a content; a picture has the form that `content_text` reads."""
    parts = []
    for part in mappings(mapping(content).get("parts")):
        data = mapping(part.get("inlineData"))
        source = {"type": "base64", "media_type": data.get("mimeType"), "data": data.get("data")}
        parts.append({"source": source} if data else dict(part))
    return parts


def _function_calls(content: Any) -> tuple[ToolCall, ...]:
    calls = (mapping(part.get("functionCall")) for part in _parts(content))
    return tuple(
        tool_call(call.get("id"), call.get("name"), call.get("args", {})) for call in calls if call
    )


def _blocked(answer: Mapping[str, Any]) -> str | None:
    feedback = mapping(answer.get("promptFeedback"))
    return text_of(feedback.get("blockReason")) or None
