"""`DataFrameSource`: reads a bounded DataFrame whose rows are the same each time it is computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from millrace.common.errors import CheckpointError
from millrace.common.source import BatchDelivery, Lane
from millrace.common.types.row import Row
from millrace.spark.connector.delivered_reader import DeliveredSource
from millrace.spark.connector.lanes import LaneEnumerator

if TYPE_CHECKING:
    from millrace.spark.feeds import BatchFeed

__all__ = ["DataFrameSource"]

_RECORDS = 500_000
"""Records that an epoch should have, as long as partitions are not larger."""


class DataFrameSource(DeliveredSource):
    """Reads a bounded DataFrame in columns, in the Spark tasks that compute it, without a copy.

    An epoch reads some partitions whole; what a checkpoint has is how many have been read. So the
    DataFrame has to be repeatable: the same rows in the same partitions whenever it is computed,
    in a run that resumes as well. Files and tables that nobody changes are, and what is selected
    from them row by row; what was shuffled, ordered or drawn at random is not.

    Args:
        dataframe: a `pyspark.sql.DataFrame`, not a streaming one.
        record_type: the type of a record for those who want them one by one, ``Row`` or ``dict``.

    Raises:
        JobDefinitionError: Arrow has no type for a column.
    """

    def __init__(self, dataframe: Any, record_type: type[Any] = Row) -> None:
        super().__init__(dataframe, record_type)

    def create_enumerator(self) -> DataFrameEnumerator:
        return DataFrameEnumerator(self._dataframe)


class DataFrameEnumerator(LaneEnumerator):
    """Offers the partitions of a DataFrame in order."""

    def __init__(self, dataframe: Any) -> None:
        super().__init__()
        self._dataframe = dataframe
        self._opened: BatchFeed | None = None
        self._rdd: Any = None
        self._count: int | None = None
        """The partitions that there are."""
        self._next = 0
        """The first that has not been read."""
        self._size = 0
        """Number of partitions of the last batch."""

    @property
    def _feed(self) -> BatchFeed:
        from millrace.spark.feeds import BatchFeed

        self._opened = self._opened or BatchFeed()
        return self._opened

    def discover(self, now: int) -> Sequence[Lane]:
        count = self._open()
        if self._offered is not None or self._next >= count:
            return ()
        self._size = min(self._wanted(), count - self._next)
        partitions = tuple(range(self._next, self._next + self._size))
        self._feed.batches[self._next] = self._rdd
        last = self._next + self._size == count
        return self._offer(BatchDelivery(self._feed.id, self._next, partitions, last))

    def _open(self) -> int:
        if self._rdd is None:
            from millrace.spark.feeds import partitions_of

            self._rdd, partitions = partitions_of(self._dataframe)
            if self._count not in (None, partitions):
                raise CheckpointError(
                    f"the DataFrame of from_spark() now has {partitions} partitions; it had "
                    f"{self._count} when the checkpoint was made, so it is unknown which "
                    "rows have been read. It is not repeatable (the number may follow "
                    "Spark's number of cores): remove repeatable=True, and the job reads a "
                    "copy"
                )
            self._count = partitions
        assert self._count is not None
        return self._count

    def _wanted(self) -> int:
        """Number of partitions for the next epoch: one per subtask at first, then according to
        their sizes."""
        least = self._context.parallelism
        if not self._size:
            return least
        read = max(1, sum(self._answers.values()))
        return max(least, min(4 * self._size, self._size * _RECORDS // read))

    def _consumed(self, delivery: BatchDelivery) -> None:
        self._next = delivery.batch + len(delivery.partitions)

    def no_more_splits(self) -> bool:
        return self._count is not None and self._rdd is not None and self._next >= self._count

    def next_discovery(self, now: int) -> int | None:
        return now + 20

    def snapshot_state(self) -> dict[str, Any]:
        return {"lanes": self._lanes, "partitions": self._count, "next": self._next}

    def restore_state(self, state: dict[str, Any]) -> None:
        self._lanes, self._count, self._next = state["lanes"], state["partitions"], state["next"]

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()
