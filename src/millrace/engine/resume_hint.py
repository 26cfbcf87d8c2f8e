"""Advice on how to continue a job that has ended before its input."""

from __future__ import annotations

from contextlib import suppress

from millrace.common.errors import MillraceError
from millrace.engine.embedded_job_client import EmbeddedJobClient
from millrace.state.checkpoint.directory import complete_checkpoints
from millrace.state.checkpoint.manifest import read_manifest

__all__ = ["resume_hint"]


def resume_hint(client: EmbeddedJobClient, advice: str) -> str | None:
    """Sentence that names the job's newest checkpoint and the way to continue from it. A resumed
    job without a checkpoint of its own names the one from which it continued. None if there is no
    checkpoint: the job kept none, or deleted it at its end.

    A job that was interrupted may have completed a checkpoint that it has not counted: the job
    would continue from that one, so the sentence names it.

    Args:
        advice: what to do so that the job continues.
    """
    details = client.progress()
    newest, restored = details.checkpoint, details.checkpoints.restored
    if newest is None and restored is not None:
        newest = restored.number
    # the place is gone, or cannot be read at present: nobody can continue from it
    with suppress(MillraceError, OSError):
        directory = client.get_job_directory()
        complete = complete_checkpoints(directory)
        if not complete:
            return None
        if newest is None:  # in a used directory it may be of a run that did not go on
            is_own = read_manifest(directory, complete[-1]).run_id == client.run_id
        else:
            is_own = complete[-1] >= newest
        if is_own:
            return f"to continue from checkpoint {complete[-1]}: {advice}"
    return None
