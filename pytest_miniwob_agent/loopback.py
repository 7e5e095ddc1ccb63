"""A server in threads of this process: for task pages, and for the model calls of frameworks."""

from __future__ import annotations

import threading
from typing import Any

from waitress.server import create_server
from waitress.wasyncore import close_all


class LoopbackServer:
    """Serves a WSGI application (PEP 3333) in so many threads.

    Attributes:
        port: the port that it listens on; for port 0 the system chooses one.

    Raises:
        OSError: the port can't be opened.
    """

    def __init__(
        self, application: Any, threads: int, host: str = "127.0.0.1", port: int = 0
    ) -> None:
        self._sockets: dict[int, Any] = {}
        create: Any = create_server  # it returns servers of three types
        self._server = create(
            application, self._sockets, host=host, port=port, threads=threads, ident=None
        )
        self.port = int(self._server.effective_port)
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
