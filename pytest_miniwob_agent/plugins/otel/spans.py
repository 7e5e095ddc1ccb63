"""Traces of items by OpenTelemetry (`--miniwob-otel`), with the names of its GenAI conventions.

An item is a span `invoke_agent`, a trial a span below it, and below that each model call is a span
`chat` and each action one `execute_tool`. The page's verdict is an event of the item's span. The
attributes are those of version 1.44 of the semantic conventions
(https://opentelemetry.io/docs/specs/semconv/gen-ai/); our own begin with `miniwob.`. No text of a
prompt, completion or page is sent.
"""

from __future__ import annotations

import logging
import os
import re
import threading
import time
from collections import defaultdict
from collections.abc import Mapping
from importlib.metadata import version
from logging.handlers import BufferingHandler
from typing import TYPE_CHECKING, Any

from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.events import (
    Acted,
    Called,
    Event,
    Origin,
    Reflected,
    Remark,
    TrialEnded,
    TrialStarted,
)
from pytest_miniwob_agent.core.outcome import Outcome, Status
from pytest_miniwob_agent.core.protocols import Observer
from pytest_miniwob_agent.models.api import OPENAI
from pytest_miniwob_agent.models.apis import find_provider

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

PACKAGE = "pytest-miniwob-agent"

SCHEMA = "https://opentelemetry.io/schemas/1.44.0"
"""The version of the conventions."""

PATIENCE = 2.0
"""Seconds that the end of a run waits for spans to be sent."""


class Traces:
    """The traces of a run in this process, by its `tracer`.

    Without a tracer provider in the process, it installs one that sends them by OTLP over HTTP, to
    the address in `OTEL_EXPORTER_OTLP_ENDPOINT` (by default http://localhost:4318).

    Raises:
        UsageError: the packages of the extra `otel` are missing.
    """

    def __init__(self) -> None:
        try:
            from opentelemetry import trace
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
        except ImportError as error:
            raise UsageError(
                f"--miniwob-otel needs OpenTelemetry ({error}): pip install '{PACKAGE}[otel]'"
            ) from None
        self._log = BufferingHandler(10_000)  # what the library has to say, in one line of ours
        self._logger = logging.getLogger("opentelemetry")
        self._logger.addHandler(self._log)
        self._logger.propagate = False
        provider: Any = trace.get_tracer_provider()
        if isinstance(provider, trace.ProxyTracerProvider):
            resource = Resource.create(
                {"service.name": os.environ.get("OTEL_SERVICE_NAME", PACKAGE)}
            )
            provider = TracerProvider(resource=resource, shutdown_on_exit=False)  # it may wait long
            provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
            trace.set_tracer_provider(provider)
        self._flush = getattr(provider, "force_flush", lambda: None)
        self.tracer = trace.get_tracer(PACKAGE, version(PACKAGE), schema_url=SCHEMA)

    def finish(self) -> str:
        """Send what has not been sent yet; return why not all was sent, empty if it was."""
        sending = threading.Thread(target=self._flush, daemon=True)
        sending.start()
        sending.join(PATIENCE)
        records = list(self._log.buffer)
        if not sending.is_alive():  # it logs nothing any more
            self._logger.removeHandler(self._log)
            self._logger.propagate = True
            if not any(record.levelno >= logging.ERROR for record in records):
                return ""
        logged = "\n".join(record.getMessage() for record in records)
        reason = "can't be reached" if logged else f"took no more within {PATIENCE:g} seconds"
        if found := re.findall(r"code: (\d+)|error ([\w ]+) encountered", logged):
            reason = f"answered {''.join(found[-1])}"
        return f"traces were lost: the collector {reason} (OTEL_EXPORTER_OTLP_ENDPOINT names it)"


class Spans(Observer):
    """Makes the spans of one item as it runs.

    Args:
        tracer: makes them.
        agent, model: the names of the item's agent and model.
    """

    def __init__(self, tracer: Tracer, agent: str, model: str) -> None:
        self._tracer = tracer
        self._agent, self._model = agent, model
        self._item: Span | None = None
        self._trial: Span | None = None
        self._asked: dict[tuple[str, int, int], list[int]] = defaultdict(list)
        # The time of the latest event, at which the next action begins.
        self._last = 0

    def before_episode(self, case: Case) -> None:
        # The episode may begin again in a new browser.
        self._end()
        self._last = time.time_ns()
        self._item = self._tracer.start_span(
            f"invoke_agent {self._agent}",
            attributes={
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.provider.name": OPENAI.name,
                "gen_ai.agent.name": self._agent,
                "gen_ai.request.model": self._model,
                "gen_ai.conversation.id": case.id,
                "test.case.name": case.id,
                "miniwob.task": case.task,
                "miniwob.seed": case.seed,
            },
        )

    def before_call(self, origin: Origin) -> None:
        self._asked[origin.purpose, origin.trial, origin.step].append(time.time_ns())

    def on_event(self, event: Event) -> None:
        match event:
            case TrialStarted(trial=number):
                self._end_trial()
                self._trial = self._start(f"trial {number}", {"miniwob.trial": number})
            case Called():
                if self._item is not None:
                    provider = find_provider(event.path).name
                    self._item.set_attribute("gen_ai.provider.name", provider)
                asked = self._asked[event.purpose, event.trial, event.step]
                began = asked.pop(0) if asked else self._last
                self._start(
                    f"chat {self._model}", self._call_attributes(event), began, client=True
                ).end()
            case Acted(action=action, transition=transition):
                name = type(action).__name__
                attributes: dict[str, Any] = {
                    "gen_ai.operation.name": "execute_tool",
                    "gen_ai.tool.name": name,
                    "gen_ai.tool.type": "function",
                    "miniwob.reward": transition.reward,
                }
                if transition.error:
                    attributes["error.type"] = "not_possible"
                self._start(f"execute_tool {name}", attributes, self._last).end()
            case TrialEnded(ending=ending) if self._trial is not None:
                self._trial.set_attribute("miniwob.ending", str(ending))
            case Reflected() if self._trial is not None:
                self._trial.add_event("miniwob.reflection")
            case Remark(what=what) if self._trial is not None:
                self._trial.add_event("miniwob.remark", {"miniwob.remark.kind": what})
        self._last = time.time_ns()

    def after_item(self, outcome: Outcome) -> None:
        if self._item is None:  # it failed before its episode
            self.before_episode(outcome.case)
        item = self._item
        assert item is not None
        usage = outcome.replayed + outcome.recorded
        item.set_attributes(
            {
                "gen_ai.usage.input_tokens": usage.prompt,
                "gen_ai.usage.output_tokens": usage.completion,
                "miniwob.calls.replayed": outcome.replayed.calls,
                "miniwob.calls.recorded": outcome.recorded.calls,
                "miniwob.outcome": str(outcome.status),
                "test.case.result.status": "pass" if outcome.solved else "fail",
            }
        )
        if outcome.episode is not None:
            item.add_event(
                "gen_ai.evaluation.result",
                {
                    "gen_ai.evaluation.name": "MiniWoB++ reward",
                    "gen_ai.evaluation.score.value": outcome.episode.reward,
                    "gen_ai.evaluation.score.label": str(outcome.status),
                },
            )
        for grade in outcome.result.grades:
            item.add_event(
                "gen_ai.evaluation.result",
                {
                    "gen_ai.evaluation.name": grade.grader,
                    "gen_ai.evaluation.score.value": grade.score,
                    "gen_ai.evaluation.score.label": "pass" if grade.passed else "fail",
                    "gen_ai.evaluation.explanation": grade.reason,
                },
            )
        if outcome.status is Status.ERROR:
            from opentelemetry.trace import StatusCode

            item.set_attribute("error.type", outcome.error)
            item.set_status(StatusCode.ERROR)
        self._end()

    def _start(
        self,
        name: str,
        attributes: Mapping[str, Any],
        began: int | None = None,
        *,
        client: bool = False,
    ) -> Span:
        from opentelemetry.trace import SpanKind, set_span_in_context

        above = self._item if name.startswith("trial ") else self._trial or self._item
        return self._tracer.start_span(
            name,
            context=set_span_in_context(above) if above is not None else None,
            kind=SpanKind.CLIENT if client else SpanKind.INTERNAL,
            attributes=attributes,
            start_time=began,
        )

    def _call_attributes(self, call: Called) -> dict[str, Any]:
        said = call.completion
        found = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": find_provider(call.path).name,
            "gen_ai.request.model": self._model,
            "gen_ai.response.model": said.model,
            "gen_ai.response.finish_reasons": [said.finish_reason] if said.finish_reason else None,
            "gen_ai.usage.input_tokens": said.prompt_tokens,
            "gen_ai.usage.output_tokens": said.completion_tokens,
            "gen_ai.usage.cache_read.input_tokens": said.cached_tokens or None,
            "gen_ai.usage.cache_creation.input_tokens": said.written_tokens or None,
            "miniwob.purpose": call.purpose,
            "miniwob.step": call.step,
        }
        return {name: value for name, value in found.items() if value is not None}

    def _end_trial(self) -> None:
        if self._trial is not None:
            self._trial.end()
            self._trial = None

    def _end(self) -> None:
        self._end_trial()
        if self._item is not None:
            self._item.end()
            self._item = None
