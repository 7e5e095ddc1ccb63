"""Keys in texts. Those here are assembled at run time, so that no scanner takes them for real."""

import base64
import bz2
import gzip
import html
import io
import json
import lzma
import re
import zipfile
import zlib
from dataclasses import dataclass, field
from itertools import product

import pytest

from pytest_miniwob_agent import Action
from pytest_miniwob_agent.core import decoding
from pytest_miniwob_agent.core.outcome import Status
from pytest_miniwob_agent.core.secrets import find, mask


def found(data, **options):
    return [(secret.kind, secret.text) for secret in find(data, **options)]


KEY = "sk-" + "aB3" * 16
KEYS = {
    KEY: "OpenAI key",
    "sk-proj-" + "a_B-3" * 20: "OpenAI key",
    "sk-or-v1-" + "0a1b" * 16: "OpenRouter key",
    "sk-ant-api03-" + "aB3_-" * 18: "Anthropic key",
    "AIza" + "aB3_-" * 7: "Google key",
    "ya29." + "aB3_-" * 20: "Google key",
    "gsk_" + "aB3z" * 13: "key of a model server",
    "hf_" + "aB" * 17: "key of a model server",
    "a1B2" * 13 + "JQQJ99" + "AB" * 13: "Azure key",
    "AKIA" + "ABCD1234" * 2: "AWS key",
    "ABSK" + "aB3z" * 33 + "=": "AWS key",
    "ghp_" + "a1" * 18: "GitHub token",
    "github_pat_" + "a1_" * 20: "GitHub token",
    "xoxb-" + "123456789012-" * 2 + "aB3z" * 6: "Slack token",
    "glpat-" + "aB3_-" * 6 + ".01." + "0a1b" * 2: "token of a service",
    "npm_" + "aB3z" * 9: "token of a service",
    "sk_live_" + "aB3z" * 6: "token of a service",
    "hvs." + "aB3_-" * 6: "token of a service",
    "shpat_" + "0a1b" * 8: "token of a service",
    "sq0atp-" + "aB3_-" * 5: "token of a service",
    "EAAA" + "aB3_" * 15: "token of a service",
    "SK" + "0a1b" * 8: "token of a service",
    "fw_" + "aB3z" * 6: "key of a model server",
    ".".join(["M" + "aB3z" * 6, "aB3_-z", "aB3_-" * 7]): "Discord token",
    "Bearer eyJhbGciOi" + ".x9" * 9: "bearer token",
    ".".join(["eyJhbGciOiJIUzI1NiJ9", "eyJzdWIiOiIxMjM0In0", "aB3_-" * 8]): "JSON Web Token",
}
TEMPLATES = ("{}", "key: {}.", '{{"k": "{}"}}', "a\n{}\nb", "k={}&x=1", "a\t{}\r\n", "'a\\n{}'")
"""Texts with a key in them; the last one quotes another text with its escapes, as servers do."""


def test_every_kind_of_key_is_found_and_redacted():
    for (key, kind), template in product(KEYS.items(), TEMPLATES):
        text = template.format(key)
        assert found(text) == [(kind, key)]
        assert mask(text) == template.format(f"[{kind}]")


PEM = "-----BEGIN {0}PRIVATE KEY-----\n" + "aB3+/" * 12 + "\n" + "xY==\n"
CREDENTIALS = base64.b64encode(b"user:pass").decode()


@pytest.mark.parametrize(
    ("text", "secret", "kind"),
    [
        ("api-key: {}", "0123456789abcdef" * 2, "API key"),
        ("AccountKey={};", "aB3+" * 21 + "xY==", "API key"),
        ('"aws_secret_access_key": "{}"', "aB/+1" * 8, "API key"),
        ("https://{}@host/v1", "me:" + "pass" + "word", "password in a URL"),
        ("redis://{}@host:1/0", ":" + "pass" + "word", "password in a URL"),
        ("https://{}@sentry.host/1", "0a1b" * 8, "password in a URL"),
        ("GET /v1?key={}&x=1", "aB3z" * 6, "key in a URL"),
        ("x-api-key: {}", "my-Gateway-Secret-Value", "API key"),
        ('\\"x-api-key\\": \\"{}\\"', "zq8w7t6s5r4p", "API key"),
        ("headers:\n  x-api-key:\n  - {}\n", "zq8w7t6s5r4p", "API key"),
        ("const accessToken = '{}'", "aB3z_" * 5, "API key"),
        ("HF_TOKEN={}", "aB3z_" * 5, "API key"),
        ("DB_PASSWORD: {}", "aB3z_" * 5, "API key"),
        ("Authorization: {}", "aB3z_" * 5, "API key"),
        ("Authorization: Token {}", "aB3z_" * 5, "API key"),
        ("Authorization: Basic {}", CREDENTIALS, "Basic credentials"),
        ("say basic {}!", CREDENTIALS, "Basic credentials"),
        ("https://hooks.slack.com/{}", "services/T0A1/B0A1/" + "aB3z" * 9, "Slack token"),
        ("{}", PEM.format("") + "-----END PRIVATE KEY-----", "private key"),
        ("see\n{}\n", PEM.format("RSA ") + "-----END RSA PRIVATE KEY-----", "private key"),
        ("cut off: {}", PEM.format("EC "), "private key"),
    ],
)
def test_a_key_is_found_by_the_text_around_it(text, secret, kind):
    whole = text.format(secret)
    assert found(whole) == [(kind, secret)]
    assert mask(whole) == text.format(f"[{kind}]")


NO_KEYS = [
    "click id=1", "task-risk-desk", "sk-short", "a bearer of news", "AKIA", "x" * 200,
    "http://127.0.0.1:8000/v1", "mail me at someone@example.com: today",
    "0123456789abcdef" * 4, "Bearer of an exceedingly-long-name arrived",
    "2023-01-01T00:00:00", "hf_model", "ghp_", "https://example.com/a:b@c",
    'Enter the username "kanesha" and the password "Zz3YQ" into the text fields',
    'Enter the password "1sB4k9XwQe72aa" into both text fields and press submit.',
    "Basic JavaScript and basic information, Basic abcdefgh", "basic " + "QUJDRA==",
    "x-api-key: YOUR_API_KEY_GOES_HERE", "x-api-key: your-api-key-goes-here", "api_key: <key>",
    "api_key = os.environ['OPENAI_API_KEY']", "apiKey = config.getStringValue('key')",
    "export OPENAI_API_KEY=...", "AZURE_OPENAI_API_KEY=$KEY", '{"prompt_tokens": 123456789012}',
    "secret_key: none", "a token: of love", "eyJ.eyJ.x", "-----BEGIN PUBLIC KEY-----",
    "https://www.google.com/search?q=key", "?key=none", "press_key(key='enter')",
    "gl-button-large-and-wide-1", "xoxo-xoxo-xoxo-xoxo", "gsk_model", "asia" * 5,
    # Names and placeholders, by their values.
    'BACK_KEY = "v2_back_button_10"', 'STORAGE_KEY="HTML5_QRCODE_DATA",',
    "sk-cube-grid-animation-2",
    "const ELEMENT_KEY = '__lexicalTableSelection';", "OID_PUBLIC_KEY = '1.2.840.10045.2.1'",
    'SUBSCRIPTION_KEY: "Ocp-Apim-Subscription-Key-V1"', "$npm_package_config_ports_webpack2",
    "`https://${user}:${password}@${host}`", '"https://"+e.user+":"+e.password+"@"+e.host',
    "postgres://%s:%s@%s/db", "ftp://user:pass@host", "http://$USER:$PASSWORD@host",
    "-----BEGIN PRIVATE KEY-----\\nXXXX\\n-----END PRIVATE KEY-----",
    "API_TOKEN = 'xxxxxxxxxxxx1'",
    # A token of a page, for its forms.
    "window.CSRF_TOKEN = '" + "aB3z_" * 5, '"xsrf_session_token": "' + "aB3z_" * 5,
]  # fmt: skip


def test_other_texts_are_not_keys():
    assert [text for text in NO_KEYS if find(text) or mask(text) is not text] == []


@dataclass(frozen=True, slots=True)
class Note:
    text: str
    parts: tuple[object, ...] = ()
    made: str = field(init=False, default="")


class TestData:
    def test_keys_and_values_are_searched_as_they_are_and_not_as_they_are_encoded(self):
        data = {"a": ["x", {f"\n{KEY}": 1}], "b": f"1\t{KEY}", "c": (1, None, True, f"\r\n{KEY}")}
        assert found(data) == [("OpenAI key", KEY)] * 3
        assert mask(data) == {
            "a": ["x", {"\n[OpenAI key]": 1}],
            "b": "1\t[OpenAI key]",
            "c": (1, None, True, "\r\n[OpenAI key]"),
        }

    def test_a_value_is_known_by_its_name(self):
        data = {"headers": {"X-Api-Key": ["my-Gateway-Secret-Value"], "Accept": "text/html"}}
        assert found(data) == [("API key", "my-Gateway-Secret-Value")]
        assert mask(data)["headers"] == {"X-Api-Key": ["[API key]"], "Accept": "text/html"}
        assert mask({"Authorization": f"Basic {CREDENTIALS}"}) == {
            "Authorization": "Basic [Basic credentials]"
        }

    def test_dataclasses_are_searched_and_copied(self):
        note = Note("one", (Note(f"two {KEY}"), Status.SOLVED))
        assert found(note) == [("OpenAI key", KEY)]
        masked = mask(note)
        assert masked == Note("one", (Note("two [OpenAI key]"), Status.SOLVED))
        assert masked.parts[1] is Status.SOLVED
        assert KEY in note.parts[0].text

    def test_data_without_a_key_is_returned_itself(self):
        for data in ({"a": [1, "x"]}, Note("a", ({},)), ["word" * 9], Status.SOLVED, Action, None):
            assert find(data) == []
            assert mask(data) is data

    def test_keys_that_overlap_are_redacted_as_one(self):
        token = list(KEYS)[-1]
        assert mask(f"Authorization: Bearer {token}") == "Authorization: [bearer token]"
        pem = PEM.format("") + "AKIA" + "ABCD1234" * 2 + "\n-----END PRIVATE KEY-----"
        assert mask(f"a {pem} b") == "a [private key] b"

    def test_known_texts_are_found_in_any_form(self):
        assert mask(["see the-value.", "none"], ["the-value", "none"]) == [
            "see [not shown].",
            "none",  # too short
        ]


def test_the_value_of_openai_api_key_is_a_key_in_any_form(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "my.own*form")
    kind = "value of OPENAI_API_KEY"
    assert found("it is my.own*form!") == [(kind, "my.own*form")]
    assert mask("it is my.own*form!") == f"it is [{kind}]!"
    assert find("it is myxownform") == []
    for short in ("", "none", "x"):
        monkeypatch.setenv("OPENAI_API_KEY", short)
        assert find("none of x") == []


@pytest.mark.sweep
def test_the_shipped_cassettes_contain_no_keys(pytestconfig):
    files = list(pytestconfig.rootpath.glob("cassettes/**/*.yaml"))
    assert files
    assert [path for path in files if find(path.read_text(encoding="utf-8"))] == []


def zipped(*contents):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, content in enumerate(contents):
            archive.writestr(f"{number}.txt", content)
    return file.getvalue()


def in_lines(content):
    return base64.encodebytes(b"some words before it, as a mail has " * 3 + content)


HIDDEN = {
    "gzip": (lambda key: gzip.compress(key), "unpacked"),
    "bzip2": (lambda key: bz2.compress(key), "unpacked"),
    "xz": (lambda key: lzma.compress(key), "unpacked"),
    "zlib": (lambda key: zlib.compress(key), "unpacked"),
    "zip": (lambda key: zipped(key), "unpacked"),
    "PDF": (lambda key: b"%PDF-1\nstream\n" + zlib.compress(key) + b"\nendstream", "unpacked"),
    "UTF-16": (lambda key: key.decode().encode("utf-16"), "between zeros"),
    "protobuf": (lambda key: b"\n3" + key + b"\x12\x02ab", ""),
    "entities": (lambda key: "".join(f"&#{c};" for c in key).encode(), "in escapes"),
    "escapes": (lambda key: "".join(f"\\u{c:04x}" for c in key).encode(), "in escapes"),
    "hexadecimal escapes": (lambda key: "".join(f"\\x{c:02x}" for c in key).encode(), "in escapes"),
    "percents": (lambda key: "".join(f"%{c:02x}" for c in key).encode(), "in escapes"),
    "Base64": (lambda key: base64.b64encode(key), "in Base64"),
    "Base64 in a path": (
        lambda key: b"/file/x/" + base64.urlsafe_b64encode(b"{" + key), "in Base64"
    ),
    "Base64 in lines": (lambda key: in_lines(b"(" + key), "in Base64"),
    "Base64 in JSON": (
        lambda key: json.dumps({"a": in_lines(b"?~" + key).decode()}).encode(), "in Base64"
    ),
    "Base64 of gzip": (lambda key: base64.b64encode(gzip.compress(key)), "in Base64"),
    "escapes in gzip": (lambda key: gzip.compress(html.escape(f"<{key!r}>").encode()), "unpacked"),
}  # fmt: skip


@pytest.mark.parametrize(("hide", "encoding"), HIDDEN.values(), ids=HIDDEN)
def test_a_key_is_found_in_what_hides_it(hide, encoding):
    for text in (KEY, "ghp_" + "a1" * 18):
        [secret] = find(hide(text.encode()))
        assert (secret.text, secret.encoding) == (text, encoding)


def test_what_is_cut_off_is_searched_as_far_as_it_goes():
    assert found(gzip.compress(KEY.encode() + bytes(2**20))[:-20]) == [("OpenAI key", KEY)]
    damaged = zipped(b"of another name", KEY.encode()).replace(b"0.txt", b"1.txt", 1)
    assert found(damaged) == [("OpenAI key", KEY)]
    assert found(b"PK\3\4 no archive") == found(b"\x1f\x8b no stream") == found(b"x\x9c no") == []


def test_what_unpacks_to_too_much_is_no_text_without_a_secret(monkeypatch):
    monkeypatch.setattr(decoding, "LARGEST", 10**6)
    for pack in (gzip.compress, zlib.compress, zipped):
        assert found(pack(bytes(10**6))) == []
        [secret] = find(pack(bytes(10**6 + 1)))
        assert secret.kind == "what unpacks to more than 1,000,000 bytes, which are not searched"


def test_what_a_task_redacts_is_found_in_any_form():
    redact = [r"Schl\u00fcssel-\w+", r"(?<=id=)\S+", r"[\w.]+@[\w.]+"]
    kind = "matches AppTask(redact=[...])"
    for charset in ("utf-8", "latin-1", "utf-16"):
        data = "ein Schl\u00fcssel-ab12".encode(charset)
        assert found(data, charset=charset, redact=redact) == [(kind, "Schl\u00fcssel-ab12")]
    assert found("id=a1", redact=redact) == [(kind, "a1")]
    for pattern in (*redact, r"(?<=id=)\w+"):
        assert found("id=redacted-1", redact=[pattern]) == []  # the stand-in
    noise = bytes(range(256)) * 4 + b"\1a@b\1"
    assert found(noise, redact=redact) == []  # letters that stand there by chance
    assert found(noise + b"ann.smith@shop.example\0", redact=redact) == [
        (kind, "ann.smith@shop.example")
    ]


def test_an_excerpt_shows_nothing_of_other_secrets():
    one, two = "aB3z_" * 5, "ghp_" + "aB3z" * 10
    for text in (
        f"const my_access_key = '{one}', a = '{two}'",
        f"x = '{two}', your_api_key = '{one}'",
        f'"{PEM.format("")}-----END PRIVATE KEY-----", "{two}"'.replace("\n", "\\n"),
    ):
        for secret in find(text):
            assert "B3z" not in secret.excerpt.replace(secret.text[:4], "", 1)


@pytest.mark.parametrize(
    ("text", "line", "excerpt", "pattern"),
    [
        ("a\n  const apiKey = '" + "aB3z_" * 5 + "';\nb", 2, "const apiKey = 'aB3z\u2026';",
         r"(?<=apiKey = ')\w+"),
        (f'{{"k": "{KEY}"}}', 1, '{"k": "sk-a\u2026"}', r"sk-a\w+"),
        ("https://me:" + "pass" + "word@host", 1, "https://me\u2026@host", r"(?<=https://)[\w:]+"),
        (PEM.format("") + "-----END PRIVATE KEY-----", 1, "----\u2026", r"----[\w\+\-/=\s]{115}"),
    ],
)  # fmt: skip
def test_a_secret_has_a_place_and_a_pattern(text, line, excerpt, pattern):
    [secret] = find(text)
    assert (secret.line, secret.excerpt, secret.pattern) == (line, excerpt, pattern)
    assert re.search(secret.pattern, text)[0] == secret.text
    assert secret.is_allowed([secret.pattern])
