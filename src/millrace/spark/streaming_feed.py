"""A Structured Streaming query whose micro-batches become batches of a source.

`foreachBatch` is called with a micro-batch and returns only when a checkpoint of the job has it:
then Spark commits the offsets. What our checkpoint has is never behind what Spark has let go of.
"""

from __future__ import annotations

import contextlib
import logging
from dataclasses import dataclass
from threading import Condition, Thread
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from millrace.common.errors import JobExecutionError
from millrace.filesystem.scratch_directory import ScratchDirectory
from millrace.spark.feeds import BatchFeed, partitions_of
from millrace.spark.query_position import QueryPosition

__all__ = ["StreamingFeed", "WaitingBatch"]

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class WaitingBatch:
    """A micro-batch that waits until it is read."""

    position: QueryPosition
    """Position after the micro-batch."""
    partitions: int


class StreamingFeed(BatchFeed):
    """Runs the query of a streaming DataFrame from a position (None for its start).

    Args:
        position: the fields of a `QueryPosition`.
    """

    def __init__(
        self,
        dataframe: Any,
        trigger: dict[str, Any],
        position: tuple[int, dict[str, bytes]] | None,
    ) -> None:
        super().__init__()
        self._changed = Condition()
        self._waiting: WaitingBatch | None = None
        self._released = -1 if position is None else position[0]
        """Last micro-batch that a checkpoint includes."""
        self._closing = self._over = False
        self._ends_itself = "availableNow" in trigger
        self._error: Exception | None = None
        # everything that has to last is in the job's checkpoints
        self._scratch = ScratchDirectory("query")
        self._directory = self._scratch.path
        if position is not None:
            QueryPosition(*position).write(self._directory)
        try:
            self._query = self._started(dataframe, trigger)
        except (Py4JError, PySparkException) as error:
            self._scratch.remove()
            raise JobExecutionError(
                f"the streaming DataFrame cannot be read: {_first_lines(error)}"
            ) from error
        Thread(target=self._watch, name="millrace-query", daemon=True).start()

    def _started(self, dataframe: Any, trigger: dict[str, Any]) -> Any:
        writer = dataframe.writeStream.option("checkpointLocation", self._directory.as_uri())
        if trigger:
            writer = writer.trigger(**trigger)
        return writer.foreachBatch(self._take).start()

    def _take(self, dataframe: Any, batch: int) -> None:
        """Callback of Spark for each micro-batch, in a thread of its own.

        When the job ends it returns as if all were well: what the query notes then is deleted.
        """
        if batch <= self._released:  # a checkpoint has it
            return
        try:
            position = QueryPosition.read(self._directory, batch)
            self.batches[batch], partitions = partitions_of(dataframe)
        except Exception as error:
            self._error = error  # Spark would print it with two stacks
        with self._changed:
            if self._error is None:
                self._waiting = WaitingBatch(position, partitions)
            self._changed.wait_for(lambda: self._closing or self._released >= batch)

    def _watch(self) -> None:
        try:
            self._query.awaitTermination()
        except Exception as error:
            self._error = self._error or error
        self._over = True

    def waiting(self) -> WaitingBatch | None:
        """The next micro-batch to read, if there is one; each is returned once."""
        with self._changed:
            batch, self._waiting = self._waiting, None
        return batch

    def is_over(self) -> bool:
        """Whether the query has delivered all data available at its start, and has ended.

        Raises:
            JobExecutionError: the query has failed, or was stopped from elsewhere.
        """
        if not self._over and self._error is None:
            return False
        if self._error is None and self._ends_itself:
            return True
        if isinstance(self._error, JobExecutionError):
            raise self._error
        why = "somebody stopped it" if self._error is None else _first_lines(self._error)
        raise JobExecutionError(f"the query of a streaming DataFrame has ended: {why}")

    def end(self) -> int:
        """Batch number that marks the end of the input; no micro-batch has this number."""
        return self._released + 1

    def release(self, batch: int) -> None:
        """Let Spark commit a micro-batch, because a checkpoint includes it."""
        with self._changed:
            self._released = max(self._released, batch)
            self._changed.notify_all()

    def close(self) -> None:
        """Stop the query; the next run repeats micro-batches that no checkpoint includes."""
        # a query that goes on has its sources forget the micro-batch that is let go
        stopping = Thread(target=self._stop, name="millrace-query-end", daemon=True)
        stopping.start()
        self._wait_until_stopping(stopping)
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        stopping.join()
        super().close()
        self._scratch.remove()

    def _stop(self) -> None:
        """Stop the query, after releasing a micro-batch that waits to be taken."""
        try:
            self._query.stop()
        except (Py4JError, PySparkException, OSError) as error:
            log.debug("could not stop the query: %s", error)

    def _wait_until_stopping(self, stopping: Thread) -> None:
        """Wait until the query starts nothing more, or does not answer."""
        with contextlib.suppress(Py4JError, PySparkException, OSError):
            while stopping.is_alive() and self._query.isActive:
                stopping.join(0.005)


def _first_lines(error: Exception) -> str:
    """Spark's message without the Java stack."""
    return str(error).strip().split("\n\n")[0].split("\n\tat ")[0][:600]
