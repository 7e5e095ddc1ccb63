import threading
from types import SimpleNamespace

import pytest
from api import FRONT, make_api
from support.app_server import serving
from werkzeug.serving import make_server


@pytest.fixture
def built():
    notes = {}
    server = make_server("127.0.0.1", 0, make_api(notes), threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield SimpleNamespace(url=f"http://127.0.0.1:{server.server_port}", notes=notes)
    server.shutdown()
    thread.join()


@pytest.fixture
def dev(built):
    """The same by Vite's dev server: modules one by one, and a WebSocket for changes."""
    vite = ["node", "node_modules/vite/bin/vite.js", "--host=127.0.0.1", "--port={port}"]
    with serving(*vite, "--strictPort", folder=FRONT, API=built.url) as url:
        yield SimpleNamespace(url=url, notes=built.notes)
