"""TaskTransport: connections over which all tasks of a graph job exchange bytes in one step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from millrace.common.errors import JobExecutionError, MillraceError

__all__ = ["Parts", "PeerFailedError", "PeerLostError", "TaskTransport", "require_same_call"]

Parts = Sequence[Any]
"""Objects with the buffer protocol: the pieces of a message."""


class PeerLostError(MillraceError):
    """Another task of the graph job has died, or the connection to it broke. The run is
    repeated."""


class PeerFailedError(MillraceError):
    """Another task of the graph job has failed. That task itself reports the cause."""


class TaskTransport(Protocol):
    """Connections of one task to all others.

    All tasks make the same calls in the same order.
    """

    index: int
    """Number of this task."""
    parallelism: int
    """Number of tasks."""

    def swap(
        self, call: str, outgoing: Sequence[Parts], incoming: Sequence[Any] | None = None
    ) -> list[memoryview]:
        """Send a message to each other task, and receive one from each.

        Args:
            call: name of the call; it must be the same in all tasks.
            outgoing: pieces of the message to each task. The task's own are ignored.
            incoming: writable buffers, whose lengths are those of the messages; None for messages
                of any length.

        Returns:
            The message of each task; an empty one for the task itself.

        Raises:
            PeerLostError: a task is gone.
            PeerFailedError: a task has failed.
        """

    def abort(self) -> None:
        """Tell the other tasks that this task has ended. Tasks that wait for messages of this task
        fail."""

    def close(self) -> None:
        """Close the connections."""


def require_same_call(call: str, index: int, other_call: str, other: int) -> None:
    """Check that two tasks take part in the same call.

    Raises:
        JobExecutionError: they do.
    """
    if call != other_call:
        raise JobExecutionError(
            f"the tasks of a superstep program must call the methods of `exchange` in the same "
            f"order, and task {other} called {other_call} while task {index} called {call}: do "
            "not make a call depend on the content of one partition; decide by exchange.all_reduce"
        )
