"""Committer of a Kafka sink: writes the records of complete checkpoints, each epoch in one
transaction, once.

The transaction begins when the checkpoint is about to be written. Its records are sent meanwhile,
and only the end of the transaction is left when the checkpoint is complete. None is open across
epochs, and one that expires or is aborted is simply written again from the checkpoint.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from millrace.common.sink import CommitRequest, Committer, CommitterContext
from millrace.connectors.kafka.client import KafkaError, import_confluent_kafka
from millrace.connectors.kafka.commit_marker import CommitMarker, MarksTopicError
from millrace.connectors.kafka.producer import BatchProducer
from millrace.connectors.staged_epoch import CommittedEpochs, StagedEpoch, whole_epochs
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
        self._begun: CommittedEpochs | None = None
        """Mark of the open transaction, whose records the producer has. None if none is open."""
        # refuses properties before a record is staged
        BatchProducer(self._producer_config).close()

    def begin_commit(self, requests: Sequence[CommitRequest[Any]]) -> None:
        """Open the first transaction, and send its records in the background."""
        for transaction in islice(whole_epochs(requests, TRANSACTION_BYTES), 1):
            try:
                self._begin(transaction)
                crash_point("transaction-begun")
            except Exception:
                self._abort()
                raise

    def abandon_commit(self) -> None:
        if self._begun is not None:
            self._begun = None
            self._abort()

    def _abort(self) -> None:
        """Abort the open transaction, if there is one, so that no reader waits for its end.

        The producer is not used again: its client counts what it had not sent yet as failed, and
        may have left a gap in the sequence numbers, at which the next transaction would fail.
        """
        if self._producer is None:
            return
        try:
            self._producer.client.abort_transaction(REQUEST_TIMEOUT_S)
        except Exception as error:  # also a SystemError, of callbacks that the call serves
            self._logger.debug("the next producer aborts the transaction: %s", error)
        self._drop()

    def commit(self, requests: Sequence[CommitRequest[Any]]) -> None:
        try:
            for transaction in whole_epochs(requests, TRANSACTION_BYTES):
                if not self._end_early():
                    self._begin(transaction)
                    self._end()
        except MarksTopicError:
            self._drop()
            raise
        except (import_confluent_kafka().KafkaException, KafkaError) as error:
            if isinstance(error, KafkaError):  # no reader waits until it is tried again
                self._abort()
            self._drop()
            # an error of millrace's own ends the job: this is tried again, by a new producer
            raise ConnectionError(f"the transaction failed: {error}") from error

    def _end_early(self) -> bool:
        """Commit the transaction that `begin_commit` has opened. False if there is none, or its
        records may have to be written again: it expires if the checkpoint takes too long."""
        if self._begun is None:
            return False
        try:
            self._end()
        except (import_confluent_kafka().KafkaException, KafkaError) as error:
            self._logger.info(
                "transaction '%s', which was open while the checkpoint was written, could not be "
                "committed; unless the brokers have it, its records are written again: %s",
                self._id, error,
            )  # fmt: skip
            self._drop()
            return False
        return True

    def _require_time(self, size: int) -> None:
        """Raise the transaction timeout, with a new producer, if a transaction of ``size`` bytes
        may need longer."""
        needed = min(_LONGEST_TRANSACTION_MS, size * 1_000 // _SLOWEST_BYTES_PER_S)
        if TRANSACTION_TIMEOUT in self._given or needed <= self._timeout_ms:
            return
        self._timeout_ms = needed
        self._producer_config[TRANSACTION_TIMEOUT] = str(needed)
        self._logger.info("transactions may take %d s, for %d bytes", needed // 1_000, size)
        self._drop()

    def _session(self) -> tuple[BatchProducer, CommitMarker]:
        """A producer that fences others with its id, and the epochs that were committed before."""
        if self._producer is None or self._marker is None:
            producer = BatchProducer(self._producer_config)
            producer.client.init_transactions(REQUEST_TIMEOUT_S)
            marker = self._marker or CommitMarker(self._client_config, marks_topic(self._id))
            marker.load()
            self._producer, self._marker = producer, marker
        return self._producer, self._marker

    def _begin(self, requests: Sequence[tuple[CommitRequest[Any], StagedEpoch]]) -> None:
        """Open a transaction, and begin to send all records of uncommitted epochs and their mark.
        If all epochs are committed, none is opened."""
        self._require_time(sum(staged.size for _, staged in requests))
        producer, marker = self._session()
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
            self._begun = epochs

    def _end(self) -> None:
        """Commit the open transaction, if there is one."""
        begun, self._begun = self._begun, None
        if begun is None:
            return
        assert self._producer is not None
        assert self._marker is not None
        self._producer.flush()  # what cannot be delivered is better told by its own error
        crash_point("before-transaction-commit")
        self._producer.client.commit_transaction(REQUEST_TIMEOUT_S)
        crash_point("after-transaction-commit")
        self._marker.epochs = begun

    def close(self) -> None:
        """Close the producer."""
        self.abandon_commit()
        self._drop()

    def _drop(self) -> None:
        """Close the producer, if there is one. The next one aborts an open transaction."""
        producer, self._producer, self._begun = self._producer, None, None
        if producer is not None:
            producer.close()
