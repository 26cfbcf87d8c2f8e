"""New jobs that repeat an ended job, from its beginning or from its last checkpoint."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import msgspec

from millrace.common.config.configuration import Configuration
from millrace.common.config.options import CLAIM_MODE, KEEP_CLAIMED, START_FROM
from millrace.common.errors import CheckpointError, UnsupportedFileSystemSchemeError
from millrace.server.api_route import AccessRole, ApiError, ApiRequest, ApiRoute
from millrace.server.job_server import JobServer
from millrace.server.observed_job import ObservedJob
from millrace.server.registry import Submission
from millrace.state.checkpoint.directory import complete_checkpoints
from millrace.state.checkpoint.snapshot import snapshot_metadata

__all__ = ["ROUTES", "last_checkpoint", "rerun_submission"]

_FROM_SNAPSHOT, _CLAIM_MODE = "--from-savepoint=", "--claim-mode"
_START = (
    _FROM_SNAPSHOT,
    f"{_CLAIM_MODE}=",
    f"--conf={START_FROM.key}=",
    f"--conf={CLAIM_MODE.key}=",
    f"--conf={KEEP_CLAIMED.key}=",
)
"""Prefixes of options that say where a job starts from, and whether it owns that snapshot."""

_TAKE_OVER = (_CLAIM_MODE, "CLAIM", f"--conf={KEEP_CLAIMED.key}=true")
"""The ended job can no longer commit what is pending in its last checkpoint; its first rerun
does."""


class RerunRequest(msgspec.Struct, frozen=True):
    """The body of ``POST /jobs/:jobid/rerun``."""

    start: Literal["beginning", "checkpoint"] = "checkpoint"
    """``checkpoint``: continue from the last checkpoint of the job. ``beginning``: as the job was
    submitted, from the same savepoint if it had one."""


class RerunAnswer(msgspec.Struct, frozen=True):
    """The job that was started."""

    jobid: str
    snapshot: str | None = None
    """Checkpoint from which the job continues."""


def last_checkpoint(job: ObservedJob) -> str | None:
    """Path of the newest checkpoint that a job has left; None if there is none."""
    if job.directory is None:
        return None
    newest = next(
        (checkpoint for checkpoint in job.details.checkpoints.recent if checkpoint.path), None
    )
    places = [str(job.directory), *([os.path.dirname(newest.path)] if newest is not None else [])]
    for place in places:
        try:
            numbers = complete_checkpoints(place)
        except CheckpointError:
            continue
        if numbers:
            return os.path.join(place, f"chk-{numbers[-1]}")
    return None


def rerun_submission(job: ObservedJob, snapshot: str | None) -> Submission:
    """The submission that runs an ended job again.

    Args:
        snapshot: checkpoint of that job, which the server itself has found, from which the new
            job continues; None for the savepoint of the job's submission, if there is one.
    """
    options = job.job.submission.options
    if snapshot is not None:
        options = (*_without_start(options), _FROM_SNAPSHOT + snapshot, *_TAKE_OVER)
        if job.directory is not None and os.path.dirname(snapshot) == str(job.directory):
            # native, but written by a job of this server
            options = (*options, "--allow-pickle")
    return replace(job.job.submission, name=job.name, options=options)


def _without_start(options: Sequence[str]) -> Iterator[str]:
    """The options that do not say where the job starts from, nor whether it owns that snapshot."""
    words = iter(options)
    for word in words:
        if word == _CLAIM_MODE:
            next(words, None)
        elif not word.startswith(_START):
            yield word


def _require_first_snapshot(job: ObservedJob) -> None:
    """Check that the snapshot with which a job began still exists. A job deletes a snapshot that it
    owns when newer checkpoints replace it.

    Raises:
        ApiError: 409, the snapshot is gone.
    """
    options = job.job.submission.options
    settings = Configuration({} if job.archive is None else job.archive.settings)
    path = _given(options, _FROM_SNAPSHOT, START_FROM.key) or settings.get(START_FROM)
    if not path or not _is_gone(path):
        return
    mode = _given(options, f"{_CLAIM_MODE}=", CLAIM_MODE.key) or settings.get(CLAIM_MODE)
    owned = ": it belonged to the job (claim mode CLAIM), which has deleted it"
    raise ApiError(
        409,
        f"job {job.id} began with the state of {path}, and there is no complete savepoint or "
        f"checkpoint any more{owned if mode == 'CLAIM' else ''}. Start the job from its last "
        "checkpoint, or submit the program anew",
    )


def _given(options: Sequence[str], word: str, key: str) -> str | None:
    """The value of an option of a submission; None if it has none.

    Args:
        word: how the option begins that has its value in the same word, or in the next.
        key: the configuration key for which the option stands.
    """
    conf, value = f"--conf={key}=", None
    for number, given in enumerate(options):
        if given.startswith(word):
            return given.removeprefix(word)
        if f"{given}=" == word:
            return next(iter(options[number + 1 :]), None)
        if given.startswith(conf):
            value = given.removeprefix(conf)
    return value


def _is_gone(path: str) -> bool:
    """Whether a snapshot on this machine's disks does not exist. Only the job knows where a
    relative path begins, and how to reach a store."""
    if not os.path.isabs(path.removeprefix("file:")):
        return False
    try:
        snapshot_metadata(path)
    except CheckpointError as error:
        # a mount that does not answer now may answer the job
        return not isinstance(error.__cause__, OSError)
    except UnsupportedFileSystemSchemeError:  # a URI with the name of another host
        return False
    return False


def post_rerun(server: JobServer, request: ApiRequest) -> RerunAnswer:
    """Answer ``POST /jobs/:jobid/rerun``."""
    job = server.observed(request)
    if not job.job.is_over:
        raise ApiError(409, f"job {job.id} has not ended; cancel it, or stop it with a savepoint")
    if not Path(job.job.submission.program).is_file():
        raise ApiError(409, f"the program {job.job.submission.program} is not there any more")
    snapshot = None
    if request.body.start == "checkpoint":
        snapshot = last_checkpoint(job)
        if snapshot is None:
            raise ApiError(409, f"job {job.id} has left no checkpoint; start it from the beginning")
    else:
        _require_first_snapshot(job)
    started = server.supervisor.submit(rerun_submission(job, snapshot))
    return RerunAnswer(started.id, snapshot)


ROUTES = (
    ApiRoute(
        "POST",
        "/jobs/{jobid}/rerun",
        post_rerun,
        "Run an ended job once more as a new job: from its last checkpoint, or from its beginning.",
        RerunAnswer,
        AccessRole.OPERATE,
        body=RerunRequest,
    ),
)
