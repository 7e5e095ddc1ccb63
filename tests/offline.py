"""Commands without a network: in a namespace whose only interface is a loopback of its own."""

import shutil
import subprocess
import sys

import pytest

_WITH_LOOPBACK = """
import fcntl, os, socket, struct, sys

SIOCSIFFLAGS, IFF_UP = 0x8914, 1
with socket.socket() as any_socket:
    fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", IFF_UP))
os.execvp(sys.argv[1], sys.argv[1:])
"""
"""Brings the interface up, which it is not in a new namespace, and becomes the command."""


def offline(*command):
    """Return the command that runs this one without a network; skip the test where none can."""
    if shutil.which("unshare"):
        # Who is not root may do it in a namespace of users.
        for namespaces in (["--net"], ["--user", "--map-current-user", "--keep-caps", "--net"]):
            prefix = ["unshare", *namespaces, sys.executable, "-c", _WITH_LOOPBACK]
            if subprocess.run([*prefix, "true"], capture_output=True).returncode == 0:
                return [*prefix, *map(str, command)]
    pytest.skip("this system permits no network namespace: `unshare --user --net` fails")
