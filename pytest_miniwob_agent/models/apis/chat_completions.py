"""OpenAI's Chat Completions (https://platform.openai.com/docs/api-reference/chat)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pytest_miniwob_agent.core.chat import Message, ToolCall, token_count
from pytest_miniwob_agent.core.events import Completion
from pytest_miniwob_agent.models.apis import lenient
from pytest_miniwob_agent.models.apis.api import API


class ChatCompletions(API):
    """The API of `/v1/chat/completions`."""

    path = "/v1/chat/completions"

    def messages(self, body: Mapping[str, Any]) -> list[Message]:
        return [
            Message(
                lenient.text(message.get("role")),
                lenient.content_text(message.get("content")),
                _tool_calls(message),
                lenient.text(message.get("tool_call_id")) or None,
            )
            for message in lenient.mappings(body.get("messages"))
        ]

    def tools(self, body: Mapping[str, Any]) -> dict[str, Any]:
        tools = lenient.mappings(body.get("tools"))
        functions = [lenient.mapping(tool.get("function")) for tool in tools]
        return {lenient.text(function.get("name")): function for function in functions}

    def is_answer(self, answer: Mapping[str, Any]) -> bool:
        choice = next(iter(lenient.mappings(answer.get("choices"))), {})
        message = lenient.mapping(choice.get("message"))
        said = map(message.get, ("tool_calls", "function_call", "refusal", "audio"))
        failed = (
            answer.get("error") or choice.get("error") or choice.get("finish_reason") == "error"
        )
        return not failed and (isinstance(message.get("content"), str | list) or any(said))

    def completion(self, answer: Mapping[str, Any]) -> Completion:
        usage = lenient.mapping(answer.get("usage"))
        first, *others = map(_choice, lenient.mappings(answer.get("choices")) or [{}])
        return replace(
            first,
            prompt_tokens=token_count(usage.get("prompt_tokens")),
            completion_tokens=token_count(usage.get("completion_tokens")),
            model=lenient.text(answer.get("model")) or None,
            system_fingerprint=lenient.text(answer.get("system_fingerprint")) or None,
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
        """Return the answer that the chunks of a stream add up to."""
        answer: dict[str, Any] = {}
        choices: dict[Any, dict[str, Any]] = {}
        for chunk in lenient.mappings(events):
            answer |= {name: part for name, part in chunk.items() if part is not None}
            for piece in lenient.mappings(chunk.get("choices")):
                index = piece.get("index")
                key = index if isinstance(index, int) else 0
                choice = choices.setdefault(key, {})
                choice |= {
                    name: lenient.joined(choice.get(name), part) if name == "logprobs" else part
                    for name, part in piece.items()
                    if part is not None and name not in ("delta", "message")
                }
                delta = lenient.mapping(piece.get("delta"))
                choice["message"] = lenient.joined(choice.get("message", {}), delta)
        for key, choice in choices.items():
            message = choice["message"] = {"content": None, **choice["message"]}
            message["role"], choice["index"] = "assistant", key
            if calls := lenient.mappings(message.get("tool_calls")):
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
        for choice in lenient.mappings(answer.get("choices")):
            delta = dict(lenient.mapping(choice.get("message")))
            if calls := lenient.mappings(delta.get("tool_calls")):
                delta["tool_calls"] = [{"index": n, **call} for n, call in enumerate(calls)]
            end = choice.get("finish_reason", "stop")
            for part, reason in ((delta, None), ({}, end)):
                piece = {"index": choice.get("index", 0), "delta": part, "finish_reason": reason}
                chunks.append({**head, "choices": [piece]})
        if answer.get("usage") is not None:
            chunks.append({**head, "choices": [], "usage": answer["usage"]})
        return chunks

    def stream(self, answer: Mapping[str, Any]) -> str:
        """Return an answer as the text of a stream, whose events have no names."""
        events = (f"data: {json.dumps(e, ensure_ascii=False)}\n\n" for e in self.events(answer))
        return "".join(events) + "data: [DONE]\n\n"


def _choice(choice: Mapping[str, Any]) -> Completion:
    """Return what one choice of an answer says."""
    message = lenient.mapping(choice.get("message"))
    content = message.get("content")
    # Mistral's thoughts are parts of the content.
    thoughts = [part["thinking"] for part in lenient.mappings(content) if "thinking" in part]
    if thoughts:
        content = [part for part in lenient.mappings(content) if "thinking" not in part]
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    said = Completion(
        lenient.content_text(content),
        tool_calls=_tool_calls(message),
        finish_reason=lenient.text(choice.get("finish_reason")) or None,
        reasoning=lenient.text(reasoning) or "\n".join(map(lenient.content_text, thoughts)) or None,
        refusal=lenient.text(message.get("refusal")) or None,
    )
    back = _sent_back(message, said.message)
    return said if back == said.message else replace(said, original=back)


def _sent_back(message: Mapping[str, Any], plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message as it came, less what servers refuse; `plain` has what all servers have."""
    back = {name: part for name, part in message.items() if part is not None and part != []}
    back = {"role": "assistant", **back, "content": back.get("content") or plain["content"]}
    if audio := lenient.mapping(back.get("audio")):
        back["audio"] = {"id": audio.get("id")}
    if calls := lenient.mappings(back.pop("tool_calls", None)):
        both = zip(calls, plain["tool_calls"], strict=False)
        back["tool_calls"] = [_whole_call(call, said) for call, said in both]
    return back


def _tool_calls(message: Mapping[str, Any]) -> tuple[ToolCall, ...]:
    calls = lenient.mappings(message.get("tool_calls"))
    if isinstance(old := message.get("function_call"), Mapping):
        calls.append({"function": old})
    found = []
    for call in calls:
        function = lenient.mapping(call.get("function") or call.get("custom"))
        arguments = function.get("arguments", function.get("input", ""))
        found.append(lenient.tool_call(call.get("id"), function.get("name"), arguments))
    return tuple(found)


def _whole_call(call: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    """Return a call as it came, with what each call has, and without its number in a stream."""
    whole = {"id": "", "type": "function", **call}
    whole.pop("index", None)
    if "custom" in call:
        return whole
    first, second = (lenient.mapping(each.get("function")) for each in (call, said))
    return {**whole, **said, "function": {"name": "", "arguments": "", **first, **second}}
