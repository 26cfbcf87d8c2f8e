"""Fresh start of a job that has checkpoints: it reads all input and writes all output again."""

from __future__ import annotations

from millrace.engine.job_config import JobConfig
from millrace.state.checkpoint.directory import complete_checkpoints

__all__ = ["fresh_start_warning"]


def fresh_start_warning(job_dir: str, config: JobConfig, advice: str) -> str | None:
    """Warning of a job that starts afresh although its directory has checkpoints; None for any
    other start.

    Args:
        advice: what to do so that the job continues.
    """
    if config.resume or config.start_from is not None:
        return None
    present = complete_checkpoints(job_dir)
    if not present:
        return None
    return (
        f"the job starts afresh, although there is checkpoint {present[-1]}; to continue from it: "
        f"{advice}"
    )
