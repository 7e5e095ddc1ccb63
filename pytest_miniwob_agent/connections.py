"""Connections: a small server for task pages and the model calls of frameworks; TLS to apps."""

from __future__ import annotations

import re
import selectors
import socket
import ssl
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from waitress.server import create_server
from waitress.wasyncore import close_all

from pytest_miniwob_agent.core.errors import UsageError

T = TypeVar("T")

LOCAL = re.compile(r"localhost|127(?:\.\d+){3}|0\.0\.0\.0|::1|.*\.localhost")
"""Hosts of this machine, whose names and ports differ from run to run."""

_HOSTS = "127.0.0.1,localhost,::1"
# How to allow connections on loopback, by the module that blocks them.
_TO_ALLOW = {
    "pytest_recording": f"with --allowed-hosts={_HOSTS} beside --block-network",
    "pytest_socket": f"with --allow-hosts={_HOSTS}, which also lifts --disable-socket",
}


def check_loopback() -> None:
    """Check that no plugin of pytest, or the like, keeps this process from connecting to itself.

    Raises:
        UsageError: one does; the message names it.
    """
    try:
        with suppress(OSError), socket.create_server(("127.0.0.1", 0)) as server:
            socket.create_connection(("localhost", server.getsockname()[1])).close()
    except Exception as error:  # noqa: BLE001 - each plugin has its own
        # The innermost frame is that of the plugin.
        *_, (frame, _) = traceback.walk_tb(error.__traceback__)
        blocker = str(frame.f_globals["__name__"]).partition(".")[0]
        raise UsageError(
            f"connections to 127.0.0.1 are blocked by {blocker.replace('_', '-')} ({error}). The "
            "browser and its pages need them, and they don't leave this machine: allow them "
            + _TO_ALLOW.get(blocker, f"there, for {_HOSTS}")
        ) from None


class LoopbackServer:
    """Serves a WSGI application (PEP 3333) in a pool of threads.

    Attributes:
        port: the port that it listens on; for port 0 the system chooses one.

    Raises:
        OSError: the port can't be opened.
        UsageError: see `check_loopback`.
    """

    def __init__(
        self, application: Any, threads: int, host: str = "127.0.0.1", port: int = 0
    ) -> None:
        check_loopback()
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server((host, port), family=family)  # before there are threads
        self.port = listening.getsockname()[1]
        self._sockets: dict[int, Any] = {}
        create: Any = create_server  # it returns servers of three types
        self._server = create(
            application, self._sockets, sockets=[listening], threads=threads, ident=None
        )
        self._thread = threading.Thread(
            target=self._server.run, name=f"miniwob-port-{self.port}", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Close all connections and end the threads."""
        pulled = threading.Event()

        def end() -> None:
            pulled.wait()  # or the trigger would be closed while it is pulled
            close_all(self._sockets)

        # In the server's own thread, which waits for them. A request that ends wakes it up too.
        self._server.trigger.pull_trigger(end)
        pulled.set()
        self._thread.join()
        self._server.task_dispatcher.shutdown()


def trusting(host: str) -> ssl.SSLContext | None:
    """Return what takes this machine's certificates, which are made for tests; None elsewhere."""
    if not LOCAL.fullmatch(host.strip("[]")):
        return None
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def for_threads(context: ssl.SSLContext) -> ssl.SSLContext:
    """Have the connections of a context take calls of several threads, as websockets needs it."""
    context.sslsocket_class = _InTurn
    return context


class _InTurn(ssl.SSLSocket):
    """A connection that one thread reads while another writes.

    OpenSSL allows one call at a time on a connection
    (https://docs.openssl.org/3.0/man7/openssl-threads/): a request that is sent while session
    tickets are read may wait forever. So calls take turns, and none waits for data in its turn.
    """

    _turn: threading.Lock

    def __new__(cls, *args: Any, **kwargs: Any) -> _InTurn:
        # SSLSocket makes its connections without __init__.
        self = super().__new__(cls, *args, **kwargs)
        self._turn = threading.Lock()
        return self

    def recv(self, buflen: int = 1024, flags: int = 0) -> bytes:
        return self._call(super().recv, buflen, flags)

    def send(self, data: Any, flags: int = 0) -> int:
        # sendall() comes here, too.
        return self._call(super().send, data, flags)

    def _call(self, call: Callable[..., T], *args: Any) -> T:
        while True:
            with self._turn:
                self.setblocking(False)
                try:
                    return call(*args)
                except ssl.SSLWantReadError:
                    event = selectors.EVENT_READ
                except ssl.SSLWantWriteError:
                    event = selectors.EVENT_WRITE
                finally:
                    self.setblocking(True)
            with selectors.DefaultSelector() as selector:
                selector.register(self, event)
                selector.select()
