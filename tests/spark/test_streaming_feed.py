"""StreamingFeed: when a micro-batch is let go. A stand-in for the query does what Spark does."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Event, Thread
from typing import Any

from millrace.spark.streaming_feed import StreamingFeed


class Query:
    """A query with one micro-batch: its sources forget that if the query goes on after it."""

    def __init__(self, take: Callable[[Any, int], None]) -> None:
        self.isActive = True
        self.forgotten = False
        self._thread = Thread(target=self._run, args=(take,), daemon=True)
        self._ended = Event()
        self._thread.start()

    def _run(self, take: Callable[[Any, int], None]) -> None:
        take(None, 0)
        self.forgotten = self.isActive
        self._ended.set()

    def awaitTermination(self) -> None:
        self._ended.wait()

    def stop(self) -> None:
        time.sleep(0.05)  # the JVM takes its time
        self.isActive = False
        self._thread.join()


class Streaming:
    """A streaming DataFrame, its writer and the way to its query."""

    query: Query

    @property
    def writeStream(self) -> Streaming:
        return self

    def option(self, name: str, value: str) -> Streaming:
        return self

    def foreachBatch(self, take: Callable[[Any, int], None]) -> Streaming:
        self._take = take
        return self

    def start(self) -> Query:
        self.query = Query(self._take)
        return self.query


def test_a_micro_batch_that_no_checkpoint_has_is_not_forgotten() -> None:
    dataframe = Streaming()
    feed = StreamingFeed(dataframe, {}, None)
    feed.close()
    assert not dataframe.query.forgotten
    assert not feed._directory.exists()


def test_a_micro_batch_that_a_checkpoint_has_is_let_go() -> None:
    dataframe = Streaming()
    feed = StreamingFeed(dataframe, {}, None)
    feed.release(0)
    dataframe.query.awaitTermination()
    assert dataframe.query.forgotten
    feed.close()
