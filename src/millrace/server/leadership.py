"""Leader election among the servers of a registry, with a fencing token for the leader.

Flink: ``LeaderElection`` with its drivers, and ``LeaderRetriever``.
"""

from __future__ import annotations

import os
import socket
import time
from typing import Protocol

import msgspec

from millrace.common.typed_json import decode_json
from millrace.engine.process_identity import has_died, process_space

__all__ = ["Leadership", "ServerIdentity", "monotonic_ms"]


class ServerIdentity(msgspec.Struct, frozen=True):
    """Identity of a server that leads, or that wants to lead."""

    id: str
    """Id of the server, different for each start."""
    address: str
    """URL of the server's HTTP API; empty if it has none."""
    host: str
    pid: int
    space: str
    """Space in which the server's process id is unique (see `process_space`)."""

    @staticmethod
    def of_this_process(id: str, address: str) -> ServerIdentity:
        """The identity of a server that runs in this process."""
        return ServerIdentity(id, address, socket.gethostname(), os.getpid(), process_space())

    @property
    def has_died(self) -> bool:
        """Whether the server's process has certainly ended."""
        return has_died(self.space, self.pid)

    @property
    def is_on_this_machine(self) -> bool:
        """Whether the server runs on this machine and sees its processes."""
        return bool(self.space) and self.space == process_space()

    def encoded(self) -> str:
        """The identity as JSON."""
        return msgspec.json.encode(self).decode()

    @staticmethod
    def decoded(text: str | bytes) -> ServerIdentity | None:
        """The identity that `encoded` wrote; None if the text is something else."""
        try:
            return decode_json(text, ServerIdentity)
        except msgspec.MsgspecError:
            return None


class Leadership(Protocol):
    """A server's part in leader election; safe for several threads.

    A token is greater than all that leaders before had. Two servers may believe for a moment that
    they lead; what the one with the lesser token does then is refused by the registry and by the
    fences of jobs.
    """

    def start(self) -> None:
        """Begin to stand for election.

        Raises:
            StateError: this server certainly cannot lead.
        """

    def close(self) -> None:
        """Leave the election; a leader gives its leadership back."""

    def token(self) -> int | None:
        """The fencing token of this server; None if it does not lead. Returns immediately, and
        never returns a token while another server may lead.
        """

    def leader(self) -> ServerIdentity | None:
        """The leading server as last known; None if no leader is known. Returns immediately."""

    def is_left_to(self) -> ServerIdentity | None:
        """Look up the server that leads in place of this one; None if no server does.

        Raises:
            StateError: the storage of the election cannot be reached.
        """


def monotonic_ms() -> int:
    """Milliseconds of a clock that nobody can set, and that continues while the machine is
    suspended.
    """
    clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return time.clock_gettime_ns(clock) // 1_000_000
