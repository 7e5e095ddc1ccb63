"""OpenAI's Responses (https://platform.openai.com/docs/api-reference/responses)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_miniwob_agent.core.chat import Message, ToolCall, token_count
from pytest_miniwob_agent.core.events import Completion
from pytest_miniwob_agent.models.apis import lenient
from pytest_miniwob_agent.models.apis.api import API

_ENDS = ("response.completed", "response.incomplete", "response.failed")


class Responses(API):
    """The API of `/v1/responses`."""

    path = "/v1/responses"

    def messages(self, body: Mapping[str, Any]) -> list[Message]:
        found = []
        if instructions := lenient.content_text(body.get("instructions")):
            found.append(Message("system", instructions))
        if previous := lenient.text(body.get("previous_response_id")):
            found.append(Message("earlier", f"[the conversation up to {previous}]"))
        items = body.get("input")
        if isinstance(items, str):
            return [*found, Message("user", items)]
        return found + [_message(item) for item in lenient.mappings(items)]

    def tools(self, body: Mapping[str, Any]) -> dict[str, Any]:
        tools = lenient.mappings(body.get("tools"))
        return {lenient.text(tool.get("name") or tool.get("type")): tool for tool in tools}

    def is_answer(self, answer: Mapping[str, Any]) -> bool:
        return bool(answer) and not answer.get("error")

    def completion(self, answer: Mapping[str, Any]) -> Completion:
        usage = lenient.mapping(answer.get("usage"))
        items = lenient.mappings(answer.get("output"))
        messages = [item for item in items if item.get("type") == "message"]
        said = [part for item in messages for part in lenient.mappings(item.get("content"))]
        thoughts = [_reasoning(item) for item in items if item.get("type") == "reasoning"]
        incomplete = lenient.mapping(answer.get("incomplete_details")).get("reason")
        return Completion(
            "".join(lenient.text(part.get("text")) for part in said),
            token_count(usage.get("input_tokens")),
            token_count(usage.get("output_tokens")),
            lenient.text(answer.get("model")) or None,
            tool_calls=tuple(filter(None, map(_tool_call, items))),
            finish_reason=lenient.text(incomplete or answer.get("status")) or None,
            reasoning="\n".join(thoughts) or None,
            refusal="".join(lenient.text(p.get("refusal")) for p in said) or None,
        )

    def answer(self, completion: Completion) -> dict[str, Any]:
        output: list[dict[str, Any]] = []
        if completion.text or completion.refusal or not completion.tool_calls:
            said = {"type": "output_text", "text": completion.text, "annotations": []}
            if completion.refusal:
                said = {"type": "refusal", "refusal": completion.refusal}
            message = {"id": "msg_1", "type": "message", "role": "assistant"}
            output.append({**message, "status": "completed", "content": [said]})
        output += [
            {
                "id": f"fc_{number}", "type": "function_call", "status": "completed",
                "call_id": call.id, "name": call.name, "arguments": call.arguments,
            }
            for number, call in enumerate(completion.tool_calls, start=1)
        ]  # fmt: skip
        head = {"object": "response", "status": "completed", "model": completion.model or "model"}
        return {**head, "output": output, **self._usage(completion)}

    def usage(self, prompt: int, completion: int) -> dict[str, Any]:
        """Return the counts of tokens, with details that some clients require."""
        return {
            "input_tokens": prompt,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": completion,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": prompt + completion,
        }

    def served(self, answer: Mapping[str, Any], digest: str) -> dict[str, Any]:
        return {
            "id": f"resp_{digest}", "created_at": 0, "error": None, "incomplete_details": None,
            "instructions": None, "metadata": {}, "parallel_tool_calls": True,
            "temperature": None, "tool_choice": "auto", "tools": [], "top_p": None, **answer,
        }  # fmt: skip

    def collect(self, events: Sequence[Any]) -> dict[str, Any]:
        for event in reversed(lenient.mappings(events)):
            if event.get("type") in _ENDS:
                return dict(lenient.mapping(event.get("response")))
        return {}

    def events(self, answer: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the events of a stream: for each item its beginning, its content and its end."""
        begun = {**answer, "status": "in_progress", "output": []}
        kinds = ("response.created", "response.in_progress")
        events: list[dict[str, Any]] = [{"type": kind, "response": begun} for kind in kinds]
        for index, item in enumerate(lenient.mappings(answer.get("output"))):
            events += _item_events(index, item)
        end = f"response.{answer.get('status')}"
        end = end if end in _ENDS else "response.completed"
        events.append({"type": end, "response": dict(answer)})
        return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def _item_events(index: int, item: Mapping[str, Any]) -> list[dict[str, Any]]:
    where = {"output_index": index, "item_id": item.get("id", "")}
    begun = {**item, "status": "in_progress"}
    middle: list[dict[str, Any]] = []
    if item.get("type") == "message":
        begun["content"] = []
        for number, part in enumerate(lenient.mappings(item.get("content"))):
            name = "refusal" if part.get("type") == "refusal" else "text"
            kind = f"response.{name}" if name == "refusal" else "response.output_text"
            here = {**where, "content_index": number}
            said = lenient.text(part.get(name))
            middle += [
                {"type": "response.content_part.added", **here, "part": {**part, name: ""}},
                {"type": f"{kind}.delta", **here, "delta": said, "logprobs": []},
                {"type": f"{kind}.done", **here, name: said, "logprobs": []},
                {"type": "response.content_part.done", **here, "part": dict(part)},
            ]
    elif item.get("type") == "function_call":
        begun["arguments"] = ""
        kind = "response.function_call_arguments"
        given, name = lenient.text(item.get("arguments")), lenient.text(item.get("name"))
        middle = [
            {"type": f"{kind}.delta", **where, "delta": given},
            {"type": f"{kind}.done", **where, "arguments": given, "name": name},
        ]
    return [
        {"type": "response.output_item.added", "output_index": index, "item": begun},
        *middle,
        {"type": "response.output_item.done", "output_index": index, "item": dict(item)},
    ]


def _message(item: Mapping[str, Any]) -> Message:
    kind = item.get("type", "message")
    if call := _tool_call(item):
        return Message("assistant", "", (call,))
    if kind in ("function_call_output", "custom_tool_call_output"):
        output = lenient.content_text(item.get("output"))
        return Message("tool", output, tool_call_id=lenient.text(item.get("call_id")) or None)
    if kind == "message":
        return Message(lenient.text(item.get("role")), lenient.content_text(item.get("content")))
    if kind == "reasoning":
        return Message("reasoning", _reasoning(item))
    return Message(lenient.text(kind), lenient.json_text(dict(item)))


def _reasoning(item: Mapping[str, Any]) -> str:
    return lenient.content_text(item.get("summary") or item.get("content"))


def _tool_call(item: Mapping[str, Any]) -> ToolCall | None:
    if item.get("type") not in ("function_call", "custom_tool_call"):
        return None
    arguments = item.get("arguments", item.get("input", ""))
    return lenient.tool_call(item.get("call_id"), item.get("name"), arguments)
