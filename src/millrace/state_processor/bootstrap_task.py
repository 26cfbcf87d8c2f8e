"""Tasks that turn rows into state: they send each row to the subtask of its key, and run the
operator there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from millrace.common.errors import CheckpointError, SerializationError
from millrace.common.types.row import named_row
from millrace.runtime.epoch import EpochContext
from millrace.runtime.failure import describe_failure
from millrace.runtime.main_classes import install_main_classes
from millrace.runtime.operator import Operator, OperatorContext
from millrace.runtime.output import Discard
from millrace.state.key_groups import KeyMemo, subtask_of
from millrace.state.serialization.entry_types import StateOwner
from millrace.state.serialization.payload import decode, encode_records
from millrace.state.store import SubtaskState
from millrace.state_processor.transformations import StateBootstrapTransformation
from millrace.state_processor.written_part import failed, write_part

__all__ = ["BootstrapTask", "BootstrapTarget"]


@dataclass(frozen=True, slots=True)
class BootstrapTarget:
    """The operator whose state is written, and the target directory."""

    uid: str
    stage: str
    parallelism: int
    max_parallelism: int
    directory: str
    epoch: int
    now: int
    """The time of writing, ms since the epoch."""
    classes: dict[str, type] = field(default_factory=dict)
    """Classes of the main module."""


class BootstrapTask:
    """Spark task on both sides of the exchange of rows: it routes rows, and writes the state from
    the rows that it receives.
    """

    def __init__(
        self,
        transformation: StateBootstrapTransformation,
        names: tuple[str, ...],
        target: BootstrapTarget,
    ) -> None:
        rows = transformation.input
        self._input = replace(rows, dataframe=None)
        self._factory: Callable[[], Operator] = transformation.factory
        self._broadcast = transformation.broadcast
        self._names = names
        self._target = target

    # -- where the rows are ----------------------------------------------------------------------

    def route(self, batches: Iterator[Any]) -> Iterator[tuple[int, bytes]]:
        """Packets of rows, one per target subtask."""
        install_main_classes(self._target.classes)
        choose = self._chooser()
        for batch in batches:
            columns = [c.to_pylist(maps_as_pydicts="strict") for c in batch.columns]
            rows = list(zip(*columns, strict=True))
            packets: dict[int, list[Any]] = {}
            for subtask, row in zip(choose(rows), rows, strict=True):
                packets.setdefault(subtask, []).append(row)
            for subtask, chosen in packets.items():
                yield subtask, encode_records(chosen, None)

    def _chooser(self) -> Callable[[list[Any]], list[int]]:
        """Function from rows to their subtasks."""
        target, key_batch = self._target, self._input.key_batch
        if self._broadcast:
            return lambda rows: [0] * len(rows)
        if key_batch is None:
            turn = count()
            return lambda rows: [next(turn) % target.parallelism for _ in rows]
        width, maximum = target.parallelism, target.max_parallelism
        memo = KeyMemo(maximum, lambda group: subtask_of(group, width, maximum))
        return lambda rows: [memo[key] for key in key_batch(self._records(rows))]

    def _records(self, rows: list[Any]) -> list[Any]:
        records = [named_row(self._names, row) for row in rows]
        to_record = self._input.to_record
        return records if to_record is None else list(map(to_record, records))

    # -- where the state is ----------------------------------------------------------------------

    def take(self, subtask: int, packets: Iterator[bytes]) -> bytes:
        """Build the state of a subtask from its rows, and write it."""
        install_main_classes(self._target.classes)
        state = self._empty_state()
        try:
            operator = self._opened(subtask, state)
            for packet in packets:
                records = self._records(decode(packet)[0])
                operator.process_input(0, records, self._timestamps(records))
            operator.end_epoch(False)
            operator.close()
        except (CheckpointError, SerializationError):
            raise
        except Exception as error:
            return failed(describe_failure(error, self._target.uid))
        subtasks = range(self._target.parallelism) if self._broadcast else [subtask]
        target = self._target
        part = write_part(target.directory, target.stage, subtasks, state, target.epoch)
        return b"" if part is None else part.encode()

    def _empty_state(self) -> SubtaskState:
        target = self._target
        owner = StateOwner(target.uid, self._input.key_type)
        return SubtaskState(owners={target.uid: owner})

    def _opened(self, subtask: int, state: SubtaskState) -> Operator:
        target = self._target
        context = OperatorContext(
            uid=target.uid,
            name=target.uid,
            subtask_index=subtask,
            parallelism=target.parallelism,
            max_parallelism=target.max_parallelism,
            state=state,
            clock=lambda: target.now,
        )
        operator = self._factory()
        operator.setup(context, Discard(), {})
        operator.open()
        operator.restore()
        operator.begin_epoch(EpochContext(target.epoch, target.now))
        operator.advance_processing_time(target.now)
        return operator

    def _timestamps(self, records: list[Any]) -> list[int] | None:
        assigner = self._input.timestamps
        return None if assigner is None else list(map(assigner, records))
