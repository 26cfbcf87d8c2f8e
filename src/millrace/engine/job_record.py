"""Record of a job's last run: its process, and the way it ended.

The record is the file ``job.json`` in the job's directory, which outlives the job and its
checkpoints. After a run is killed, its record still says that it is running. Flink: the history
server's archives and the job result store.
"""

from __future__ import annotations

import logging
import os
import socket
import time

import msgspec

from millrace.common.errors import CheckpointError, LeaseLostError, UserFunctionError
from millrace.common.job import JobStatus
from millrace.common.typed_json import decode_json
from millrace.engine.executor import ApplicationLostError
from millrace.engine.job_observer import JobObserver
from millrace.state.checkpoint.files import StrPath, opened, write_file
from millrace.state.checkpoint.manifest import Manifest

__all__ = ["JobRecord", "RecordedRun", "read_record"]

log = logging.getLogger(__name__)

RECORD = "job.json"
_ERROR_LENGTH = 8_000
_MAX_BYTES = 64 * 1024


class JobRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Record of a job's last run, with times in milliseconds since the epoch of Unix."""

    job_name: str
    job_id: str
    run_id: str
    program: str
    """File of the program; empty in an interactive session."""
    host: str
    pid: int
    since: int
    status: str
    """Name of the run's `JobStatus`: RUNNING until the run has ended."""
    ended: int | None = None
    error: str = ""
    """Error that made the job fail."""
    operator: str = ""
    """Name of the operator whose function failed."""
    lost: bool = False
    """Whether the job failed because the application in which it ran has ended, so that another
    process can continue."""
    checkpoints: str = ""
    """Directory of the job's checkpoints, which may be in an object store; empty if it is the
    directory of this record."""
    input_ended: bool | None = None
    """Whether the last checkpoint contains all input of the run; None while the run goes on, or
    if it completed no checkpoint."""


class RecordedRun(JobObserver):
    """Writes the record of a run.

    Raises CheckpointError, and so ends the job, if the record cannot be written at its start.

    Args:
        checkpoints: the directory of the job's checkpoints.
    """

    def __init__(
        self, job_name: str, job_id: str, run_id: str, program: str, checkpoints: str = ""
    ) -> None:
        self._record = JobRecord(
            job_name=job_name,
            job_id=job_id,
            run_id=run_id,
            program=program,
            host=socket.gethostname(),
            pid=os.getpid(),
            since=int(time.time() * 1000),
            status=JobStatus.RUNNING.name,
            checkpoints=checkpoints,
        )
        self._path = ""
        self._input_ended: bool | None = None

    def started(self, job_dir: str) -> None:
        """Write the record at the beginning of the job."""
        self._path = os.path.join(job_dir, RECORD)
        self._write(self._record)

    def committed(self, manifest: Manifest) -> None:
        """Record a complete checkpoint."""
        self._input_ended = manifest.finished

    def ended(self, status: JobStatus, error: BaseException | None) -> None:
        """Record the status with which the job ends; a failure to do so does no harm. A run that
        another run has replaced does not write, because the record then belongs to the other
        run."""
        if not self._path or isinstance(error, LeaseLostError) or self._is_superseded():
            return
        failed = error is not None and status is JobStatus.FAILED
        operator = error.operator if isinstance(error, UserFunctionError) else ""
        ended = msgspec.structs.replace(
            self._record,
            status=status.name,
            ended=int(time.time() * 1000),
            error=_cut(str(error) or type(error).__name__) if failed else "",
            operator=operator,
            lost=failed and isinstance(error, ApplicationLostError),
            input_ended=self._input_ended,
        )
        try:
            self._write(ended)
        except (CheckpointError, OSError) as problem:
            log.warning("the outcome of the job could not be recorded: %s", problem)

    def _is_superseded(self) -> bool:
        record = read_record(os.path.dirname(self._path))
        return record is not None and record.run_id != self._record.run_id

    def _write(self, record: JobRecord) -> None:
        write_file(self._path, (msgspec.json.format(msgspec.json.encode(record)),))


def read_record(job_dir: StrPath) -> JobRecord | None:
    """Record in a job directory; None if there is none that can be read."""
    try:
        with opened(os.path.join(job_dir, RECORD)) as file:
            return decode_json(file.read(_MAX_BYTES), JobRecord)
    except (CheckpointError, msgspec.MsgspecError, ValueError, RecursionError):
        return None


def _cut(text: str) -> str:
    """Beginning and end of a text that is too long: a traceback has the error at its end."""
    half = _ERROR_LENGTH // 2
    return text if len(text) <= _ERROR_LENGTH else f"{text[:half]}\n...\n{text[-half:]}"
