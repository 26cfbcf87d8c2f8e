"""The sink's own tables in a database: staged batches and committed epochs."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlalchemy import Connection, Table

__all__ = ["CommitLog", "staging_table"]

COMMITS = "millrace_commits"
BATCHES = "millrace_batches"
_LOCK_ROW = ""
_MOST_LETTERS = 50


def staging_table(sink_id: str, target: str) -> str:
    """Name of the table for staged rows of a sink, in the schema of its target.

    Example:
        >>> staging_table("totals", "shop.totals")
        'shop.millrace_staged_totals'
    """
    plain = re.sub(r"\W", "_", sink_id, flags=re.ASCII)  # names are cut off by their bytes
    if plain != sink_id or len(plain) > _MOST_LETTERS - 16:
        digest = hashlib.sha256(sink_id.encode()).hexdigest()[:8]
        plain = f"{plain[: _MOST_LETTERS - 25]}_{digest}"
    schema, dot, _ = target.rpartition(".")
    return f"{schema}{dot}millrace_staged_{plain}"


class CommitLog:
    """Staged batches and committed epochs of one sink.

    Args:
        connection: connection whose transaction all methods use.
        sink_id: id of the sink.
    """

    def __init__(self, connection: Connection, sink_id: str) -> None:
        self._connection = connection
        self._sink_id = sink_id
        self._commits, self._batches = _tables()

    def create(self) -> None:
        """Create the tables, and the row that `lock` locks, unless they exist."""
        self._commits.metadata.create_all(self._connection)
        if self._epoch_of(_LOCK_ROW) is None:
            self._note(_LOCK_ROW, 0)

    def new_batch(self, run_id: str, epoch: int, now: int) -> int:
        """Number of a new batch to be staged, greater than all earlier ones."""
        values = {"sink_id": self._sink_id, "run_id": run_id, "epoch": epoch, "staged_at": now}
        done = self._connection.execute(self._batches.insert().values(values))
        key: Any = done.inserted_primary_key
        return int(key[0])

    def lock(self) -> None:
        """Lock the sink's commits against other drivers until this transaction ends; waits for
        the lock."""
        commits = self._commits
        where = (commits.c.sink_id == self._sink_id) & (commits.c.run_id == _LOCK_ROW)
        self._connection.execute(commits.update().where(where).values(epoch=commits.c.epoch))

    def committed(self, run_id: str) -> int:
        """Last committed epoch of a run; -1 if there is none."""
        epoch = self._epoch_of(run_id)
        return -1 if epoch is None else epoch

    def note(self, run_id: str, epoch: int) -> None:
        """Record that an epoch of a run, and with it all earlier ones, is committed."""
        commits = self._commits
        where = (commits.c.sink_id == self._sink_id) & (commits.c.run_id == run_id)
        update = commits.update().where(where).values(epoch=epoch)
        if not self._connection.execute(update).rowcount:
            self._note(run_id, epoch)

    def forget(self, batches: Collection[int]) -> None:
        """Delete the log's entries of batches that are no longer staged."""
        gone = self._batches.delete().where(self._batches.c.id.in_(batches))
        self._connection.execute(gone)

    def leftovers(self, run_ids: Collection[str], before: int) -> Sequence[int]:
        """Batches of the given runs that were staged before a time (ms since the epoch)."""
        from sqlalchemy import select

        batches = self._batches.c
        query = select(batches.id).where(
            batches.sink_id == self._sink_id,
            batches.run_id.in_(run_ids),
            batches.staged_at < before,
        )
        return self._connection.execute(query).scalars().all()

    def _note(self, run_id: str, epoch: int) -> None:
        values = {"sink_id": self._sink_id, "run_id": run_id, "epoch": epoch}
        self._connection.execute(self._commits.insert().values(values))

    def _epoch_of(self, run_id: str) -> int | None:
        from sqlalchemy import select

        commits = self._commits.c
        query = select(commits.epoch).where(
            commits.sink_id == self._sink_id, commits.run_id == run_id
        )
        return self._connection.execute(query).scalar()


@functools.cache
def _tables() -> tuple[Table, Table]:
    """Table of committed epochs and table of staged batches."""
    from sqlalchemy import BigInteger, Column, Integer, MetaData, String, Table

    metadata = MetaData()
    commits = Table(
        COMMITS,
        metadata,
        Column("sink_id", String(190), primary_key=True),
        Column("run_id", String(100), primary_key=True),
        Column("epoch", BigInteger, nullable=False),
    )
    batches = Table(
        BATCHES,
        metadata,
        Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
        Column("sink_id", String(190), nullable=False),
        Column("run_id", String(100), nullable=False),
        Column("epoch", BigInteger, nullable=False),
        Column("staged_at", BigInteger, nullable=False),
        sqlite_autoincrement=True,
    )
    return commits, batches
