"""The driver's side of the sinks: what is pending, and committing it once it is durable."""

from __future__ import annotations

from collections.abc import Iterable

from millrace.common.errors import JobExecutionError
from millrace.common.sink import Committer
from millrace.plan.job_graph import SinkNode
from millrace.runtime.epoch import Ack
from millrace.state.serialization.snapshot_codec import TRUSTING, SnapshotCodec

Pending = dict[str, list[bytes]]
"""Per sink uid: encoded committables."""


class SinkCoordinator:
    """Gathers committables of accepted epochs and commits them after a checkpoint."""

    def __init__(self, nodes: Iterable[SinkNode], codec: SnapshotCodec = TRUSTING) -> None:
        self._codec = codec
        self._committers: dict[str, Committer] = {}
        self._names: dict[str, str] = {}
        for node in nodes:
            self._names[node.uid] = node.name
            committer = node.sink.create_committer()
            if committer is not None:
                self._committers[node.uid] = committer
        self._pending: Pending = {}

    def accept(self, ack: Ack) -> None:
        """An epoch has been accepted."""
        for uid, committables in ack.committables.items():
            self._pending.setdefault(uid, []).extend(committables)

    def restore(self, pending: Pending) -> None:
        """Take over what a checkpoint left to be committed. That happens with the next one: by
        then all state has been read, and going back to an older checkpoint doubles nothing."""
        self._pending = {uid: list(items) for uid, items in pending.items()}

    def pending(self) -> Pending:
        """What the next checkpoint must name as still to be committed."""
        return {uid: list(items) for uid, items in self._pending.items()}

    def commit(self, pending: Pending) -> None:
        """Commit what a durable checkpoint names. Idempotent.

        Raises JobExecutionError when the file system refuses; nothing is lost by that.
        """
        for uid, committables in pending.items():
            committer = self._committers.get(uid)
            if committer is not None and committables:
                self._commit(uid, committer, committables)
        self._pending.clear()

    def _commit(self, uid: str, committer: Committer, committables: list[bytes]) -> None:
        try:
            committer.commit([self._codec.decode(item) for item in committables])
        except OSError as error:
            raise JobExecutionError(
                f"sink '{self._names[uid]}' could not be committed: {error}. The checkpoint is "
                "complete: resume the job to commit the rest"
            ) from error

    def close(self) -> None:
        """Close the committers."""
        for committer in self._committers.values():
            committer.close()
