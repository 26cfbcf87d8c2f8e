"""LocalTransport: messages between tasks that are threads of one process."""

from __future__ import annotations

from collections.abc import Sequence
from queue import SimpleQueue
from typing import Any

from millrace.runtime.supersteps.task_transport import Parts, PeerFailedError, require_same_call

__all__ = ["LocalTransport"]

_Message = tuple[str, bytes] | None
"""Call and content; None if the sender has ended."""


class LocalTransport:
    """Messages between threads. They are copied, because the sender goes on with its arrays.

    Args:
        index: number of the task.
        queues: queue from each task (first index) to each task (second index).
    """

    def __init__(self, index: int, queues: Sequence[Sequence[SimpleQueue[_Message]]]) -> None:
        self.index = index
        self.parallelism = len(queues)
        self._queues = queues

    @classmethod
    def of_tasks(cls, parallelism: int) -> list[LocalTransport]:
        """Transports of ``parallelism`` tasks that reach each other."""
        queues: list[list[SimpleQueue[_Message]]] = [
            [SimpleQueue() for _ in range(parallelism)] for _ in range(parallelism)
        ]
        return [cls(index, queues) for index in range(parallelism)]

    def swap(
        self, call: str, outgoing: Sequence[Parts], incoming: Sequence[Any] | None = None
    ) -> list[memoryview]:
        """Send a message to each other task, and receive one from each."""
        for other in range(self.parallelism):
            if other != self.index:
                message = b"".join(memoryview(part).cast("B") for part in outgoing[other])
                self._queues[self.index][other].put((call, message))
        received = []
        for other in range(self.parallelism):
            if other == self.index:
                received.append(memoryview(b""))
                continue
            message_of_other = self._queues[other][self.index].get()
            if message_of_other is None:
                raise PeerFailedError(f"task {other} has failed, or ended before this one")
            other_call, content = message_of_other
            require_same_call(call, self.index, other_call, other)
            view = memoryview(content)
            if incoming is not None:
                memoryview(incoming[other]).cast("B")[:] = view
            received.append(view)
        return received

    def abort(self) -> None:
        """Tell the other tasks that this one has ended."""
        for other in range(self.parallelism):
            self._queues[self.index][other].put(None)

    def close(self) -> None:
        """Do nothing: there are no connections."""
