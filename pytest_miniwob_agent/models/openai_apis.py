"""OpenAI's APIs: Chat Completions and Responses (https://platform.openai.com/docs/api-reference)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pytest_miniwob_agent.core.chat import Message, ToolCall, token_count
from pytest_miniwob_agent.core.events import Completion
from pytest_miniwob_agent.models.api import (
    API,
    content_text,
    joined,
    json_text,
    mapping,
    mappings,
    string,
    tool_call,
)


class ChatCompletions(API):
    """The API of `/v1/chat/completions`."""

    path = "/v1/chat/completions"

    def messages(self, body: Mapping[str, Any]) -> list[Message]:
        return [
            Message(
                string(message.get("role")),
                content_text(message.get("content")),
                _tool_calls(message),
                string(message.get("tool_call_id")) or None,
            )
            for message in mappings(body.get("messages"))
        ]

    def tools(self, body: Mapping[str, Any]) -> dict[str, Any]:
        tools = mappings(body.get("tools"))
        functions = [mapping(tool.get("function")) for tool in tools]
        return {string(function.get("name")): function for function in functions}

    def is_answer(self, answer: Mapping[str, Any]) -> bool:
        choice = next(iter(mappings(answer.get("choices"))), {})
        message = mapping(choice.get("message"))
        said = map(message.get, ("tool_calls", "function_call", "refusal", "audio"))
        content, end = message.get("content"), choice.get("finish_reason")
        failed = answer.get("error") or choice.get("error") or end == "error"
        cut_off = not content and end == "length"
        has_text = isinstance(content, str | list) and not cut_off
        return not failed and (has_text or any(said))

    def completion(self, answer: Mapping[str, Any]) -> Completion:
        usage = mapping(answer.get("usage"))
        first, *others = map(_choice, mappings(answer.get("choices")) or [{}])
        return replace(
            first,
            prompt_tokens=token_count(usage.get("prompt_tokens")),
            completion_tokens=token_count(usage.get("completion_tokens")),
            model=string(answer.get("model")) or None,
            system_fingerprint=string(answer.get("system_fingerprint")) or None,
            others=tuple(others),
        )

    def answer(self, completion: Completion) -> dict[str, Any]:
        choices = []
        for index, said in enumerate((completion, *completion.others)):
            extra = {"refusal": said.refusal, "reasoning_content": said.reasoning}
            message = said.message | {name: text for name, text in extra.items() if text}
            end = said.finish_reason or ("tool_calls" if said.tool_calls else "stop")
            choices.append({"index": index, "finish_reason": end, "message": message})
        model = completion.model or "model"
        answer = {"object": "chat.completion", "model": model, "choices": choices}
        return answer | self._usage(completion)

    def usage(self, prompt: int, completion: int) -> dict[str, Any]:
        counts = {"prompt_tokens": prompt, "completion_tokens": completion}
        return {**counts, "total_tokens": prompt + completion}

    def served(self, answer: Mapping[str, Any], digest: str) -> dict[str, Any]:
        return {"id": f"chatcmpl-{digest}", "created": 0, **answer}

    def collect(self, events: Sequence[Any]) -> dict[str, Any]:
        answer: dict[str, Any] = {}
        choices: dict[Any, dict[str, Any]] = {}
        for chunk in mappings(events):
            answer |= {name: part for name, part in chunk.items() if part is not None}
            for piece in mappings(chunk.get("choices")):
                index = piece.get("index")
                key = index if isinstance(index, int) else 0
                choice = choices.setdefault(key, {})
                choice |= {
                    name: joined(choice.get(name), part) if name == "logprobs" else part
                    for name, part in piece.items()
                    if part is not None and name not in ("delta", "message")
                }
                delta = mapping(piece.get("delta"))
                choice["message"] = joined(choice.get("message", {}), delta)
        for key, choice in choices.items():
            message = choice["message"] = {"content": None, **choice["message"]}
            message["role"], choice["index"] = "assistant", key
            if calls := mappings(message.get("tool_calls")):
                message["tool_calls"] = [_whole_call(call, {}) for call in calls]
        answer |= {"object": "chat.completion", "choices": [choices[n] for n in sorted(choices)]}
        whole = any("finish_reason" in choice for choice in choices.values())
        return answer if whole else {}

    def events(self, answer: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the chunks of a stream: one for each choice, one with its end, one with usage."""
        head = {
            "id": answer.get("id", ""), "object": "chat.completion.chunk",
            "created": answer.get("created", 0), "model": answer.get("model", ""),
        }  # fmt: skip
        chunks = []
        for choice in mappings(answer.get("choices")):
            delta = dict(mapping(choice.get("message")))
            if calls := mappings(delta.get("tool_calls")):
                delta["tool_calls"] = [{"index": n, **call} for n, call in enumerate(calls)]
            end = choice.get("finish_reason", "stop")
            for part, reason in ((delta, None), ({}, end)):
                piece = {"index": choice.get("index", 0), "delta": part, "finish_reason": reason}
                chunks.append({**head, "choices": [piece]})
        if answer.get("usage") is not None:
            chunks.append({**head, "choices": [], "usage": answer["usage"]})
        return chunks

    def stream(self, answer: Mapping[str, Any]) -> str:
        # Its events have no names.
        events = (f"data: {json.dumps(e, ensure_ascii=False)}\n\n" for e in self.events(answer))
        return "".join(events) + "data: [DONE]\n\n"


def _choice(choice: Mapping[str, Any]) -> Completion:
    message = mapping(choice.get("message"))
    content = message.get("content")
    # Mistral's thoughts are parts of the content.
    thoughts = [part["thinking"] for part in mappings(content) if "thinking" in part]
    if thoughts:
        content = [part for part in mappings(content) if "thinking" not in part]
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    said = Completion(
        content_text(content),
        tool_calls=_tool_calls(message),
        finish_reason=string(choice.get("finish_reason")) or None,
        reasoning=string(reasoning) or "\n".join(map(content_text, thoughts)) or None,
        refusal=string(message.get("refusal")) or None,
    )
    back = _sent_back(message, said.message)
    return said if back == said.message else replace(said, original=back)


def _sent_back(message: Mapping[str, Any], plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message as it came, less what servers refuse; `plain` has what all servers have."""
    back = {name: part for name, part in message.items() if part is not None and part != []}
    back = {"role": "assistant", **back, "content": back.get("content") or plain["content"]}
    if audio := mapping(back.get("audio")):
        back["audio"] = {"id": audio.get("id")}
    if calls := mappings(back.pop("tool_calls", None)):
        both = zip(calls, plain["tool_calls"], strict=False)
        back["tool_calls"] = [_whole_call(call, said) for call, said in both]
    return back


def _tool_calls(message: Mapping[str, Any]) -> tuple[ToolCall, ...]:
    calls = mappings(message.get("tool_calls"))
    if isinstance(old := message.get("function_call"), Mapping):
        calls.append({"function": old})
    found = []
    for call in calls:
        function = mapping(call.get("function") or call.get("custom"))
        arguments = function.get("arguments", function.get("input", ""))
        found.append(tool_call(call.get("id"), function.get("name"), arguments))
    return tuple(found)


def _whole_call(call: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    whole = {"id": "", "type": "function", **call}
    whole.pop("index", None)
    if "custom" in call:
        return whole
    first, second = (mapping(each.get("function")) for each in (call, said))
    return {**whole, **said, "function": {"name": "", "arguments": "", **first, **second}}


_ENDS = ("response.completed", "response.incomplete", "response.failed")


class Responses(API):
    """The API of `/v1/responses`."""

    path = "/v1/responses"

    def messages(self, body: Mapping[str, Any]) -> list[Message]:
        found = []
        if instructions := content_text(body.get("instructions")):
            found.append(Message("system", instructions))
        if previous := string(body.get("previous_response_id")):
            found.append(Message("earlier", f"[the conversation up to {previous}]"))
        items = body.get("input")
        if isinstance(items, str):
            return [*found, Message("user", items)]
        return found + [_message(item) for item in mappings(items)]

    def tools(self, body: Mapping[str, Any]) -> dict[str, Any]:
        tools = mappings(body.get("tools"))
        return {string(tool.get("name") or tool.get("type")): tool for tool in tools}

    def is_answer(self, answer: Mapping[str, Any]) -> bool:
        return bool(answer) and not answer.get("error")

    def completion(self, answer: Mapping[str, Any]) -> Completion:
        usage = mapping(answer.get("usage"))
        items = mappings(answer.get("output"))
        messages = [item for item in items if item.get("type") == "message"]
        said = [part for item in messages for part in mappings(item.get("content"))]
        thoughts = [_reasoning(item) for item in items if item.get("type") == "reasoning"]
        incomplete = mapping(answer.get("incomplete_details")).get("reason")
        return Completion(
            "".join(string(part.get("text")) for part in said),
            token_count(usage.get("input_tokens")),
            token_count(usage.get("output_tokens")),
            string(answer.get("model")) or None,
            tool_calls=tuple(filter(None, map(_tool_call, items))),
            finish_reason=string(incomplete or answer.get("status")) or None,
            reasoning="\n".join(thoughts) or None,
            refusal="".join(string(p.get("refusal")) for p in said) or None,
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
        return {
            "input_tokens": prompt,
            # Some clients require the details.
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
        for event in reversed(mappings(events)):
            if event.get("type") in _ENDS:
                return dict(mapping(event.get("response")))
        return {}

    def events(self, answer: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the events of a stream: for each item its beginning, its content and its end."""
        begun = {**answer, "status": "in_progress", "output": []}
        kinds = ("response.created", "response.in_progress")
        events: list[dict[str, Any]] = [{"type": kind, "response": begun} for kind in kinds]
        for index, item in enumerate(mappings(answer.get("output"))):
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
        for number, part in enumerate(mappings(item.get("content"))):
            name = "refusal" if part.get("type") == "refusal" else "text"
            kind = f"response.{name}" if name == "refusal" else "response.output_text"
            here = {**where, "content_index": number}
            said = string(part.get(name))
            middle += [
                {"type": "response.content_part.added", **here, "part": {**part, name: ""}},
                {"type": f"{kind}.delta", **here, "delta": said, "logprobs": []},
                {"type": f"{kind}.done", **here, name: said, "logprobs": []},
                {"type": "response.content_part.done", **here, "part": dict(part)},
            ]
    elif item.get("type") == "function_call":
        begun["arguments"] = ""
        kind = "response.function_call_arguments"
        given, name = string(item.get("arguments")), string(item.get("name"))
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
        output = content_text(item.get("output"))
        return Message("tool", output, tool_call_id=string(item.get("call_id")) or None)
    if kind == "message":
        return Message(string(item.get("role")), content_text(item.get("content")))
    if kind == "reasoning":
        return Message("reasoning", _reasoning(item))
    return Message(string(kind), json_text(dict(item)))


def _reasoning(item: Mapping[str, Any]) -> str:
    return content_text(item.get("summary") or item.get("content"))


def _tool_call(item: Mapping[str, Any]) -> ToolCall | None:
    if item.get("type") not in ("function_call", "custom_tool_call"):
        return None
    arguments = item.get("arguments", item.get("input", ""))
    return tool_call(item.get("call_id"), item.get("name"), arguments)
