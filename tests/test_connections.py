"""The server in threads of this process, and TLS where one thread reads while another writes."""

import socket
import ssl
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from websockets.sync.server import serve

from pytest_miniwob_agent.browser.devtools import open_socket
from pytest_miniwob_agent.connections import LoopbackServer, for_threads, trusting


def test_a_server_that_is_woken_up_while_it_is_closed_ends(monkeypatch):
    server = LoopbackServer(lambda environ, start_response: [], 1)
    trigger = server._server.trigger
    pull = trigger._physical_pull

    def pull_late():
        pull()  # as a request does that ends at this moment
        server._thread.join(0.2)
        pull()

    monkeypatch.setattr(trigger, "_physical_pull", pull_late)
    server.close()
    assert not server._thread.is_alive()


def test_a_port_that_is_taken_leaves_no_threads_behind():
    before = {*threading.enumerate()}
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OSError, match="in use"):
        LoopbackServer(lambda environ, start_response: [], 8, port=taken.getsockname()[1])
    assert {*threading.enumerate()} <= before


def test_connections_by_tls_open(tmp_path):
    """Session tickets come while a request is sent; this server sends many."""
    key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem"
    make = f"openssl req -x509 {key} -subj /CN=localhost -out cert.pem"
    subprocess.run(make.split(), check=True, capture_output=True, cwd=tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    context.num_tickets = 50

    def answer(connection):
        for message in connection:
            connection.send(message)

    def ask(number):
        url = f"wss://127.0.0.1:{server.socket.getsockname()[1]}"
        with open_socket(url, timeout=20, direct=True, ssl=trusting("127.0.0.1")) as connection:
            connection.send(f"hello {number}")
            return connection.recv(timeout=20)

    with serve(answer, "127.0.0.1", 0, ssl=for_threads(context)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with ThreadPoolExecutor(4) as threads:
            heard = list(threads.map(ask, range(100)))
    assert heard == [f"hello {number}" for number in range(100)]
