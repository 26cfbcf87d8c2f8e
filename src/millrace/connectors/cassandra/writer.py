"""The writer of a subtask: many concurrent requests, with retries of writes that no node
accepted."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from millrace.common.error_policy import ErrorPolicy
from millrace.common.sink import WriterContext
from millrace.common.types.batch import Batch, RowBatch
from millrace.connectors.async_sink import AsyncSinkWriter, BufferLimits, UnsentEntries
from millrace.connectors.cassandra.client import (
    CassandraConnection,
    CassandraError,
    CassandraUnavailableError,
    connect,
    import_cassandra,
    is_passing,
)
from millrace.connectors.cassandra.failure_handler import CassandraFailureHandler
from millrace.connectors.cassandra.mapper_options import MappedWrites
from millrace.connectors.cassandra.statements import BoundValues, CassandraTarget, Statements
from millrace.connectors.refused_writes import RefusedWrites
from millrace.connectors.retries import FixedPauses
from millrace.connectors.row_changes import ReplacedRows
from millrace.runtime.write_ahead import LoggableWriter

__all__ = ["CassandraWriter", "CassandraWriting"]

_BOUND = 10_000
"""Statements in memory at a time."""


@dataclass(frozen=True)
class CassandraWriting:
    """Settings for writing to Cassandra: records, destination and options."""

    connection: CassandraConnection = field(default_factory=CassandraConnection)
    target: CassandraTarget = field(default_factory=CassandraTarget)
    max_concurrent_requests: int = 128
    max_retries: int = 3
    retry_interval_ms: int = 1_000
    policy: ErrorPolicy = field(default_factory=ErrorPolicy.fail)
    failure_handler: CassandraFailureHandler | None = None
    """In place of the policy."""
    mapped: MappedWrites | None = None
    """Mapper options, which count for a table."""
    writes_ahead: bool = False
    """Whether rows are written when their checkpoint is complete."""


class CassandraWriter(LoggableWriter, AsyncSinkWriter[BoundValues]):
    """Sends the statements of a batch, and waits for all of them.

    Of two writes of a row the later has the higher timestamp, which the client gives it, whichever
    arrives first. So when one is sent again, so are all behind it.

    Args:
        sleep: waits between retries; replaced by tests.
    """

    def __init__(
        self,
        writing: CassandraWriting,
        context: WriterContext,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        super().__init__(context, BufferLimits(entries=_BOUND), sleep)
        self._writing = writing
        self._replaced = ReplacedRows()
        self._known_statements: Statements | None = None
        self._refused = RefusedWrites(
            writing.policy, CassandraError, context.metrics, context.logger
        )

    def write(self, batch: RowBatch[Any]) -> None:
        """Write a batch.

        Raises:
            CassandraError: no node takes it, or one refuses it.
            SerializationError: a value does not fit its column.
        """
        values = batch.values
        for start in range(0, len(values), _BOUND):
            self.write_entries(self._bound(values[start : start + _BOUND]))

    def entries(self, batch: Batch) -> list[BoundValues]:
        assert isinstance(batch, RowBatch)
        bound = self._bound(batch.values)
        if self._writing.policy.fails and self._writing.failure_handler is None:
            self._statements().require_keys(batch.values)
        return bound

    def last_entries(self) -> list[BoundValues] | None:
        if self._known_statements is None:
            return None
        return list(self._known_statements.last(self._replaced)) or None

    def write_entries(self, entries: list[BoundValues]) -> None:
        for start in range(0, len(entries), _BOUND):
            part = entries[start : start + _BOUND]
            self._sent.inc(len(part))
            self._send(part)

    def _bound(self, values: list[Any]) -> list[BoundValues]:
        """Statements for values. To make them takes a session, which knows the columns."""
        bound: list[BoundValues] = []

        def bind(left: list[Any]) -> UnsentEntries[Any]:
            try:
                bound.extend(self._statements().of(left, self._replaced))
            except Exception as error:
                if not _may_pass(error):
                    raise
                bound.clear()
                return UnsentEntries(left, error)
            return UnsentEntries([])

        self._try(bind, values)
        return bound

    def _pauses(self) -> FixedPauses:
        writing = self._writing
        return FixedPauses([writing.retry_interval_ms / 1000] * writing.max_retries)

    def _request(self, entries: list[BoundValues]) -> UnsentEntries[BoundValues]:
        try:
            return self._execute(self._statements(), entries)
        except Exception as error:
            if not _may_pass(error):
                raise
            return UnsentEntries(entries, error)

    def _gave_up(self, unsent: UnsentEntries[Any], tries: int) -> None:
        raise CassandraUnavailableError(
            f"{self._writing.connection} did not take what was written to {self._writing.target}: "
            f"{unsent.failure} (tried {tries} times: see set_max_retries() and "
            "set_consistency_level())"
        ) from unsent.failure

    def _statements(self) -> Statements:
        known = self._known_statements
        if known is None:
            session = connect(self._writing.connection)
            try:
                known = Statements(session, self._writing.target)
            except BaseException:
                session.cluster.shutdown()
                raise
            self._known_statements = known
        return known

    def close(self) -> None:
        if self._known_statements is not None:
            self._known_statements.close()

    def _execute(
        self, statements: Statements, pending: list[BoundValues]
    ) -> UnsentEntries[BoundValues]:
        """Send all statements; returns the first failed one and all after it, to be sent again."""
        from cassandra.concurrent import execute_concurrent

        outcomes = execute_concurrent(
            statements.session,
            [(statements.bound(entry), ()) for entry in pending],
            concurrency=self._writing.max_concurrent_requests,
            raise_on_first_error=False,
        )
        again: int | None = None
        failure, refused = None, []
        for place, (success, result) in enumerate(outcomes):
            if success:
                continue
            if is_passing(result):
                if again is None:
                    again, failure = place, result
            elif again is None:  # what is behind is tried again anyway
                refused.append(self._said(result))
        self._take(refused)
        return UnsentEntries([]) if again is None else UnsentEntries(pending[again:], failure)

    def _take(self, refused: list[str]) -> None:
        handler = self._writing.failure_handler
        if handler is None:
            self._refused.take(refused)
        else:
            self._refused.hand_over(refused, handler.on_failure)

    def _said(self, error: Any) -> str:
        connection, target = self._writing.connection, self._writing.target
        advice = ""
        if isinstance(error, import_cassandra().Unauthorized):
            advice = "; grant the user of set_credentials() MODIFY on it"
        reason = str(getattr(error, "message", None) or error)[:300]
        return f"{connection} refuses a write to {target}: {reason}{advice}"


def _may_pass(error: Exception) -> bool:
    return is_passing(error) or isinstance(error, CassandraUnavailableError)
