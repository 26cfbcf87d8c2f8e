"""Which of the servers of a registry leads, behind one interface, and under which fencing token.

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
    """A server that leads, or would."""

    id: str
    """Different for each start of a server."""
    address: str
    """The URL of its HTTP API; empty: it has none."""
    host: str
    pid: int
    space: str
    """What its process id is unique in (see `process_space`)."""

    @staticmethod
    def of_this_process(id: str, address: str) -> ServerIdentity:
        """The identity of a server that runs in this process."""
        return ServerIdentity(id, address, socket.gethostname(), os.getpid(), process_space())

    @property
    def has_died(self) -> bool:
        """Whether its process has certainly ended."""
        return has_died(self.space, self.pid)

    @property
    def is_on_this_machine(self) -> bool:
        """Whether it sees the processes that were started here."""
        return bool(self.space) and self.space == process_space()

    def encoded(self) -> str:
        """As JSON."""
        return msgspec.json.encode(self).decode()

    @staticmethod
    def decoded(text: str | bytes) -> ServerIdentity | None:
        """What `encoded` gave; None: this is something else."""
        try:
            return decode_json(text, ServerIdentity)
        except msgspec.MsgspecError:
            return None


class Leadership(Protocol):
    """A server's part in the election of the one that leads; for several threads.

    A token is greater than all that leaders before had. Two servers may believe for a moment that
    they lead; what the one with the lesser token does then is refused by the registry and by the
    fences of jobs.
    """

    def start(self) -> None:
        """Stand for election from now on.

        Raises:
            StateError: it is certain that this server cannot lead.
        """

    def close(self) -> None:
        """Stand for election no more; a leader gives its leadership back."""

    def token(self) -> int | None:
        """The fencing token of this server; None: it does not lead. Answers at once, and None at
        the latest when another one may lead."""

    def leader(self) -> ServerIdentity | None:
        """The server that leads, as was known a moment ago; None: none does, as far as is known.
        Answers at once."""

    def is_left_to(self) -> ServerIdentity | None:
        """Ask who leads in place of this server; None: nobody does.

        Raises:
            StateError: whoever knows that cannot be reached.
        """


def monotonic_ms() -> int:
    """Milliseconds of a clock that nobody sets, and that goes on while the machine is suspended."""
    clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return time.clock_gettime_ns(clock) // 1_000_000
