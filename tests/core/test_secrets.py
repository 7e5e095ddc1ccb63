"""Keys in texts. Those here are assembled at run time, so that no scanner takes them for real."""

import pytest

from pytest_miniwob_agent.core.secrets import find, redact

KEYS = {
    "OpenAI key": ["sk-" + "aB3" * 16, "sk-proj-" + "a_B-3" * 20, "sk-svcacct-" + "x" * 40],
    "Anthropic key": ["sk-ant-api03-" + "aB3_-" * 18],
    "Google key": ["AIza" + "aB3_-" * 7],
    "Azure key": ["a1B2" * 13 + "JQQJ99" + "AB" * 13],
    "AWS key": ["AKIA" + "ABCD1234" * 2, "ASIA" + "ABCD1234" * 2],
    "GitHub token": ["ghp_" + "a1" * 18, "gho_" + "a1" * 18, "github_pat_" + "a1_" * 20],
    "Hugging Face token": ["hf_" + "aB" * 17],
    "bearer token": ["Bearer " + "eyJhbGciOi" + ".x9" * 9, "bearer " + "0123456789abcdef"],
}


@pytest.mark.parametrize(("kind", "key"), [(k, key) for k, keys in KEYS.items() for key in keys])
@pytest.mark.parametrize("template", ["{}", "key: {}.", '{{"k": "{}"}}', "a\n{}\nb", "k={}&x=1"])
def test_every_kind_of_key_is_found_and_redacted(kind, key, template):
    text = template.format(key)
    assert (kind, text.index(key)) in find(text)
    assert key not in redact(text)
    assert f"[{kind}]" in redact(text)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("api-key: " + "0123456789abcdef" * 2, "Azure key"),
        ('"aws_secret_access_key": "' + "aB/+1" * 8 + '"', "AWS key"),
        ("https://me:" + "pass" + "word@host/v1", "password in a URL"),
    ],
)
def test_a_key_is_found_by_the_text_before_it(text, kind):
    assert [found for found, _ in find(text)] == [kind]
    assert f"[{kind}]" in redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "click id=1", "task-risk-desk", "sk-short", "a bearer of news", "AKIA", "x" * 200,
        "http://127.0.0.1:8000/v1", "mail me at someone@example.com: today",
        "0123456789abcdef" * 4, "Bearer of an exceedingly-long-name arrived",
        "2023-01-01T00:00:00", "hf_model", "ghp_", "https://example.com/a:b@c",
    ],
)  # fmt: skip
def test_other_texts_are_not_keys(text):
    assert find(text) == []
    assert redact(text) == text


def test_the_value_of_openai_api_key_is_a_key_in_any_form(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "my.own*form")
    assert find("it is my.own*form!") == [("value of OPENAI_API_KEY", 6)]
    assert redact("it is my.own*form!") == "it is [value of OPENAI_API_KEY]!"
    assert find("it is myxownform") == []


def test_a_short_value_of_openai_api_key_is_not_a_key(monkeypatch):
    for value in ("", "none", "x"):
        monkeypatch.setenv("OPENAI_API_KEY", value)
        assert find("none of x") == []


def test_the_shipped_cassettes_contain_no_keys(pytestconfig):
    files = list(pytestconfig.rootpath.glob("cassettes/**/*.yaml"))
    assert files
    assert [path for path in files if find(path.read_text(encoding="utf-8"))] == []
