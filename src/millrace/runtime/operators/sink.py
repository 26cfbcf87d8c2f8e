"""The sink operator: one writer per epoch, committables for the engine."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from millrace.common.errors import SerializationError
from millrace.common.sink.sink import Sink, SinkWriter, WriterContext
from millrace.runtime.epoch import Ack
from millrace.runtime.operator import Operator
from millrace.state.table_id import operator_value


class SinkOperator(Operator):
    """Writes through a `Sink`'s writer and hands its committables over."""

    def __init__(self, sink: Sink[Any]) -> None:
        self._sink = sink

    def open(self) -> None:
        self._kept = self.context.state.operator_table()
        self._key = operator_value(self.context.uid, "@writer")
        self._writer: SinkWriter[Any] | None = None
        self._shared: dict[str, Any] = {}
        self._committables: list[bytes] = []
        self._wakeup: int | None = None
        self._asked = False
        self.attempt = ""
        self.flush = False
        """Whether this epoch must leave nothing open; set before each epoch."""
        self._epoch = self._now = 0

    def restore(self) -> None:
        # another worker may have opened or closed parts: ask when the next is due
        self._asked, self._wakeup = False, None
        self._told: tuple[str, ...] | None = None

    def begin_epoch(self, epoch: int, now: int) -> None:
        self._epoch, self._now = epoch, now
        self._committables = []
        if not self._asked:
            self._merge_states()

    def _merge_states(self) -> None:
        """Writers of a former parallelism have left their states side by side."""
        left = sorted(key for key in self._kept.data if key[:2] == self._key and len(key) > 2)
        if left:
            states = [self._kept.get(key) for key in left]
            for key in left:
                self._kept.remove(key)
            self._kept.put(self._key, self._sink.merge_writer_states(states))

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        writer = self._writer or self._create_writer()
        writer.write(values, timestamps)

    def _create_writer(self) -> SinkWriter[Any]:
        context = WriterContext(
            subtask_index=self.context.subtask_index,
            parallelism=self.context.parallelism,
            run_id=self.context.run_id,
            attempt=self.attempt,
            epoch=self._epoch,
            now=self._now,
            shared=self._shared,
        )
        self._writer = self._sink.create_writer(context, self._kept.get(self._key))
        return self._writer

    def end_epoch(self, ended: bool) -> None:
        ended = ended or self.flush
        if self._writer is None and not self._wanted(ended):
            return
        writer = self._writer or self._create_writer()
        self._committables = [self._encoded(item) for item in writer.prepare_commit(ended)]
        self._keep(writer.snapshot_state())
        self._wakeup = writer.next_wakeup()
        self._writer = None
        writer.close()

    def _encoded(self, committable: Any) -> bytes:
        try:
            return self.context.state.codec.encode(committable)
        except SerializationError as error:
            raise SerializationError(
                f"a committable of sink '{self.context.name}' cannot be written: {error}; keep "
                "plain data in it"
            ) from error

    def _keep(self, state: Any) -> None:
        self._asked = True
        if state is None:
            self._kept.remove(self._key)
        elif state != self._kept.data.get(self._key):
            self._kept.put(self._key, state)

    def _wanted(self, ended: bool) -> bool:
        """Whether a writer has something to do although no record came: it is due, the stream
        ends, or its state was restored and when it is due is not known yet."""
        due = self._wakeup is not None and self._wakeup <= self._now
        has_state = self._key in self._kept.data
        return due or (has_state and (ended or not self._asked))

    def contribute(self, ack: Ack) -> None:
        if self._committables:
            ack.committables[self.context.uid] = self._committables
        files = self._sink.work_files(self._kept.data.get(self._key))
        if files is not None and tuple(files) != self._told:
            ack.work_files[self.context.uid] = self._told = tuple(files)

    def next_wakeup(self) -> int | None:
        return self._wakeup

    def close(self) -> None:
        writer = getattr(self, "_writer", None)
        if writer is not None:
            with suppress(Exception):
                writer.close()
