"""Proxies and certificates that the environment names, with a real proxy and real TLS."""

import http.client
import socketserver
import ssl
import subprocess
from contextlib import closing

import pytest
from support.servers import LoopbackServer

from pytest_miniwob_agent.cassettes.deferred import write_pending
from pytest_miniwob_agent.core.errors import ModelError, UsageError
from pytest_miniwob_agent.models.client import LiveModel
from pytest_miniwob_agent.plugins.batch.batches import Batches


class Proxy(LoopbackServer):
    """An HTTP proxy on loopback, which notes what is asked of it and refuses it."""

    def __init__(self):
        self.seen = []
        proxy = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                method, target, _ = self.rfile.readline().decode().split()
                proxy.seen.append((method, target))
                headers = http.client.parse_headers(self.rfile)
                self.rfile.read(int(headers.get("Content-Length", 0)))
                self.wfile.write(b"HTTP/1.1 407 Proxy Authentication Required\r\n")
                self.wfile.write(b"Content-Length: 0\r\n\r\n")

        super().__init__(Handler)
        self.url = self.url.removesuffix("/v1")


@pytest.fixture
def proxy():
    proxy = Proxy()
    yield proxy
    proxy.close()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(
        [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
            "-nodes", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
            "-addext", "keyUsage=critical,digitalSignature,keyCertSign",
            "-keyout", folder / "key.pem", "-out", folder / "cert.pem",
        ],
        check=True, capture_output=True,
    )  # fmt: skip
    return folder / "cert.pem", folder / "key.pem"


@pytest.fixture
def tls_server(chat_server, certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    server = chat_server._server
    # The handshake belongs to a connection's own thread, where it may fail without harm.
    server.socket = context.wrap_socket(
        server.socket, server_side=True, do_handshake_on_connect=False
    )
    server.handle_error = lambda *args: None
    chat_server.url = chat_server.url.replace("http:", "https:")
    return chat_server


def test_a_recording_trusts_the_named_certificate_and_a_replay_needs_neither(
    session, tls_server, proxy, certificate, monkeypatch
):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    with session(tls_server) as llm:
        live = llm.complete("one", "plan")
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere")
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, proxy.url)
    with session() as llm:
        assert llm.complete("one", "plan") == live
    assert (proxy.seen, len(tls_server.requests)) == ([], 1)


def test_the_proxy_for_http_is_used_but_for_hosts_in_no_proxy(
    session, chat_server, proxy, monkeypatch
):
    monkeypatch.setenv("HTTP_PROXY", proxy.url)
    with session(chat_server) as llm, pytest.raises(ModelError, match="407"):
        llm.complete("one", "plan")
    assert proxy.seen == [("POST", f"{chat_server.url}/chat/completions")]
    monkeypatch.setenv("NO_PROXY", "localhost,127.0.0.1")
    with session(chat_server) as llm:
        llm.complete("one", "plan")
    assert (len(proxy.seen), len(chat_server.requests)) == (1, 1)


def test_batch_commands_and_live_calls_explain_a_proxy_that_refuses_and_a_certificate(
    session, tls_server, proxy, monkeypatch, tmp_path
):
    pending = tmp_path / "pending.jsonl"
    write_pending(pending, [{"custom_id": "a/m/t/1#0-0", "body": {"model": "m"}}])
    monkeypatch.setenv("OPENAI_API_KEY", "none")

    def messages():
        with session(tls_server) as llm, pytest.raises(ModelError) as live:
            llm.complete("one", "plan")
        batches = Batches(pending, tls_server.url, retries=0)
        with closing(batches), pytest.raises(ModelError) as batch:
            batches.submit()
        return str(live.value), str(batch.value)

    for message in messages():
        assert "CERTIFICATE_VERIFY_FAILED" in message
        assert message.endswith("(SSL_CERT_FILE names a file of further certificates to trust)")
    monkeypatch.setenv("HTTPS_PROXY", proxy.url)
    for message in messages():
        assert "407 Proxy Authentication Required (by the proxy that HTTPS_PROXY" in message
    assert {*proxy.seen} == {("CONNECT", tls_server.url.split("/")[2])}
    assert tls_server.requests == []


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("SSL_CERT_FILE", "/nowhere", "certificates .* can't be used .*No such file"),
        ("HTTPS_PROXY", "socks5://127.0.0.1:1", "a proxy .* can't be used .*socks"),
    ],
)
def test_a_variable_that_can_not_be_used_is_named(monkeypatch, name, value, message):
    monkeypatch.setenv(name, value)
    with pytest.raises(UsageError, match=message):
        LiveModel("m", {})
