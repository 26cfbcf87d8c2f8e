"""Listener: the sockets at which a worker accepts connections of other workers."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from contextlib import suppress

from millrace.runtime.resident.connection import BACKLOG, listening, tcp_address
from millrace.runtime.resident.control import WorkerAddress, host_id

__all__ = ["Listener"]

_LONGEST_PATH = 100
"""Longest path of a Unix domain socket, with room for the zero byte of all systems."""


class Listener:
    """A Unix domain socket for workers of this machine, and a TCP socket for those of others.

    Args:
        host: address of this machine for other machines. Empty if there are none.
    """

    def __init__(self, host: str = "") -> None:
        self._directory = tempfile.mkdtemp(prefix="mr-")  # for this user alone
        self.sockets: list[socket.socket] = []
        unix = self._listen_here()
        tcp = "" if unix and not host else self._listen(host or "127.0.0.1")
        self.place = WorkerAddress(host_id(), unix, tcp)

    def _listen_here(self) -> str:
        path = os.path.join(self._directory, "s")
        if not hasattr(socket, "AF_UNIX") or len(path) > _LONGEST_PATH:
            return ""
        server = socket.socket(socket.AF_UNIX)
        server.bind(path)
        server.listen(BACKLOG)
        self.sockets.append(server)
        return path

    def _listen(self, host: str) -> str:
        server, port = listening(host)
        self.sockets.append(server)
        return tcp_address(host, port)

    def close(self) -> None:
        """Close the sockets."""
        for server in self.sockets:
            with suppress(OSError):
                server.close()
        shutil.rmtree(self._directory, ignore_errors=True)
