"""Properties, transcripts and pictures that other plugins report of an item."""

import base64
import html
import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from support.projects import FAKE_PAGE, OTHERS, REPORTING, SLOW
from support.sweeps import swept

EVIL = "\\x1b[2J<b>\\ud800\\u202e</b>\\n::error::"
"""In the source of a page: an escape sequence, a lone surrogate, a mark that reverses the text, and
a line that a workflow runner would obey."""

HOSTILE = re.compile("\x1b|\u202e|[\ud800-\udfff]|^ *::", re.M)
VERDICT = "FAILED in trial 2, best reward -1"

PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)


KEY = "gsk_" + "aB3z" * 13

SEEN = f"""
    import base64
    import logging

    from pytest_miniwob_agent import Shot

    class Seen(FakePage):
        def look(self, action=None):
            logging.getLogger("page").warning("the key is {KEY}")
            return Shot(base64.b64decode("{PNG}"), (1, 1))
"""
"""A page with pictures."""


@pytest.mark.parametrize("workers", ["-n0", *swept("-n1")])
def test_each_plugin_gets_what_it_can_show(project, chat_server, monkeypatch, workers):
    out = " ".join(f"-pno:{name}" for name in (*OTHERS, *SLOW) if name not in REPORTING)
    monkeypatch.setenv("PYTEST_ADDOPTS", out)
    page = FAKE_PAGE.replace('"Save"', f'"Save{EVIL}"').replace("return FakePage", "return Seen")
    project.makeconftest(page + SEEN)

    def reply(prompt):
        if "Answer with one line of this form" in prompt:
            return "For action index=1, you should click id=3."
        if "Say in one short sentence" in prompt:
            return "Opened.\x1b[2J\u202e"
        if ">Save" in prompt:
            return "click id=3" if "click-menu-2 2" in prompt else "click id=2"
        return "click id=1"

    chat_server.reply = reply

    options = (
        "-k click-menu-2 --miniwob-trials=2 --miniwob-trace=on --miniwob-report=report "
        "--junitxml=junit.xml --html=report.html --self-contained-html --json-report "
        "--alluredir=allure"
    )
    result = project.record(workers, *options.split())
    assert {"passed": 1, "failed": 1}.items() <= result.parseoutcomes().items()
    check_junit(project.path / "junit.xml")
    check_html(project.path / "report.html")
    check_json(project.path / ".report.json")
    check_allure(project.path / "allure")


def check_junit(path):
    cases = {
        re.search(r"/(\d)\]", case.get("name"))[1]: case
        for case in ElementTree.parse(path).iter("testcase")
    }
    found = {
        seed: {pair.get("name"): pair.get("value") for pair in case.iter("property")}
        for seed, case in cases.items()
    }
    assert found["1"] == {
        "miniwob_case": "n-screen-n-step/click-menu-2/1",
        "miniwob_agent": "reflective",
        "miniwob_model": "m",
        "miniwob_outcome": "solved",
        "miniwob_solved_at": "1",
        "miniwob_endings": "correct",
        "miniwob_trials": "1",
        "miniwob_steps": "2",
        "miniwob_calls": "3",
        "miniwob_tokens": "42",
    }
    assert found["2"]["miniwob_outcome"] == "unsolved"
    assert found["2"]["miniwob_endings"] == "failed failed"
    assert "miniwob_solved_at" not in found["2"]
    (failure,) = cases["2"].iter("failure")
    assert failure.get("message") == VERDICT
    assert f"{VERDICT}\nitem: n-screen-n-step/click-menu-2/2" in failure.text
    assert not HOSTILE.search(failure.text)


def check_html(path):
    page = path.read_text("utf-8")
    data = json.loads(html.unescape(re.search(r'data-jsonblob="([^"]*)"', page)[1]))
    assert len(data["tests"]) == 2
    for name, (test,) in data["tests"].items():
        transcript, picture = test["extras"]
        check_transcript(base64.b64decode(transcript["content"].partition("base64,")[2]), name)
        assert picture["content"] == f"data:image/png;base64,{PNG}"
        assert "<b>" not in test["log"]


def check_json(path):
    tests = json.loads(path.read_text("utf-8"))["tests"]
    assert "the key is [key of a model server]" in json.dumps(tests)
    assert KEY not in path.read_text("utf-8")
    assert len(tests) == 2
    for test in tests:
        case = test["nodeid"].partition("[")[2].rstrip("]")
        assert {"miniwob_case": case} in test["user_properties"]
        check_transcript(test["metadata"]["miniwob_transcript"].encode(), test["nodeid"])
        assert Path(test["metadata"]["miniwob_picture"]).read_bytes() == base64.b64decode(PNG)


def check_allure(folder):
    tests = [json.loads(file.read_text("utf-8")) for file in folder.glob("*-result.json")]
    for test in tests:
        attached = {file["name"]: folder / file["source"] for file in test["attachments"]}
        check_transcript(attached["transcript"].read_bytes(), test["name"])
        assert attached["last screen"].read_bytes() == base64.b64decode(PNG)
    assert sorted(test["status"] for test in tests) == ["failed", "passed"]


def check_transcript(data, item):
    text = data.decode()
    assert text.startswith("solved in trial 1\n" if item.endswith("/1]") else f"{VERDICT}\n")
    assert "&lt;b&gt;" in text  # the page's text, as the model saw it
    assert not HOSTILE.search(text)
