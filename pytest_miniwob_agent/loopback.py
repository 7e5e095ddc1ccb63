"""A server on the loopback interface: for task pages, and for the model calls of frameworks."""

from __future__ import annotations

import threading
from typing import Any

from waitress.server import create_server
from waitress.wasyncore import close_all


class LoopbackServer:
    """Serves a WSGI application (PEP 3333) on 127.0.0.1 until it is closed.

    Args:
        application: answers the requests, in several threads.
        threads: the most requests that are answered at once.

    Attributes:
        port: the port, which the system has chosen.

    Raises:
        OSError: no port can be opened.
    """

    def __init__(self, application: Any, threads: int) -> None:
        self._sockets: dict[int, Any] = {}
        create: Any = create_server  # it returns servers of three types
        self._server = create(
            application, self._sockets, host="127.0.0.1", port=0, threads=threads, ident=None
        )
        self.port = int(self._server.effective_port)
        self._thread = threading.Thread(
            target=self._server.run, name=f"miniwob-port-{self.port}", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Close all connections and end the threads."""
        # In the server's own thread, which waits for them.
        self._server.trigger.pull_trigger(lambda: close_all(self._sockets))
        self._thread.join()
        self._server.task_dispatcher.shutdown()
