"""Short summary of a savepoint."""

from __future__ import annotations

from typing import Any

from millrace.cli.printing import size_text
from millrace.common.time.local_time import time_text
from millrace.state.checkpoint.savepoints import size_of
from millrace.state.checkpoint.snapshot import Snapshot


def short_id(id: str) -> str:
    """The first eight digits of the given id; ``-`` if there are none.

    Example:
        >>> short_id("savepoint-count-6c35493a-0123456789ab"), short_id("")
        ('01234567', '-')
    """
    return digits(id)[:8] or "-"


def digits(id: str) -> str:
    """The digits of the given id, without its prefix."""
    return id.rpartition("-")[2]


def columns(savepoint: Snapshot) -> tuple[str, ...]:
    """Id, time, job, checkpoint, size and parallelism of a savepoint as cells."""
    manifest = savepoint.manifest
    return (
        short_id(manifest.snapshot_id),
        time_text(manifest.timestamp),
        manifest.job_name,
        f"chk-{manifest.checkpoint}",
        size_text(size_of(savepoint)),
        f"x {parallelism(savepoint)}",
    )


def parallelism(savepoint: Snapshot) -> int:
    """The highest parallelism of all stages."""
    return max(savepoint.manifest.stages.values(), default=0)


def summary(savepoint: Snapshot) -> dict[str, Any]:
    """Summary for machines; times in ms since the Unix epoch, sizes in bytes."""
    manifest = savepoint.manifest
    return {
        "id": manifest.snapshot_id,
        "parent": manifest.ancestor or None,
        "path": str(savepoint.path),
        "time": manifest.timestamp,
        "job": manifest.job_name,
        "job_id": manifest.job_id,
        "checkpoint": manifest.checkpoint,
        "epoch": manifest.epoch,
        "size": size_of(savepoint),
        "parallelism": parallelism(savepoint),
        "max_parallelism": manifest.max_parallelism,
    }
