"""Web apps in processes of their own, for the projects in tests/apps."""

import os
import subprocess
from contextlib import contextmanager
from urllib.error import HTTPError
from urllib.request import urlopen

from support.selenium_grid import free_port
from support.servers import wait_until


def _answers(url):
    try:
        urlopen(url, timeout=5).close()
    except HTTPError:
        return True
    except OSError:
        return False
    return True


@contextmanager
def serving(*command, ready="", folder=None, **environment):
    """Start a server at a free port, `{port}` in its command; its address once it answers."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with subprocess.Popen(
        [part.format(port=port) for part in command],
        cwd=folder,
        env=os.environ | environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as server:
        try:
            wait_until(lambda: server.poll() is not None or _answers(url + ready))
            assert server.poll() is None, f"{command} ended with {server.returncode}"
            yield url
        finally:
            server.terminate()
