"""Snapshot that a job has claimed: the job owns it from then on, and deletes it once it is not
needed.

Semantics: Flink docs, "Savepoints", claim mode CLAIM.
"""

from __future__ import annotations

import logging

from millrace.common.errors import CheckpointError
from millrace.engine.lease import Lease
from millrace.filesystem.registry import exists
from millrace.state.checkpoint.delta_set import DeltaSet, read_delta_set
from millrace.state.checkpoint.directory import CLAIMED, complete_checkpoints, remove_checkpoint
from millrace.state.checkpoint.files import delete_quietly, write_file
from millrace.state.checkpoint.manifest import read_manifest
from millrace.state.checkpoint.savepoints import dispose_savepoint
from millrace.state.checkpoint.segment_ledger import SegmentLedger
from millrace.state.checkpoint.snapshot import Snapshot

log = logging.getLogger(__name__)


class ClaimedSnapshot:
    """Claimed savepoint, or claimed checkpoint of another job. In the second case, this job also
    holds the lease of the other job's directory until the end."""

    def __init__(self, snapshot: Snapshot, lease: Lease | None, keep: bool = False) -> None:
        self._snapshot = snapshot
        self._lease = lease
        self._keep = keep

    @staticmethod
    def take(snapshot: Snapshot, run_id: str, keep: bool = False) -> ClaimedSnapshot | None:
        """Claim the snapshot; None if another job has claimed and kept it.

        Args:
            keep: whether `dispose` notes that the snapshot is claimed, instead of deleting it.

        Raises:
            LeaseError: it is a checkpoint of a job that is running.
        """
        lease = None if snapshot.is_savepoint else Lease.acquire(snapshot.directory, run_id)
        claimed = ClaimedSnapshot(snapshot, lease, keep)
        if keep and exists(f"{snapshot.path}/{CLAIMED}"):
            claimed.release()
            return None
        return claimed

    def dispose(self) -> None:
        """Delete the files that no other checkpoint needs. A failure only wastes disk space.

        A snapshot that is kept gets a note, before the job commits what was pending in it.
        """
        try:
            if self._keep:
                write_file(f"{self._snapshot.path}/{CLAIMED}", ())
            elif self._snapshot.is_savepoint:
                dispose_savepoint(self._snapshot.path)
            else:
                self._dispose_checkpoint()
        except (OSError, CheckpointError) as error:
            log.warning(
                "the claimed %s was not deleted, or not noted as claimed: %s",
                self._snapshot.name,
                error,
            )
        finally:
            self.release()

    def release(self) -> None:
        """Release the lease of the other job's directory."""
        if self._lease is not None:
            self._lease.release()
            self._lease = None

    def _dispose_checkpoint(self) -> None:
        directory = self._snapshot.directory
        remove_checkpoint(directory, self._snapshot.manifest.checkpoint)
        needed: set[str] = set()
        for number in complete_checkpoints(directory):
            needed |= _files(read_delta_set(directory, read_manifest(directory, number)))
        gone = _files(self._snapshot.deltas) - needed
        if gone:
            delete_quietly(*(f"{directory}/{path}" for path in gone))


def _files(deltas: DeltaSet) -> set[str]:
    segments = SegmentLedger()
    segments.add(deltas.live())
    return {*deltas.files, *segments}
