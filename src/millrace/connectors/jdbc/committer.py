"""Committer that moves the staged rows of each complete checkpoint to the target table in one
transaction, exactly once.

The transaction also records how far the run has come, so a repeated commit is recognised; the rows
never leave the database.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from millrace.common.sink import CommitRequest, Committer, CommitterContext
from millrace.connectors.jdbc.client import JdbcError
from millrace.connectors.jdbc.commit_log import CommitLog, staging_table
from millrace.connectors.jdbc.session import JdbcSession
from millrace.connectors.jdbc.target_table import StagedTable
from millrace.connectors.jdbc.writer import BatchWriting, JdbcStagedBatch
from millrace.filesystem.crash_points import crash_point

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["JdbcCommitter", "sweep"]


class JdbcCommitter(Committer):
    """Commits the batches that the writers of a sink have staged.

    Raises:
        JdbcError: the database cannot be reached, the target is not there or has no such columns.
    """

    def __init__(self, writing: BatchWriting, context: CommitterContext) -> None:
        self._writing = writing
        self._sink_id = writing.sink_id or ""
        self._logger = context.logger
        self._session = JdbcSession(writing.connection)
        try:
            self._session.transaction(self._create, writing.execution.max_retries, self._logger)
        except (ConnectionError, JdbcError) as error:
            raise JdbcError(f"sink '{self._sink_id}' cannot start: {error}") from None

    def _create(self, connection: Connection) -> None:
        CommitLog(connection, self._sink_id).create()
        staged = self._staged(connection)
        staged.drop_empty()
        staged.create()

    def _staged(self, connection: Connection) -> StagedTable:
        name = staging_table(self._sink_id, self._writing.target.name)
        return StagedTable(name, self._writing.target, connection, lasting=True)

    def commit(self, requests: Sequence[CommitRequest[Any]]) -> None:
        batches = [JdbcStagedBatch(*request.committable) for request in requests]
        new = self._session.transaction(lambda connection: self._move(connection, batches))
        crash_point("after-jdbc-commit")
        for request, batch in zip(requests, batches, strict=True):
            if batch.batch not in new:
                request.signal_already_committed()

    def _move(self, connection: Connection, batches: Sequence[JdbcStagedBatch]) -> Collection[int]:
        """Move batches to the target, and return those that were not committed before."""
        log, staged = CommitLog(connection, self._sink_id), self._staged(connection)
        log.lock()
        known = {run_id: log.committed(run_id) for run_id in {item.run_id for item in batches}}
        new = [item for item in batches if item.epoch > known[item.run_id]]
        if not new:
            return ()
        numbers = sorted(item.batch for item in new)
        staged.merge(numbers, deletes=any(item.deletes for item in new))
        self._check(staged.clear(numbers), new)
        log.forget(numbers)
        for run_id in known:
            epochs = [item.epoch for item in new if item.run_id == run_id]
            if epochs:
                log.note(run_id, max(epochs))
        crash_point("before-jdbc-commit")
        return numbers

    def _check(self, moved: int, batches: Sequence[JdbcStagedBatch]) -> None:
        expected = sum(item.rows for item in batches)
        if moved != expected:
            raise JdbcError(
                f"sink '{self._sink_id}': of {expected} rows that the checkpoint names, "
                f"{moved} are in the staging table; the others have been deleted. Start "
                "from another checkpoint"
            )

    def close(self) -> None:
        self._session.close()


def sweep(writing: BatchWriting, run_ids: Collection[str], older_than: int) -> None:
    """Delete batches that failed attempts of the given runs staged more than ``older_than`` ms
    ago."""
    sink_id = writing.sink_id or ""

    def work(connection: Connection) -> None:
        log = CommitLog(connection, sink_id)
        log.lock()
        batches = log.leftovers(run_ids, time.time_ns() // 1_000_000 - older_than)
        if batches:
            name = staging_table(sink_id, writing.target.name)
            StagedTable(name, writing.target, connection, lasting=True).clear(batches)
            log.forget(batches)

    session = JdbcSession(writing.connection)
    try:
        session.transaction(work)
    finally:
        session.close()
