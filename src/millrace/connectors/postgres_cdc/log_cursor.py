"""Row changes from the messages of a replication stream, transaction by transaction."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from operator import itemgetter
from typing import NamedTuple

from millrace.connectors.postgres_cdc.captured_table import CapturedTable, created_again
from millrace.connectors.postgres_cdc.connection import PostgresCdcError
from millrace.connectors.postgres_cdc.log_position import StreamPosition
from millrace.connectors.postgres_cdc.pgoutput import (
    UNCHANGED,
    Begin,
    Commit,
    Relation,
    RowChange,
    Truncate,
    Values,
    parse_message,
)
from millrace.connectors.postgres_cdc.replication_stream import LogEnd, ReplicationStream
from millrace.connectors.postgres_cdc.splits import Key

__all__ = ["LogChange", "LogCursor", "LogTable"]


class LogTable:
    """A captured table, and the layout of its rows in the log from some position on."""

    def __init__(self, table: CapturedTable, relation: Relation) -> None:
        self.table = table
        self.relation = relation
        self.columns = tuple(column.name for column in relation.columns)
        missing = [name for name in table.key if name not in self.columns]
        if missing:
            raise PostgresCdcError(
                f"table {table.full_name} no longer has the key column "
                f"{', '.join(missing)}; start without a checkpoint, so that the table is "
                "read again"
            )
        self.key = tuple(map(self.columns.index, table.key))
        self._values_of = itemgetter(*self.key) if self.key else tuple
        self.full_identity = relation.replica_identity == "f"
        if not self.full_identity and relation.replica_identity != "d":
            raise PostgresCdcError(
                f"the replica identity of table {table.full_name} was changed, and changes "
                f"no longer identify their row: ALTER TABLE {table.quoted} REPLICA IDENTITY "
                "FULL or DEFAULT, and start without a checkpoint"
            )

    def changes_key(self, before: Values, after: Values) -> bool:
        """Whether two images of a row have different keys."""
        return bool(self.key) and self._values_of(before) != self._values_of(after)

    def key_of(self, values: Values) -> Key:
        """Primary key of a row."""
        return tuple((values[index] or b"").decode() for index in self.key)


class LogChange(NamedTuple):
    """A change of one row; a change of the primary key is split into two."""

    op: str
    """``c``, ``u`` or ``d``; ``t`` of a table that was emptied, which has no row."""
    table: LogTable
    before: Values | None
    after: Values | None
    lsn: int
    transaction: Begin

    @property
    def key(self) -> Key:
        """Primary key of the row."""
        values = self.before if self.after is None else self.after
        assert values is not None
        return self.table.key_of(values)


class LogCursor:
    """Reads a replication stream from a position on.

    Args:
        stream: replication stream that was opened at the position.
        position: position after the last change read.
        end_lsn: end; transactions committed from here on are not read. None for no end.
        tables: the tables whose changes are read.
        skips_truncates: whether it says nothing of tables that are emptied by ``TRUNCATE``.
    """

    def __init__(
        self,
        stream: ReplicationStream,
        position: StreamPosition,
        end_lsn: int | None,
        tables: Sequence[CapturedTable],
        skips_truncates: bool,
    ) -> None:
        self._stream = stream
        self.position = position
        self._end = end_lsn
        self._tables = {(table.schema, table.name): table for table in tables}
        self._by_oid = {table.oid: table for table in tables}
        self._skips_truncates = skips_truncates
        self._relations: dict[int, LogTable] = {}
        self._transaction: Begin | None = None
        self._count = 0
        """Changes of the transaction so far."""
        self._skip = 0
        """Number of these changes that had been read before."""

    @property
    def at_end(self) -> bool:
        """Whether all changes up to the end position are read."""
        return self._end is not None and self.position.lsn >= self._end

    def read(self, max_records: int) -> list[LogChange]:
        """The next changes that have arrived.

        Raises:
            psycopg.Error: the connection is lost.
            PostgresCdcError: a table cannot be captured any more.
        """
        changes: list[LogChange] = []
        while len(changes) < max_records and not self.at_end:
            message = self._stream.receive()
            if message is None:
                break
            if isinstance(message, LogEnd):
                if self._transaction is None:
                    self._advance(message.lsn)
                continue
            self._handle(message.lsn, message.payload, changes)
        if self._transaction is not None and self._count > self._skip:
            lsn = self.position.lsn
            self.position = StreamPosition(lsn, self._transaction.commit_lsn, self._count)
        return changes

    def _advance(self, lsn: int) -> None:
        """Move the position to ``lsn``, before which all transactions are read. A value is
        ignored if it is not after the current position, or not after the commit of a partly read
        transaction."""
        if lsn > max(self.position.lsn, self.position.commit_lsn):
            self.position = StreamPosition(lsn if self._end is None else min(lsn, self._end))

    def _handle(self, lsn: int, payload: bytes, changes: list[LogChange]) -> None:
        message = parse_message(payload)
        if isinstance(message, RowChange):
            self._add(lsn, message, changes)
        elif isinstance(message, Begin):
            self._begin(message)
        elif isinstance(message, Commit):
            self._transaction = None
            self._advance(message.end_lsn)
        elif isinstance(message, Relation):
            self._learn(message)
        elif isinstance(message, Truncate):
            self._truncate(lsn, message.relations, changes)

    def _begin(self, transaction: Begin) -> None:
        lsn, partly_read, count = self.position
        if self._end is not None and transaction.commit_lsn >= self._end:
            self._advance(self._end)
            return
        self._transaction, self._count, self._skip = transaction, 0, 0
        if transaction.commit_lsn < lsn:
            self._skip = 1 << 62
        elif transaction.commit_lsn == partly_read:
            self._skip = count

    def _add(self, lsn: int, change: RowChange, changes: list[LogChange]) -> None:
        op, oid, before, after = change
        transaction, table = self._transaction, self._relations.get(oid)
        self._count += 1
        if self._count <= self._skip or table is None:
            return
        assert transaction is not None
        if op != "u" or before is None or after is None:
            changes.append(LogChange(op, table, before, after, lsn, transaction))
            return
        if table.full_identity and UNCHANGED in after:
            after = [b if a is UNCHANGED else a for a, b in zip(after, before, strict=True)]
        if table.changes_key(before, after):
            changes.append(LogChange("d", table, before, None, lsn, transaction))
            changes.append(LogChange("c", table, None, after, lsn, transaction))
        else:
            changes.append(LogChange(op, table, before, after, lsn, transaction))

    def _learn(self, relation: Relation) -> None:
        table = self._by_oid.get(relation.oid)  # it may have had another name
        known = self._relations.get(relation.oid)
        if table is None:
            table = self._tables.get((relation.schema, relation.table))
            if table is not None and table.oid:
                raise created_again(table)
        if table is not None and (known is None or known.relation != relation):
            self._relations[relation.oid] = LogTable(table, relation)

    def _truncate(self, lsn: int, relations: Collection[int], changes: list[LogChange]) -> None:
        self._count += 1
        known = [self._relations[oid] for oid in relations if oid in self._relations]
        if self._count <= self._skip or self._skips_truncates or not known:
            return
        assert self._transaction is not None
        changes += [LogChange("t", t, None, None, lsn, self._transaction) for t in known]
