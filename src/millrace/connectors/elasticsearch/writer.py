"""The writer of a subtask: sends bulk requests, and retries when the cluster was too busy."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any
from uuid import uuid4

from millrace.common.sink import WriterContext
from millrace.common.types.batch import Batch, RowBatch
from millrace.connectors.async_sink import AsyncSinkWriter, BufferLimits, UnsentEntries
from millrace.connectors.elasticsearch.action import ElasticsearchAction, PreparedAction
from millrace.connectors.elasticsearch.bulk_client import BulkClient, Refusal
from millrace.connectors.elasticsearch.errors import (
    DocumentFailure,
    ElasticsearchError,
    TransientFailure,
)
from millrace.connectors.elasticsearch.settings import SinkSettings
from millrace.connectors.retries import FixedPauses
from millrace.connectors.row_changes import ReplacedRows
from millrace.runtime.write_ahead import LoggableWriter

__all__ = ["ElasticsearchWriter"]

_WHOLE = ("index", "delete")
"""Operations whose result does not depend on what was there before."""


class _Busy(Exception):
    """The cluster was too busy for some documents."""

    def __init__(self, refusals: list[Refusal]) -> None:
        super().__init__(refusals[0].reason)
        self.refusals = refusals


class ElasticsearchWriter(LoggableWriter, AsyncSinkWriter[PreparedAction]):
    """Collects actions and sends them in the order of their records.

    Of several actions that replace one document in one request only the last is sent.

    Args:
        sleep: waits between retries; replaced by tests.
        client: client of the cluster; tests replace it.
    """

    def __init__(
        self,
        settings: SinkSettings,
        context: WriterContext,
        sleep: Callable[[float], None] = time.sleep,
        client: BulkClient | None = None,
    ) -> None:
        super().__init__(context, BufferLimits(settings.max_actions, settings.max_bytes), sleep)
        self._settings = settings
        self._errors = context.metrics.counter("numRecordsSendErrors")
        self._replaced = ReplacedRows()
        self._client = BulkClient(settings.connection) if client is None else client

    def write(self, batch: RowBatch[Any]) -> None:
        self._add_all(self._settings.emitter.emit_changes(batch.values, self._replaced))

    def entries(self, batch: Batch) -> list[tuple[Any, ...]]:
        assert isinstance(batch, RowBatch)
        return self._logged(self._settings.emitter.emit_changes(batch.values, self._replaced))

    def last_entries(self) -> list[tuple[Any, ...]] | None:
        return self._logged(self._settings.emitter.emit_last(self._replaced)) or None

    def _logged(self, actions: Iterable[ElasticsearchAction]) -> list[tuple[Any, ...]]:
        """Actions for a log. A new document gets an id, so that it is there once however often it
        is written."""
        with_types = self._settings.with_types
        logged: list[tuple[Any, ...]] = []
        for action in actions:
            if action.document_id is None:
                action = replace(action, document_id=uuid4().hex)
            logged.append(tuple(PreparedAction.of(action, with_types)))
        return logged

    def write_entries(self, entries: list[tuple[Any, ...]]) -> None:
        for entry in entries:
            self._add_action(PreparedAction(*entry))

    def _add_all(self, actions: Iterable[ElasticsearchAction]) -> None:
        with_types = self._settings.with_types
        for action in actions:
            self._add_action(PreparedAction.of(action, with_types))

    def _add_action(self, action: PreparedAction) -> None:
        key = None
        if action.document_id is not None:
            key = action.index_name, action.document_id
            if key in self._waiting and action.operation not in _WHOLE:
                self._send_waiting()
        self._add(action, action.size, key)

    def close(self) -> None:
        self._client.close()

    def _pauses(self) -> FixedPauses:
        return FixedPauses(self._settings.backoff.waits())

    def _request(self, actions: list[PreparedAction]) -> UnsentEntries[PreparedAction]:
        try:
            refusals = self._client.send(actions)
        except TransientFailure as error:
            return UnsentEntries(actions, error)
        for refusal in refusals:
            if not refusal.may_pass:
                self._handle(refusal)
        passing = [refusal for refusal in refusals if refusal.may_pass]
        return UnsentEntries([one.action for one in passing], _Busy(passing) if passing else None)

    def _gave_up(self, unsent: UnsentEntries[PreparedAction], tries: int) -> None:
        if not isinstance(unsent.failure, _Busy):
            raise ElasticsearchError(self._no_request(str(unsent.failure))) from unsent.failure
        for refusal in unsent.failure.refusals:
            self._handle(refusal)

    def _handle(self, refusal: Refusal) -> None:
        """Call the failure handler; if there is none, fail the job."""
        operation, index, document_id, _, document = refusal.action
        failure = DocumentFailure(
            operation, index, document_id, refusal.status, refusal.kind, refusal.reason, document
        )
        self._errors.inc()
        handler = self._settings.failure_handler
        if handler is not None:
            handler(failure)
            return
        advice = (
            "; give the cluster time with set_bulk_flush_backoff_strategy()"
            if refusal.may_pass
            else "; set_failure_handler() can skip such documents"
        )
        raise ElasticsearchError(f"the cluster refuses a document: {failure}{advice}")

    def _no_request(self, reason: str) -> str:
        retries = len(self._settings.backoff.waits())
        tried = f" after {retries} retries" if retries else ""
        advice = "" if retries else "; with set_bulk_flush_backoff_strategy() the sink retries"
        return f"Elasticsearch or OpenSearch takes no request{tried}: {reason}{advice}"
