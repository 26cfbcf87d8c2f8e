"""The driver's side of the sinks: what is pending, and committing it once it is durable."""

from __future__ import annotations

from collections.abc import Iterable

from millrace.common.payload import decode
from millrace.common.sink import Committer
from millrace.plan.job_graph import SinkNode
from millrace.runtime.epoch import Ack

Pending = dict[str, list[bytes]]
"""Per sink uid: encoded committables."""


class SinkCoordinator:
    """Gathers committables of accepted epochs and commits them after a checkpoint."""

    def __init__(self, nodes: Iterable[SinkNode]) -> None:
        self._committers: dict[str, Committer] = {}
        for node in nodes:
            committer = node.sink.create_committer()
            if committer is not None:
                self._committers[node.uid] = committer
        self._pending: Pending = {}

    def accept(self, ack: Ack) -> None:
        """An epoch has been accepted."""
        for uid, committables in ack.committables.items():
            self._pending.setdefault(uid, []).extend(committables)

    def pending(self) -> Pending:
        """What the next checkpoint must name as still to be committed."""
        return {uid: list(items) for uid, items in self._pending.items()}

    def commit(self, pending: Pending) -> None:
        """Commit what a durable checkpoint names. Idempotent."""
        for uid, committables in pending.items():
            committer = self._committers.get(uid)
            if committer is not None and committables:
                committer.commit([decode(item) for item in committables])
        self._pending.clear()

    def close(self) -> None:
        """Close the committers."""
        for committer in self._committers.values():
            committer.close()
