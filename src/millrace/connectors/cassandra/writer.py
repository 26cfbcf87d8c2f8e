"""Writes the records of a subtask, many requests at a time, again where no node took them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from millrace.common.error_policy import ErrorPolicy
from millrace.common.sink import SinkWriter, WriterContext
from millrace.common.types.batch import RowBatch
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
from millrace.connectors.cassandra.statements import CassandraTarget, Statements
from millrace.connectors.refused_writes import RefusedWrites

__all__ = ["CassandraWriter", "CassandraWriting"]

_BOUND = 10_000
"""Statements in memory at a time."""


@dataclass(frozen=True)
class CassandraWriting:
    """What a Cassandra sink writes, where to and how."""

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


class CassandraWriter(SinkWriter[Any]):
    """Sends a batch's statements, and waits for all of them.

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
        self._writing = writing
        self._known_statements: Statements | None = None
        self._logger = context.logger
        self._sleep = sleep
        self._sent = context.metrics.counter("numRecordsSend")
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
            self._write(values[start : start + _BOUND])

    def _write(self, values: list[Any]) -> None:
        retries, wait = self._writing.max_retries, self._writing.retry_interval_ms / 1000
        pending: list[Any] | None = None
        for tries in range(retries + 1):
            try:
                statements = self._statements()
                if pending is None:
                    pending = list(statements.of(values))
                    self._sent.inc(len(pending))
                pending, failure = self._send(statements.session, pending)
            except Exception as error:
                if not is_passing(error) and not isinstance(error, CassandraUnavailableError):
                    raise
                failure = error
            if failure is None:
                return
            if tries < retries:
                self._logger.warning("writes are sent again in %g s: %s", wait, failure)
                self._sleep(wait)
        raise CassandraUnavailableError(
            f"{self._writing.connection} did not take what was written to {self._writing.target}: "
            f"{failure} (tried {retries + 1} times: see set_max_retries() and "
            "set_consistency_level())"
        ) from failure

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

    def _send(self, session: Any, pending: list[Any]) -> tuple[list[Any], Any]:
        """Send all; what has to be sent again, and why."""
        from cassandra.concurrent import execute_concurrent

        outcomes = execute_concurrent(
            session,
            [(statement, ()) for statement in pending],
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
        return ([] if again is None else pending[again:]), failure

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
