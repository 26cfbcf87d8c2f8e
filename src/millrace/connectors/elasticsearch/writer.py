"""Writes the actions of a subtask in bulk requests, again where the cluster was too busy."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from millrace.common.sink import SinkWriter, WriterContext
from millrace.common.types.batch import RowBatch
from millrace.connectors.elasticsearch.action import PreparedAction
from millrace.connectors.elasticsearch.bulk_client import BulkClient, Refusal
from millrace.connectors.elasticsearch.errors import (
    DocumentFailure,
    ElasticsearchError,
    TransientFailure,
)
from millrace.connectors.elasticsearch.settings import SinkSettings

__all__ = ["ElasticsearchWriter"]

_WHOLE = ("index", "delete")
"""Operations whose result does not depend on what was there before."""


class ElasticsearchWriter(SinkWriter[Any]):
    """Collects actions and sends them in the order of their records.

    Of several actions that replace one document in one request only the last is sent. A request
    is followed by the next only when nothing of it is left to be retried: so a retry can never
    replace what is newer.

    Args:
        sleep: waits between retries; replaced by tests.
        client: of the cluster; replaced by tests.
    """

    def __init__(
        self,
        settings: SinkSettings,
        context: WriterContext,
        sleep: Callable[[float], None] = time.sleep,
        client: BulkClient | None = None,
    ) -> None:
        self._settings = settings
        self._logger = context.logger
        self._sent = context.metrics.counter("numRecordsSend")
        self._errors = context.metrics.counter("numRecordsSendErrors")
        self._sleep = sleep
        self._client = BulkClient(settings.connection) if client is None else client
        self._waiting: dict[Any, PreparedAction] = {}
        self._size = 0

    def write(self, batch: RowBatch[Any]) -> None:
        limit, most_bytes = self._settings.max_actions, self._settings.max_bytes
        waiting, with_types = self._waiting, self._settings.with_types
        for action in self._settings.emitter.emit_batch(batch.values):
            prepared = PreparedAction.of(action, with_types)
            if self._size + prepared.size > most_bytes and waiting:
                self._flush()
            self._add(prepared)
            if len(waiting) >= limit:
                self._flush()

    def _add(self, action: PreparedAction) -> None:
        waiting = self._waiting
        if action.document_id is None:
            waiting[len(waiting)] = action
        else:
            place = action.index_name, action.document_id
            earlier = waiting.get(place)
            if earlier is not None:
                if action.operation in _WHOLE:
                    del waiting[place]
                    self._size -= earlier.size
                else:
                    self._flush()
            waiting[place] = action
        self._size += action.size

    def flush(self, end_of_input: bool) -> None:
        if self._waiting:
            self._flush()

    def close(self) -> None:
        self._client.close()

    def _flush(self) -> None:
        """Send all that waits, until the cluster has it or has refused it for good."""
        actions: list[PreparedAction] = list(self._waiting.values())
        self._waiting.clear()
        self._size = 0
        self._sent.inc(len(actions))
        for wait in (*self._settings.backoff.waits(), None):
            try:
                refused = self._client.send(actions)
            except TransientFailure as error:
                if wait is None:
                    raise ElasticsearchError(self._gave_up(str(error))) from error
                self._logger.warning("a bulk request is sent again in %g s: %s", wait, error)
            else:
                actions = self._to_send_again(refused, last=wait is None)
                if not actions:
                    return
                self._logger.info("%d documents are sent again in %g s", len(actions), wait)
            assert wait is not None
            self._sleep(wait)

    def _to_send_again(self, refused: list[Refusal], last: bool) -> list[PreparedAction]:
        again = []
        for refusal in refused:
            if refusal.may_pass and not last:
                again.append(refusal.action)
            else:
                self._handle(refusal)
        return again

    def _handle(self, refusal: Refusal) -> None:
        """Ask the failure handler; without one the job fails."""
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
            else "; a set_failure_handler() can pass over such documents"
        )
        raise ElasticsearchError(f"the cluster refuses a document: {failure}{advice}")

    def _gave_up(self, reason: str) -> str:
        retries = len(self._settings.backoff.waits())
        tried = f" after {retries} retries" if retries else ""
        advice = "" if retries else "; set_bulk_flush_backoff_strategy() lets the sink try again"
        return f"Elasticsearch or OpenSearch takes no request{tried}: {reason}{advice}"
