"""Committer of a Kafka sink: writes the records of complete checkpoints, each epoch in one
transaction, once.

The transaction begins when the checkpoint is complete and ends milliseconds later, so none is open
across epochs, and one that expires or is aborted is simply written again from the checkpoint.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from millrace.common.sink import CommitRequest, Committer, CommitterContext
from millrace.connectors.kafka.client import KafkaError, import_confluent_kafka
from millrace.connectors.kafka.commit_marker import CommitMarker, MarksTopicError
from millrace.connectors.kafka.producer import BatchProducer
from millrace.connectors.staged_epoch import StagedEpoch, whole_epochs
from millrace.filesystem.crash_points import crash_point

__all__ = ["KafkaTransactionCommitter", "marks_topic"]

TRANSACTION_BYTES = 64 << 20
"""A transaction takes further epochs while it has less."""
REQUEST_TIMEOUT_S = 30.0
TRANSACTION_TIMEOUT = "transaction.timeout.ms"
_DEFAULT_TRANSACTION_MS = 60_000
_LONGEST_TRANSACTION_MS = 900_000
"""Longest transaction that brokers allow by default (``transaction.max.timeout.ms``)."""
_SLOWEST_BYTES_PER_S = 500_000
"""A transaction is given as much time as its records take at this rate, uncompressed."""


def marks_topic(transactional_id: str) -> str:
    """Name of the topic in which a sink records its committed epochs."""
    return f"{transactional_id}-commits"


class KafkaTransactionCommitter(Committer):
    """Commits with a producer whose transactional id no other job has.

    A second producer with the same id, of a driver that was superseded or took over, fences the
    first. The fenced committer reads what was committed meanwhile, and commits the rest.

    Args:
        producer_config: configuration of the producer; `client_config` has no producer options.
        transactional_id: transactional id of the sink, after which its marks' topic is named.

    Raises:
        KafkaError: a property is unknown, or its value cannot be.
    """

    def __init__(
        self,
        producer_config: Mapping[str, Any],
        client_config: Mapping[str, Any],
        transactional_id: str,
        context: CommitterContext,
    ) -> None:
        self._producer_config = {**producer_config, "transactional.id": transactional_id}
        self._client_config = client_config
        self._given = frozenset(producer_config)
        self._timeout_ms = _DEFAULT_TRANSACTION_MS
        self._id = transactional_id
        self._logger = context.logger
        self._producer: BatchProducer | None = None
        self._marker: CommitMarker | None = None
        # refuses properties before a record is staged
        BatchProducer(self._producer_config).close()

    def commit(self, requests: Sequence[CommitRequest[Any]]) -> None:
        try:
            for transaction in whole_epochs(requests, TRANSACTION_BYTES):
                self._require_time(sum(staged.size for _, staged in transaction))
                producer, marker = self._session()
                self._write(producer, marker, transaction)
        except MarksTopicError:
            self.close()
            raise
        except (import_confluent_kafka().KafkaException, KafkaError) as error:
            self.close()
            # an error of millrace's own ends the job: this is tried again, by a new producer
            raise ConnectionError(f"the transaction failed: {error}") from error

    def _require_time(self, size: int) -> None:
        """Raise the transaction timeout, with a new producer, if a transaction of ``size`` bytes
        may need longer."""
        needed = min(_LONGEST_TRANSACTION_MS, size * 1_000 // _SLOWEST_BYTES_PER_S)
        if TRANSACTION_TIMEOUT in self._given or needed <= self._timeout_ms:
            return
        self._timeout_ms = needed
        self._producer_config[TRANSACTION_TIMEOUT] = str(needed)
        self._logger.info("transactions may take %d s, for %d bytes", needed // 1_000, size)
        self.close()

    def _session(self) -> tuple[BatchProducer, CommitMarker]:
        """A producer that fences others with its id, and the epochs that were committed before."""
        if self._producer is None or self._marker is None:
            producer = BatchProducer(self._producer_config)
            producer.client.init_transactions(REQUEST_TIMEOUT_S)
            marker = self._marker or CommitMarker(self._client_config, marks_topic(self._id))
            marker.load()
            self._producer, self._marker = producer, marker
        return self._producer, self._marker

    def _write(
        self,
        producer: BatchProducer,
        marker: CommitMarker,
        requests: Sequence[tuple[CommitRequest[Any], StagedEpoch]],
    ) -> None:
        """Write all uncommitted epochs in one transaction."""
        fresh: list[StagedEpoch] = []
        for request, staged in requests:
            if marker.epochs.cover(staged):
                request.signal_already_committed()
                continue
            records = staged.content()
            if not fresh:
                producer.client.begin_transaction()
            producer.send(records)
            fresh.append(staged)
        if fresh:
            epochs = marker.epochs.with_epochs(fresh)
            producer.send(marker.record(epochs))
            producer.flush()  # what cannot be delivered is better told by its own error
            crash_point("before-transaction-commit")
            producer.client.commit_transaction(REQUEST_TIMEOUT_S)
            crash_point("after-transaction-commit")
            marker.epochs = epochs

    def close(self) -> None:
        """Close the producer; its next instance aborts an open transaction."""
        self._producer = None
