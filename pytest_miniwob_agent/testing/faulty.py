"""A model that damages one answer of another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from pytest_miniwob_agent.core.chat import ModelRequest, ModelResponse
from pytest_miniwob_agent.core.events import OF_TEST, Completion, Origin
from pytest_miniwob_agent.core.protocols import HTTPModel
from pytest_miniwob_agent.models.apis import parse_answer, parse_completion
from pytest_miniwob_agent.testing.fakes import ScriptedLLM


def _with_calls(completion: Completion, **changes: Callable[[str], str]) -> Completion:
    calls = tuple(
        replace(call, **{name: change(getattr(call, name)) for name, change in changes.items()})
        for call in completion.tool_calls
    )
    return replace(completion, tool_calls=calls)


FAULTS: Mapping[str, Callable[[Completion], Completion]] = {
    "cut-off": lambda answer: replace(
        _with_calls(answer, arguments=lambda text: text[: len(text) // 2]),
        text=answer.text[: len(answer.text) // 2],
        finish_reason="length",
    ),
    "damaged-json": lambda answer: _with_calls(answer, arguments=lambda text: text[:-1]),
    "unknown-tool": lambda answer: _with_calls(answer, name=lambda name: f"{name}_now"),
    "refusal": lambda _: Completion("", refusal="I can't help with that.", finish_reason="stop"),
}
"""What `FaultyLLM` does to an answer, by names that perturbations may have."""


class FaultyLLM(ScriptedLLM):
    """A model that hands one answer of another model on damaged, and all others as they are.

    Args:
        llm: the other model, such as the value of the fixture `miniwob_llm`.
        fault: a name of `FAULTS`.
        call: the number of the call, from 1. If there is nothing to damage in its answer, as it
            calls no tool, the next one is damaged.
    """

    def __init__(self, llm: HTTPModel, fault: str, call: int = 1) -> None:
        super().__init__(())
        self.model, self.params, self.live = llm.model, llm.params, llm.live
        self._llm, self._fault, self._call = llm, FAULTS[fault], call
        self.damaged = 0
        """The number of the call whose answer was damaged; 0 if there was no damage so far."""

    def post(self, request: ModelRequest, origin: Origin = OF_TEST) -> ModelResponse:
        """Return the other model's answer, or what is made of it."""
        self.requests.append(request)
        response = self._llm.post(request, origin)
        answer = parse_answer(request.path, response.content, response.content_type)
        if self.damaged or len(self.requests) < self._call or answer is None:
            return response
        completion = parse_completion(request.path, answer)
        if (faulty := self._fault(completion)) == completion:
            return response
        self.damaged = len(self.requests)
        return self.say(request, faulty)
