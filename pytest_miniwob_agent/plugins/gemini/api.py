"""Google's `generateContent`: https://ai.google.dev/api/generate-content."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_miniwob_agent.core.chat import Message, ToolCall, token_count
from pytest_miniwob_agent.core.events import Completion
from pytest_miniwob_agent.models.api import (
    API,
    Provider,
    content_text,
    json_text,
    mapping,
    mappings,
    parsed_arguments,
    string,
    tool_call,
)

# Methods of models. A colon in the name of a model, as in `ft:gpt-5`, is no method.
_METHOD = re.compile(r"models/[\w.-]+:[a-z]+[A-Z]\w*")

_VERTEX = re.compile(
    r"/v1(?:beta1)?/(?:projects/[\w.-]+/locations/[\w-]+/)?publishers/google/" + _METHOD.pattern
)


class Gemini(API):
    """The API of `/v1beta/models/MODEL:generateContent`, of other versions, and of its stream."""

    path = "/v1beta/"
    provider = Provider(
        "gcp.gemini",
        "GEMINI_API_KEY",
        "x-goog-api-key",
        "https://generativelanguage.googleapis.com/v1",
    )

    def reads(self, path: str) -> bool:
        return self.serves(path) and path.lower().endswith("generatecontent")

    def serves(self, path: str) -> bool:
        version, _, rest = path.lstrip("/").partition("/")
        return path.startswith(self.path) or (
            version in ("v1", "v1beta1") and _METHOD.fullmatch(rest) is not None
        )

    def streams(self, path: str, body: Mapping[str, Any]) -> bool:
        return path.endswith(":streamGenerateContent")

    def messages(self, body: Mapping[str, Any]) -> list[Message]:
        system = content_text(_parts(body.get("systemInstruction")))
        found = [Message("system", system)] if system else []
        for content in mappings(body.get("contents")):
            said = []
            for part in _parts(content):
                if isinstance(result := part.get("functionResponse"), Mapping):
                    id_ = string(result.get("id")) or None
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
        return {string(each.get("name")): each for some in declared for each in some}

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
            texts[bool(part.get("thought"))] += string(part.get("text"))
        return Completion(
            texts[False],
            asked,
            None if said is None else said + (thought or 0),
            string(answer.get("modelVersion")) or None,
            tool_calls=_function_calls(content),
            finish_reason=string(first.get("finishReason")).lower() or None,
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


class Vertex(Gemini):
    """The same on Vertex AI, below `/v1/projects/...` and `/v1beta1/publishers/...`.

    It is the global server's; those of regions are named by `--miniwob-base-url`.
    """

    path = "/v1beta1/publishers/"
    provider = Provider(
        "gcp.vertex_ai",
        "GOOGLE_API_KEY",
        "x-goog-api-key",
        "https://aiplatform.googleapis.com/v1",
    )

    def serves(self, path: str) -> bool:
        return _VERTEX.fullmatch(path) is not None


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
    return string(feedback.get("blockReason")) or None
