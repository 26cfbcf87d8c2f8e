"""Control directory of a job: other processes see and operate the job by its record, details and
mailbox.

It is the job's own directory, beside its checkpoints, unless they are in an object store or a job
server manages the job. In Flink, the JobManager answers requests for its jobs; here, files do.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence

from millrace.common.job import JobStatus
from millrace.engine.job_observer import JobObserver
from millrace.filesystem.local_file_system import LocalFileSystem
from millrace.filesystem.location import is_local, qualified
from millrace.runtime.epoch import Ack
from millrace.state.checkpoint.manifest import Manifest

__all__ = ["ObservedInControlDirectory", "control_directory", "id_at_server"]

_ID = re.compile(r"[0-9a-f]{32}")


def control_directory(job_dir: str, base: str | None = None) -> str | None:
    """Control directory of a job; None if it has none, so that commands cannot find the job.

    Args:
        job_dir: the directory of its checkpoints.
        base: value of the setting `millrace.control.directory`.

    Example:
        >>> control_directory("/data/count-11aa22bb")
        '/data/count-11aa22bb'
        >>> control_directory("s3://bucket/count-11aa22bb") is None
        True
        >>> control_directory("s3://bucket/count-11aa22bb", "/jobs")
        '/jobs/count-06a11aa4'
    """
    if base is None:
        return job_dir if is_local(job_dir) else None
    base = qualified(base)
    if base == os.path.dirname(job_dir):
        return job_dir
    # jobs of one name with checkpoints in different places are different jobs
    readable = os.path.basename(job_dir).rpartition("-")[0]
    return os.path.join(base, f"{readable}-{hashlib.sha256(job_dir.encode()).hexdigest()[:8]}")


def id_at_server(base: str | None) -> str | None:
    """Id that a job server has given to a job, taken from the name of its directory; None if no
    server manages the job.

    Args:
        base: value of the setting `millrace.control.directory`.

    Example:
        >>> id_at_server("/srv/server/jobs/0c2f0c2f0c2f0c2f0c2f0c2f0c2f0c2f")
        '0c2f0c2f0c2f0c2f0c2f0c2f0c2f0c2f'
        >>> id_at_server("/jobs") is None, id_at_server(None) is None
        (True, True)
    """
    name = os.path.basename(base.rstrip("/")) if base is not None else ""
    return name if _ID.fullmatch(name) else None


class ObservedInControlDirectory(JobObserver):
    """Forwards notifications to observers, with the control directory in place of the job's
    directory.

    Args:
        directory: created if it is missing, accessible to its user alone.
    """

    def __init__(self, directory: str, observers: Sequence[JobObserver]) -> None:
        self._directory = directory
        self._observers = observers

    def started(self, job_dir: str) -> None:
        if self._directory != job_dir:
            LocalFileSystem().make_directory(self._directory, durable=False)
        for observer in self._observers:
            observer.started(self._directory)

    def accepted(self, acks: Sequence[Ack]) -> None:
        for observer in self._observers:
            observer.accepted(acks)

    def committed(self, manifest: Manifest) -> None:
        for observer in self._observers:
            observer.committed(manifest)

    def ended(self, status: JobStatus, error: BaseException | None) -> None:
        for observer in self._observers:
            observer.ended(status, error)

    def closed(self) -> None:
        for observer in self._observers:
            observer.closed()
