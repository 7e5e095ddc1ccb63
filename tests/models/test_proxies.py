"""Proxies and certificates that the environment names, with a real proxy and real TLS."""

import http.client
import socket
import socketserver
import ssl
import subprocess
import threading
import urllib.parse
from contextlib import closing

import pytest
from projects import solve_menu
from servers import LoopbackServer

from pytest_miniwob_agent.cassettes.deferred.batches import Batches
from pytest_miniwob_agent.cassettes.deferred.pending import write_pending
from pytest_miniwob_agent.core.errors import ModelError, UsageError
from pytest_miniwob_agent.models.client import http_client


class Proxy(LoopbackServer):
    """An HTTP proxy on loopback, which notes the requests that it forwards."""

    def __init__(self):
        self.seen = []
        self.refuses = False
        proxy = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                method, target, _ = self.rfile.readline().decode().split()
                headers = http.client.parse_headers(self.rfile)
                proxy.seen.append((method, target))
                if proxy.refuses:
                    self.wfile.write(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
                elif method == "CONNECT":
                    self.tunnel(*target.split(":"))
                else:
                    self.forward(method, urllib.parse.urlsplit(target), headers)

            def tunnel(self, host, port):
                with socket.create_connection((host, int(port))) as server:
                    self.wfile.write(b"HTTP/1.1 200 Connected\r\n\r\n")
                    back = threading.Thread(target=self.copy, args=(server, self.request))
                    back.start()
                    self.copy(self.request, server)
                    back.join()

            @staticmethod
            def copy(source, target):
                try:
                    while data := source.recv(65_536):
                        target.sendall(data)
                    target.shutdown(socket.SHUT_WR)
                except OSError:
                    pass  # the other direction has ended the tunnel

            def forward(self, method, target, headers):
                body = self.rfile.read(int(headers["Content-Length"]))
                connection = http.client.HTTPConnection(target.netloc)
                connection.request(method, target.path, body, dict(headers))
                answer = connection.getresponse().read()
                self.wfile.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n")
                self.wfile.write(b"Content-Length: %d\r\n\r\n%s" % (len(answer), answer))
                connection.close()

        super().__init__(Handler)
        self.url = self.url.removesuffix("/v1")


@pytest.fixture
def proxy():
    proxy = Proxy()
    yield proxy
    proxy.close()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate for 127.0.0.1 that no authority has signed, and its key."""
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
    """The model's server, behind TLS; its address begins with https."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    server = chat_server._server
    # The handshake belongs to a connection's own thread, where it may fail without harm.
    server.socket = context.wrap_socket(
        server.socket, server_side=True, do_handshake_on_connect=False
    )
    server.handle_error = lambda *args: None
    chat_server.url = chat_server.url.replace("http:", "https:")
    chat_server.reply = solve_menu
    return chat_server


def test_a_recording_goes_through_the_proxy_and_a_replay_does_not(
    one_item, tls_server, proxy, certificate, monkeypatch
):
    monkeypatch.setenv("HTTPS_PROXY", proxy.url)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    one_item.run_item(tls_server.url).assert_outcomes(passed=1)
    assert len(tls_server.requests) == 3
    assert proxy.seen == 3 * [("CONNECT", tls_server.url.split("/")[2])]

    proxy.seen.clear()
    monkeypatch.setenv("HTTP_PROXY", proxy.url)
    monkeypatch.setenv("ALL_PROXY", proxy.url)
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere")
    one_item.run_item(tls_server.url, record="none").assert_outcomes(passed=1)
    assert proxy.seen == []


def test_the_proxy_for_http_is_used_but_for_hosts_in_no_proxy(
    session, chat_server, proxy, monkeypatch, tmp_path
):
    monkeypatch.setenv("HTTP_PROXY", proxy.url)
    with session(chat_server) as llm:
        llm.complete("one", "plan")
    assert proxy.seen == [("POST", f"{chat_server.url}/chat/completions")]
    monkeypatch.setenv("NO_PROXY", "localhost,127.0.0.1")
    with session(chat_server, folder=tmp_path / "other") as llm:
        llm.complete("one", "plan")
    assert (len(proxy.seen), len(chat_server.requests)) == (1, 2)


def test_batch_commands_and_live_calls_explain_a_proxy_that_refuses_and_a_certificate(
    session, tls_server, proxy, monkeypatch, tmp_path
):
    pending = tmp_path / "pending.jsonl"
    write_pending(pending, [{"custom_id": "a/m/t/1#0-0", "body": {"model": "m"}}])

    def messages():
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        with session(tls_server) as llm, pytest.raises(ModelError) as live:
            llm.complete("one", "plan")
        batches = Batches(pending, tls_server.url, print, retries=0)
        with closing(batches), pytest.raises(ModelError) as batch:
            batches.submit()
        return str(live.value), str(batch.value)

    for message in messages():
        assert "CERTIFICATE_VERIFY_FAILED" in message
        assert message.endswith("(SSL_CERT_FILE names a file of further certificates to trust)")
    monkeypatch.setenv("HTTPS_PROXY", proxy.url)
    proxy.refuses = True
    for message in messages():
        assert "407 Proxy Authentication Required (by the proxy that HTTPS_PROXY" in message
    assert tls_server.requests == []


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("SSL_CERT_FILE", "/nowhere", "SSL_CERT_FILE or SSL_CERT_DIR names can't be read"),
        ("HTTPS_PROXY", "socks5://127.0.0.1:1", r"needs: pip install 'httpx2\[socks\]'"),
        ("HTTPS_PROXY", "ftp://127.0.0.1:1", "does not name a proxy: .*ftp"),
    ],
)
def test_a_variable_that_can_not_be_used_is_named(monkeypatch, name, value, message):
    monkeypatch.setenv(name, value)
    with pytest.raises(UsageError, match=message):
        http_client()
