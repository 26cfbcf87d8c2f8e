"""Job observers, which are notified of accepted epochs, commits and the end of a job."""

from __future__ import annotations

from collections.abc import Sequence

from millrace.common.job import JobStatus
from millrace.runtime.epoch import Ack
from millrace.state.checkpoint.manifest import Manifest


class JobObserver:
    """Receives notifications about a job. They arrive in the job's thread, so every method must be
    quick.

    An error that an observer raises makes the job fail.
    """

    def started(self, job_dir: str) -> None:
        """Called when the job begins and holds the lease of its directory."""

    def accepted(self, acks: Sequence[Ack]) -> None:
        """Called when an epoch is accepted."""

    def committed(self, manifest: Manifest) -> None:
        """Called when a checkpoint in the job's directory is complete and the sinks have
        committed its committables. If a later checkpoint is announced, the call may be left out."""

    def ended(self, status: JobStatus, error: BaseException | None) -> None:
        """Called when the job ends with a status, perhaps by an error; its lease is still held."""

    def closed(self) -> None:
        """Called after the end of the job, successful or not."""
