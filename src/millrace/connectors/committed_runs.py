"""Commit units of table committers: the checkpoint data of one run of the job."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from millrace.common.errors import JobExecutionError
from millrace.common.sink import CommitRequest, WriterContext
from millrace.filesystem.registry import file_system_of

__all__ = ["CommittedRun", "by_run", "origin", "require_files"]


@dataclass(frozen=True)
class CommittedRun:
    """Requests that are committed in one transaction. The transaction has a name that repeated
    attempts share.

    The next epoch does not end before such a commit. So what checkpoints name of a run is committed
    as a whole or not at all, and is the same whenever it is repeated. The name has the run in it
    because a run that goes back to an older savepoint has old epochs with new records.
    """

    application_id: str
    """Id of a sink in one run of the job."""
    number: int
    """Number of the last epoch, which increases within the application id."""
    requests: Sequence[CommitRequest[Any]]

    @property
    def committables(self) -> list[Any]:
        """Committables of the writers, in the order of epochs."""
        return sorted((r.committable for r in self.requests), key=lambda item: int(item["epoch"]))

    def signal_already_committed(self) -> None:
        """Signal that all requests were committed before."""
        for request in self.requests:
            request.signal_already_committed()


def origin(context: WriterContext, epoch: int) -> dict[str, Any]:
    """Fields of a committable that `by_run` reads. They differ between operators, even if several
    operators share one sink object.
    """
    sink = hashlib.sha256(context.uid.encode()).hexdigest()[:12]
    return {"run": context.run_id, "sink": sink, "epoch": epoch}


def by_run(requests: Sequence[CommitRequest[Any]]) -> list[CommittedRun]:
    """Requests of each run, starting with the run that wrote first. Committables are dicts with
    their `origin`."""
    runs: dict[str, list[CommitRequest[Any]]] = {}
    for request in requests:
        item = request.committable
        runs.setdefault(f"millrace-{item['run']}-{item['sink']}", []).append(request)
    return [
        CommittedRun(name, max(int(request.committable["epoch"]) for request in group), group)
        for name, group in runs.items()
    ]


def require_files(paths: Iterable[str]) -> None:
    """Refuse to commit missing files: a table that names a missing file could not be read.

    Raises:
        JobExecutionError: a file is gone.
    """
    for path in paths:
        if file_system_of(path).status(path) is None:
            raise JobExecutionError(
                f"{path} has records that are to be committed, but the file is gone: "
                "another program has deleted it (VACUUM, a dropped table, a cleared "
                "directory)"
            )
