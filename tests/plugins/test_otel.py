"""Traces by OpenTelemetry: live, from a worker, and of recorded items, at a real OTLP receiver."""

import gzip
import http.server
import sys
import threading

import pytest
from opentelemetry import trace
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.semconv import schemas
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes, test_attributes
from support.projects import FAKE_PAGE

from pytest_miniwob_agent.cli import main
from pytest_miniwob_agent.plugins.otel import spans

TRACE = ("results", "otel", "--")

CONVENTIONS = {
    value
    for module in (gen_ai_attributes, test_attributes)
    for value in vars(module).values()
    if isinstance(value, str)
}


class Collector:
    """An OTLP receiver over HTTP, which keeps the spans that it gets."""

    def __init__(self):
        self.spans = []
        self.scopes = []
        self.service = ""
        self.status = 200
        self.answering = threading.Event()
        self.answering.set()
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                if collector.status == 200:
                    collector.take(ExportTraceServiceRequest.FromString(body))
                collector.answering.wait()
                self.send_response(collector.status)
                self.end_headers()

            def log_message(self, *args):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def take(self, request):
        for resource in request.resource_spans:
            self.service = dict(attributes(resource.resource))["service.name"]
            for scope in resource.scope_spans:
                self.scopes.append(scope.schema_url)
                self.spans += scope.spans

    def below(self, span):
        found = [one for one in self.spans if one.parent_span_id == span.span_id]
        return sorted(found, key=lambda one: one.start_time_unix_nano)

    def close(self):
        self.answering.set()
        self._server.shutdown()
        self._server.server_close()


def attributes(described):
    found = {}
    for one in described.attributes:
        value = getattr(one.value, one.value.WhichOneof("value"))
        values = getattr(value, "values", None)
        found[one.key] = [each.string_value for each in values] if values is not None else value
    return found


@pytest.fixture
def collector(monkeypatch):
    """A receiver, in a process that has sent no traces yet."""
    server = Collector()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.url)
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", None)
    monkeypatch.setattr(trace, "_TRACER_PROVIDER_SET_ONCE", trace.Once())
    yield server
    server.answering.set()
    if (provider := trace._TRACER_PROVIDER) is not None:
        provider.shutdown()
    server.close()


def test_an_item_is_a_trace_of_trials_calls_and_actions(record, collector):
    record.makepyfile(graders="def brief(episode):\n    return episode.steps / 4")
    graders = "--miniwob-graders=graders:brief"
    run = record.runpytest("--miniwob-otel", graders, "-k", "click-menu-2", "-n1")
    run.assert_outcomes(failed=2)
    items = [span for span in collector.spans if not span.parent_span_id]
    assert {span.name for span in items} == {"invoke_agent reflective"}
    assert len({span.trace_id for span in items}) == 2
    assert collector.service == "pytest-miniwob-agent"
    assert set(collector.scopes) == {spans.SCHEMA}
    item = next(span for span in items if attributes(span)["miniwob.seed"] == 1)
    found = attributes(item)
    assert found["gen_ai.operation.name"] == "invoke_agent"
    assert found["test.case.name"] == "n-screen-n-step/click-menu-2/1"
    assert (found["test.case.result.status"], found["miniwob.outcome"]) == ("fail", "unsolved")
    verdict, grade = item.events
    grade = attributes(grade)
    assert grade["gen_ai.evaluation.name"] == "brief"
    assert grade["gen_ai.evaluation.score.value"] == 0.5
    assert grade["gen_ai.evaluation.score.label"] == "fail"
    assert verdict.name == "gen_ai.evaluation.result"
    assert attributes(verdict)["gen_ai.evaluation.score.value"] == 1
    [trial] = collector.below(item)
    assert (trial.name, attributes(trial)["miniwob.ending"]) == ("trial 1", "correct")
    parts = collector.below(trial)
    calls = [attributes(span) for span in parts if span.name == "chat m"]
    assert [call["miniwob.purpose"] for call in calls] == ["plan", "summarise", "plan"]
    assert found["miniwob.calls.replayed"] == len(calls)
    assert calls[0]["gen_ai.usage.input_tokens"] == 11
    assert found["gen_ai.usage.input_tokens"] == 11 * len(calls)
    assert [span.name for span in parts if "chat" not in span.name] == ["execute_tool Click"] * 2
    for span in [item, trial, *parts]:
        assert item.start_time_unix_nano <= span.start_time_unix_nano <= span.end_time_unix_nano
        assert span.end_time_unix_nano <= item.end_time_unix_nano
    names = {name for span in [*collector.spans, verdict] for name in attributes(span)}
    assert {name for name in names if not name.startswith("miniwob.")} <= CONVENTIONS | {
        "error.type"
    }


def test_a_trace_names_the_provider_of_the_api(project, collector):
    project.write(
        asking="""
        from pytest_miniwob_agent import ModelRequest

        class Asking:
            name = "asking"

            def solve(self, env, llm, note):
                env.reset()
                asked = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}
                llm.post(ModelRequest("/v1/messages", asked))
        """,
        conftest=FAKE_PAGE
        + """
    @pytest.fixture
    def miniwob_llm():
        from pytest_miniwob_agent.testing import ScriptedLLM
        return ScriptedLLM(["Hi"])
""",
    )
    args = ("--miniwob-otel", "--miniwob-agent=asking:Asking", "--miniwob-trials=1")
    project.runpytest(*args, "-k", "click-menu-2/1").assert_outcomes(failed=1)
    named = {
        span.name: attributes(span)["gen_ai.provider.name"]
        for span in collector.spans
        if "gen_ai.provider.name" in attributes(span)
    }
    assert named == {"invoke_agent asking": "anthropic", "chat scripted": "anthropic"}


def test_an_item_without_a_cassette_is_a_trace_with_an_error(project, collector):
    run = project.runpytest("--miniwob-otel", "-k", "click-menu-2/1")
    run.assert_outcomes(errors=1)
    [item] = [span for span in collector.spans if not span.parent_span_id]
    assert attributes(item)["error.type"]
    assert item.status.code == item.status.STATUS_CODE_ERROR


def test_recorded_items_are_traced_afterwards(record, collector, monkeypatch, capsys):
    monkeypatch.chdir(record.path)
    record.write(ini="miniwob_otel = true\n")
    assert main(["show", "click-menu-2/1"]) == 0
    assert not collector.spans
    capsys.readouterr()
    assert main([*TRACE, "-k", "click-menu-2"]) == 0
    assert capsys.readouterr().out == "sent the traces of 2 items\n"
    assert len({span.trace_id for span in collector.spans}) == 2
    assert main([*TRACE, "-k", "nothing"]) == 2
    assert "no item was replayed" in capsys.readouterr().err


LIVE, WORKER = ("--miniwob-otel", "-q"), ("--miniwob-otel", "-q", "-n1")


@pytest.mark.parametrize(
    ("trouble", "reason", "command"),
    [
        (404, "answered 404", LIVE),
        ("silent", "took no more within 0.2 seconds", TRACE),
        pytest.param("refused", "can't be reached", LIVE, marks=pytest.mark.sweep),
        pytest.param(503, "answered Service Unavailable", WORKER, marks=pytest.mark.sweep),
    ],
)
def test_a_collector_that_takes_nothing_costs_a_line(
    record, collector, monkeypatch, capfd, trouble, reason, command
):
    monkeypatch.chdir(record.path)
    if trouble == "silent":
        collector.answering.clear()
        monkeypatch.setattr(spans, "PATIENCE", 0.2)
    elif isinstance(trouble, int):
        collector.status = trouble
    else:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    line = f"traces were lost: the collector {reason} (OTEL_EXPORTER_OTLP_ENDPOINT names it)"
    capfd.readouterr()
    if command == TRACE:
        assert main([*TRACE, "-k", "click-menu-2"]) == 2
        assert capfd.readouterr() == ("", f"miniwob-agent: {line}\n")
    else:
        run = record.runpytest(*command, "-k", "click-menu-2")
        run.assert_outcomes(passed=2)
        assert run.errlines == []
        kept = [shown for shown in run.outlines if shown and not shown.startswith(("bring", ".."))]
        assert kept[:-1] == [line]


def test_the_pinned_conventions_are_those_of_the_package():
    assert spans.SCHEMA in {schema.value for schema in schemas.Schemas}
    operations = {one.value for one in gen_ai_attributes.GenAiOperationNameValues}
    assert operations >= {"invoke_agent", "chat", "execute_tool"}


def test_without_the_extra_the_error_names_it(project, monkeypatch):
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    run = project.runpytest("--miniwob-otel")
    assert run.ret == pytest.ExitCode.USAGE_ERROR
    run.stderr.fnmatch_lines(["*pip install 'pytest-miniwob-agent[[]otel[]]'*"])
