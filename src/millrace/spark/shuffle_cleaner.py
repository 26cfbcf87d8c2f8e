"""Removal of the shuffle files of past epochs."""

from __future__ import annotations

import logging
from queue import SimpleQueue
from threading import Thread

from pyspark import SparkContext

from millrace.spark.slots import JavaObject

log = logging.getLogger(__name__)


class ShuffleCleaner:
    """Removes an epoch's shuffle files after the epoch, in a thread of its own. Spark itself would
    wait for the JVM's garbage collector, and every epoch leaves such files.
    """

    def __init__(self, context: SparkContext) -> None:
        self._context = context
        self._noted: list[JavaObject] = []
        self._queue: SimpleQueue[JavaObject | None] = SimpleQueue()
        self._thread: Thread | None = None

    def note(self, shuffled: JavaObject) -> None:
        """Record a shuffle of the running epoch."""
        self._noted.append(shuffled)

    def clean(self) -> None:
        """Remove the shuffles of the epoch, which is over."""
        if self._thread is None:
            self._thread = Thread(target=self._run, name="millrace-shuffle-cleaner", daemon=True)
            self._thread.start()
        for shuffled in self._noted:
            self._queue.put(shuffled)
        self._noted = []

    def _run(self) -> None:
        while (shuffled := self._queue.get()) is not None:
            try:
                shuffle_id = shuffled.rdd().dependencies().head().shuffleId()
                self._context._jsc.sc().cleaner().get().doCleanupShuffle(shuffle_id, False)
            except Exception as error:
                log.debug("could not clean up a shuffle: %s", error)

    def close(self) -> None:
        """End the thread."""
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join(5)
