"""The driver's side of the sinks: what is pending, and committing it once it is durable."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial

from millrace.common.errors import JobExecutionError
from millrace.common.sink.sink import Committer
from millrace.plan.job_graph import SinkNode
from millrace.runtime.epoch import Ack
from millrace.state.serialization.snapshot_codec import TRUSTING, SnapshotCodec

Pending = dict[str, list[bytes]]
"""Per sink uid: encoded committables."""
Sweep = Callable[[], None]


class SinkCoordinator:
    """Gathers committables of accepted epochs and commits them after a checkpoint.

    Args:
        parallelism: of the sinks, by uid.
    """

    def __init__(
        self,
        nodes: Iterable[SinkNode],
        codec: SnapshotCodec = TRUSTING,
        parallelism: Mapping[str, int] | None = None,
    ) -> None:
        self._codec = codec
        self._parallelism = parallelism or {}
        self._work_files: dict[str, dict[int, tuple[str, ...]]] = {}
        """Per sink whose files are known, and subtask that has told: what is in use."""
        self._committers: dict[str, Committer] = {}
        self._names: dict[str, str] = {}
        for node in nodes:
            self._names[node.uid] = node.name
            committer = node.sink.create_committer()
            if committer is not None:
                self._committers[node.uid] = committer
                if node.sink.work_files(None) is not None:
                    self._work_files[node.uid] = {}
        self._pending: Pending = {}

    def accept(self, ack: Ack) -> None:
        """An epoch has been accepted."""
        for uid, committables in ack.committables.items():
            self._pending.setdefault(uid, []).extend(committables)
        for uid, files in ack.work_files.items():
            if uid in self._work_files:
                self._work_files[uid][ack.subtask] = files

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

    def sweeps(self, run_ids: Collection[str], older_than: int) -> list[Sweep] | None:
        """What is to be done to delete what failed attempts of these runs left behind more than
        ``older_than`` ms ago; None: some subtask has not told yet what it uses, or something waits
        to be committed."""
        if self._pending:
            return None
        sweeps: list[Sweep] = []
        for uid, told in self._work_files.items():
            if len(told) < self._parallelism.get(uid, 1):
                return None
            in_use = {path for files in told.values() for path in files}
            sweeps.append(partial(self._committers[uid].sweep, in_use, run_ids, older_than))
        return sweeps

    def close(self) -> None:
        """Close the committers."""
        for committer in self._committers.values():
            committer.close()
