"""Transformations for savepoints, from rows of a DataFrame to state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from millrace.common.errors import StateError
from millrace.common.functions.base import Function
from millrace.common.functions.key_selector import batch_keys
from millrace.common.time.amounts import Duration, Time
from millrace.common.time.watermark_strategy import TimestampAssigner
from millrace.common.types.type_information import TypeInformation
from millrace.common.window import Trigger, WindowAssigner
from millrace.common.window.evictor import Evictor
from millrace.datastream import DataStream, StreamExecutionEnvironment
from millrace.datastream.checks import checked_assigner
from millrace.datastream.keyed_stream import KeyedStream
from millrace.datastream.windowed_stream import WindowedStream
from millrace.runtime.operator import Operator
from millrace.state_processor.bootstrap_operators import (
    BroadcastBootstrap,
    KeyedBootstrap,
    ListBootstrap,
)
from millrace.state_processor.functions import (
    BroadcastStateBootstrapFunction,
    KeyedStateBootstrapFunction,
    StateBootstrapFunction,
)

__all__ = [
    "KeyedOperatorTransformation",
    "OneInputOperatorTransformation",
    "OperatorTransformation",
    "StateBootstrapTransformation",
    "WindowedOperatorTransformation",
]

KeyBatch = Callable[[list[Any]], list[Any]]


@dataclass(frozen=True, slots=True)
class BootstrapInput:
    """Rows, and their conversion before they become state."""

    dataframe: Any
    to_record: Callable[[Any], Any] | None = None
    timestamps: Callable[[Any], int] | None = None
    key_batch: KeyBatch | None = None
    key_type: TypeInformation[Any] | None = None
    parallelism: int | None = None


@dataclass(frozen=True, slots=True)
class StateBootstrapTransformation:
    """The planned state of one operator. Flink: class ``StateBootstrapTransformation``.

    What `SavepointWriter.with_operator` takes; made by `OperatorTransformation`.
    """

    input: BootstrapInput = field(repr=False)
    factory: Callable[[], Operator] = field(repr=False)
    """Makes the operator that the rows go through."""
    broadcast: bool = False
    """Whether all subtasks get the same state."""

    def set_parallelism(self, parallelism: int) -> StateBootstrapTransformation:
        """Set the number of subtasks of the written state; a job may start from it with any
        parallelism.

        Raises:
            StateError: the parallelism is not positive.
        """
        if parallelism < 1:
            raise StateError(f"the parallelism must be 1 or more, got {parallelism}")
        return replace(self, input=replace(self.input, parallelism=parallelism))


class OperatorTransformation:
    """Start of the bootstrap of an operator's state. Flink: class ``OperatorTransformation``.

    Example:
        >>> def balances(accounts, function):
        ...     rows = OperatorTransformation.bootstrap_with(accounts)
        ...     return rows.key_by("name").transform(function)
    """

    @staticmethod
    def bootstrap_with(
        dataframe: Any, to_record: Callable[[Any], Any] | None = None
    ) -> OneInputOperatorTransformation:
        """Bootstrap from the rows of a bounded DataFrame.

        Args:
            dataframe: a Spark DataFrame.
            to_record: function from a `Row` with the DataFrame's column names to the record that
                functions get; None if they get this row. Windows keep these records, which must be
                like those of the job.

        Raises:
            StateError: the object is not a bounded DataFrame.
        """
        from millrace.spark.state_frames import require_dataframe

        return OneInputOperatorTransformation(
            BootstrapInput(require_dataframe(dataframe), to_record)
        )


class OneInputOperatorTransformation:
    """Rows without keys. Flink: class ``OneInputStateTransformation``."""

    def __init__(self, rows: BootstrapInput) -> None:
        self._rows = rows

    def assign_timestamps(
        self, assigner: TimestampAssigner[Any] | Callable[[Any], int] | str
    ) -> OneInputOperatorTransformation:
        """Assign event times (ms since the epoch), which windows need.

        Args:
            assigner: a `TimestampAssigner`, a function of the record, or the name of a field.
        """
        return OneInputOperatorTransformation(replace(self._rows, timestamps=_timestamps(assigner)))

    def key_by(
        self, key_selector: Any, key_type: TypeInformation[Any] | None = None
    ) -> KeyedOperatorTransformation:
        """Assign keys as in `DataStream.key_by`. They must be the keys of the job."""
        keys = batch_keys(key_selector)
        return KeyedOperatorTransformation(replace(self._rows, key_batch=keys, key_type=key_type))

    def transform(
        self, function: StateBootstrapFunction | BroadcastStateBootstrapFunction
    ) -> StateBootstrapTransformation:
        """Write operator state or broadcast state with a function.

        Raises:
            StateError: the function is of another kind.
        """
        if isinstance(function, StateBootstrapFunction):
            return StateBootstrapTransformation(self._rows, ListBootstrap(function))
        if isinstance(function, BroadcastStateBootstrapFunction):
            return StateBootstrapTransformation(self._rows, BroadcastBootstrap(function), True)
        raise StateError(
            "transform() takes a StateBootstrapFunction or a BroadcastStateBootstrapFunction, got "
            f"{function!r}; for keyed state call key_by() before it"
        )


class KeyedOperatorTransformation:
    """Rows with keys. Flink: class ``KeyedStateTransformation``."""

    def __init__(self, rows: BootstrapInput) -> None:
        self._rows = rows

    def transform(self, function: KeyedStateBootstrapFunction) -> StateBootstrapTransformation:
        """Write state and timers of keys with a function.

        Raises:
            StateError: the function is of another kind.
        """
        if not isinstance(function, KeyedStateBootstrapFunction):
            raise StateError(
                "transform() of rows with keys takes a KeyedStateBootstrapFunction, got "
                f"{function!r}"
            )
        assert self._rows.key_batch is not None
        return StateBootstrapTransformation(
            self._rows, KeyedBootstrap(function, self._rows.key_batch)
        )

    def window(self, assigner: WindowAssigner[Any, Any]) -> WindowedOperatorTransformation:
        """Put the rows into windows. They fire in the job that starts from the savepoint.

        Raises:
            JobDefinitionError: ``assigner`` is no window assigner.
        """
        return WindowedOperatorTransformation(self._rows, checked_assigner("window", assigner))


class WindowedOperatorTransformation:
    """Rows in windows, set up as in the job. Flink: class ``WindowedStateTransformation``."""

    def __init__(self, rows: BootstrapInput, assigner: WindowAssigner[Any, Any]) -> None:
        self._rows = rows
        env = StreamExecutionEnvironment.get_execution_environment()
        keyed: KeyedStream[Any, Any] = env.from_collection([]).key_by(_same)
        assert rows.key_batch is not None
        keyed._key_batch = rows.key_batch
        self._windows: WindowedStream[Any, Any, Any] = keyed.window(assigner)

    def trigger(self, trigger: Trigger[Any, Any]) -> WindowedOperatorTransformation:
        """Set the trigger that the job uses. It is applied to the rows, but emits nothing."""
        self._windows.trigger(trigger)
        return self

    def evictor(self, evictor: Evictor[Any, Any]) -> WindowedOperatorTransformation:
        """Set the job's evictor."""
        self._windows.evictor(evictor)
        return self

    def allowed_lateness(
        self, time_ms: int | Time | Duration | timedelta
    ) -> WindowedOperatorTransformation:
        """Set the job's allowed lateness."""
        self._windows.allowed_lateness(time_ms)
        return self

    def reduce(self, reduce_function: Any, window_function: Any = None) -> Any:
        """Reduce the rows of each window, as `WindowedStream.reduce` does."""
        return self._made(self._windows.reduce(reduce_function, window_function))

    def aggregate(self, aggregate_function: Any, window_function: Any = None) -> Any:
        """Aggregate the rows of each window, as `WindowedStream.aggregate` does."""
        return self._made(self._windows.aggregate(aggregate_function, window_function))

    def apply(self, window_function: Any) -> StateBootstrapTransformation:
        """Run a function on the rows of each window, as `WindowedStream.apply` does."""
        return self._made(self._windows.apply(window_function))

    def process(self, process_window_function: Any) -> StateBootstrapTransformation:
        """Run a function on the rows of each window, as `WindowedStream.process` does."""
        return self._made(self._windows.process(process_window_function))

    def _made(self, stream: DataStream[Any]) -> StateBootstrapTransformation:
        return StateBootstrapTransformation(self._rows, stream._inputs[0].transformation.factory)


def _same(value: Any) -> Any:
    return value


def _timestamps(assigner: Any) -> Callable[[Any], int]:
    if isinstance(assigner, TimestampAssigner):
        return _AssignedTimestamp(assigner)
    if isinstance(assigner, str):
        return _Field(batch_keys(assigner))
    if callable(assigner) and not isinstance(assigner, (type, Function)):
        called: Callable[[Any], int] = assigner
        return called
    raise StateError(
        f"assign_timestamps() takes a TimestampAssigner, a function or a field, got {assigner!r}"
    )


@dataclass(frozen=True, slots=True)
class _AssignedTimestamp:
    assigner: TimestampAssigner[Any]

    def __call__(self, value: Any) -> int:
        return self.assigner.extract_timestamp(value, -(2**63))


@dataclass(frozen=True, slots=True)
class _Field:
    fields: KeyBatch

    def __call__(self, value: Any) -> int:
        (timestamp,) = self.fields([value])
        return int(timestamp)
