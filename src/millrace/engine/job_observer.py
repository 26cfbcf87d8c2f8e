"""Job observers: are notified of accepted epochs, commits and the end of a job."""

from __future__ import annotations

from collections.abc import Sequence

from millrace.common.job import JobStatus
from millrace.runtime.epoch import Ack
from millrace.state.checkpoint.manifest import Manifest


class JobObserver:
    """Is notified of what a job does, in the job's thread, so every method must be quick.

    What an observer raises makes the job fail.
    """

    def started(self, job_dir: str) -> None:
        """The job begins; it holds the lease of its directory."""

    def accepted(self, acks: Sequence[Ack]) -> None:
        """An epoch counts."""

    def committed(self, manifest: Manifest) -> None:
        """A checkpoint of the job's directory is complete, and the sinks have committed what it
        names. A later one may be announced instead of it."""

    def ended(self, status: JobStatus, error: BaseException | None) -> None:
        """The job ends with a status, perhaps by an error; its lease is still held."""

    def closed(self) -> None:
        """The job has ended, in whatever way."""
