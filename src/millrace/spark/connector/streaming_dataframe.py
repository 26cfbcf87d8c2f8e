"""`StreamingDataFrameSource`: reads the micro-batches of a streaming DataFrame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from millrace.common.errors import JobDefinitionError
from millrace.common.similar_names import did_you_mean
from millrace.common.source import BatchDelivery, Boundedness, Lane
from millrace.common.types.row import Row
from millrace.spark.connector.delivered_reader import DeliveredSource
from millrace.spark.connector.lanes import LaneEnumerator

if TYPE_CHECKING:
    from millrace.spark.streaming_feed import StreamingFeed

__all__ = ["StreamingDataFrameSource"]

_Position = tuple[int, dict[str, bytes]] | None
"""The fields of a `millrace.spark.query_position.QueryPosition`: plain data for checkpoints."""
_LOOK_EVERY = 20
"""Milliseconds between looks whether Spark has a micro-batch: a variable of this process."""
_TRIGGERS = ("processingTime", "availableNow")
_OTHER_TRIGGERS = {
    "once": 'write {"availableNow": True}',
    "continuous": "it has no micro-batches, which the job's checkpoints need",
    "realTime": "its micro-batches are as long as a checkpoint interval of Spark; for low latency "
    "shorten the job's own interval",
}


class StreamingDataFrameSource(DeliveredSource):
    """Reads any streaming DataFrame in columns, in the Spark tasks that compute it, exactly once.

    A query of Structured Streaming cuts micro-batches. An epoch reads one of them whole. Only when
    a checkpoint has that is the micro-batch committed in Spark. The checkpoint holds Spark's
    offsets, so a savepoint of any age can be gone back to while the system that the records come
    from still has them.

    Args:
        dataframe: ``spark.readStream...``, and whatever is selected from that row by row.
        trigger: of the query, as `pyspark.sql.streaming.DataStreamWriter.trigger` takes it, such
            as ``{"processingTime": "1 second"}``; None: micro-batches as fast as checkpoints.
        record_type: the type of a record for those who want them one by one, ``Row`` or ``dict``.

    Raises:
        JobDefinitionError: Arrow has no type for a column, the DataFrame keeps state in Spark, or
            the trigger is none that can be used.
    """

    def __init__(
        self,
        dataframe: Any,
        trigger: Mapping[str, Any] | None = None,
        record_type: type[Any] = Row,
    ) -> None:
        from millrace.spark.stateful_plan import check_stateless

        self._trigger = _checked_trigger(trigger or {})
        super().__init__(dataframe, record_type)
        check_stateless(dataframe)

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED

    @property
    def supports_available_now(self) -> bool:
        return True

    def create_enumerator(self) -> StreamingEnumerator:
        return StreamingEnumerator(self._dataframe, self._trigger)


def _checked_trigger(trigger: Mapping[str, Any]) -> dict[str, Any]:
    """The trigger's arguments.

    Raises:
        JobDefinitionError: one has no such name, or cannot be used here.
    """
    for name in trigger:
        if name in _TRIGGERS:
            continue
        advice = _OTHER_TRIGGERS.get(name)
        if advice is not None:
            raise JobDefinitionError(f"from_spark() cannot use the trigger {name!r}: {advice}")
        hint = did_you_mean(str(name), _TRIGGERS, f"there are {', '.join(_TRIGGERS)}")
        raise JobDefinitionError(f"from_spark() got the trigger {name!r}, which Spark lacks{hint}")
    if len(trigger) > 1:
        raise JobDefinitionError(f"from_spark() takes one trigger, got {', '.join(trigger)}")
    return dict(trigger)


class StreamingEnumerator(LaneEnumerator):
    """Runs the query and offers its micro-batches."""

    def __init__(self, dataframe: Any, trigger: dict[str, Any]) -> None:
        super().__init__()
        self._dataframe = dataframe
        self._trigger = trigger
        self._running: StreamingFeed | None = None
        self._position: _Position = None
        """Position after the last micro-batch read."""
        self._offered_position: _Position = None
        self._saved: int | None = None
        """The last micro-batch in the newest snapshot."""
        self._ended = False
        """Whether all that this run is to read has been read."""

    @property
    def _feed(self) -> StreamingFeed:
        if self._running is None:
            from millrace.spark.streaming_feed import StreamingFeed

            self._running = StreamingFeed(self._dataframe, self._trigger, self._position)
        return self._running

    def prepare_for_available_now(self, now: int) -> None:
        self._trigger = {"availableNow": True}

    def discover(self, now: int) -> Sequence[Lane]:
        feed = self._feed
        if self._offered is not None or self._ended:
            return ()
        waiting = feed.waiting()
        if waiting is not None:
            self._offered_position = waiting.position.batch, waiting.position.files
            partitions = tuple(range(waiting.partitions))
            return self._offer(BatchDelivery(feed.id, waiting.position.batch, partitions))
        if feed.is_over():
            return self._offer(BatchDelivery(feed.id, feed.end(), at_end=True))
        return ()

    def _consumed(self, delivery: BatchDelivery) -> None:
        if delivery.at_end:
            self._ended = True
        else:
            self._position = self._offered_position

    def no_more_splits(self) -> bool:
        return self._ended

    def next_discovery(self, now: int) -> int | None:
        return now + _LOOK_EVERY

    def snapshot_state(self) -> dict[str, Any]:
        position = self._position
        self._saved = None if position is None else position[0]
        return {"lanes": self._lanes, "position": position}

    def restore_state(self, state: dict[str, Any]) -> None:
        self._lanes, self._position = state["lanes"], state["position"]

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        if self._saved is not None and self._running is not None:
            self._running.release(self._saved)

    def close(self) -> None:
        if self._running is not None:
            self._running.close()
