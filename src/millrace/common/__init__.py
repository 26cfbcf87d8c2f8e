"""Basic concepts that all rooms use: types, rows, time, state, functions, configuration and errors.

Imports nothing else of millrace, so every room may import it. Names are those of PyFlink."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from millrace.common.completable_future import CompletableFuture
from millrace.common.config.checkpoint_config import (
    CheckpointConfig,
    CheckpointingMode,
    ExternalizedCheckpointRetention,
)
from millrace.common.config.config_options import ConfigOption, ConfigOptions
from millrace.common.config.configuration import Configuration
from millrace.common.config.execution_config import ExecutionConfig
from millrace.common.config.execution_mode import RuntimeExecutionMode
from millrace.common.config.memory_size import MemorySize
from millrace.common.config.restart_strategy import (
    ExponentialDelayRestartStrategy,
    FailureRateRestartStrategy,
    FallbackRestartStrategy,
    FixedDelayRestartStrategy,
    NoRestartStrategy,
    RestartStrategies,
    RestartStrategyConfiguration,
)
from millrace.common.error_policy import DeadLetter, ErrorPolicy
from millrace.common.errors import (
    CheckpointCorruptError,
    CheckpointError,
    ConfigurationError,
    JobCancelledError,
    JobControlError,
    JobDefinitionError,
    JobExecutionError,
    KeyTypeError,
    LeaseError,
    LeaseLostError,
    MillraceError,
    SerializationError,
    StateError,
    StateMigrationError,
    UserFunctionError,
)
from millrace.common.functions.accumulators import (
    Accumulator,
    AverageAccumulator,
    DoubleCounter,
    Histogram,
    IntCounter,
    ListAccumulator,
    LongCounter,
    MaximumAccumulator,
    MinimumAccumulator,
)
from millrace.common.functions.base import (
    AggregateFunction,
    FilterFunction,
    FlatMapFunction,
    Function,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    ProcessFunction,
    ProcessWindowFunction,
    ReduceFunction,
    SinkFunction,
    SourceFunction,
    WindowFunction,
)
from millrace.common.functions.metrics import Counter, Distribution, Meter, MetricGroup
from millrace.common.functions.output_tag import OutputTag
from millrace.common.functions.runtime_context import KeyedStateStore, RuntimeContext
from millrace.common.job import JobExecutionResult, JobID, JobStatus
from millrace.common.job_client import JobClient
from millrace.common.serialization import (
    BulkWriter,
    BulkWriterFactory,
    ByteArraySchema,
    DeserializationSchema,
    Encoder,
    JoiningBulkWriterFactory,
    SerializationSchema,
    SimpleStringSchema,
)
from millrace.common.state.descriptors import (
    AggregatingState,
    AggregatingStateDescriptor,
    AppendingState,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    MergingState,
    ReducingState,
    ReducingStateDescriptor,
    State,
    StateDescriptor,
    ValueState,
    ValueStateDescriptor,
)
from millrace.common.time.amounts import Duration, Instant, Time
from millrace.common.time.time_domain import TimeDomain
from millrace.common.time.timer_service import TimerService
from millrace.common.time.watermark_strategy import (
    BoundedOutOfOrdernessGenerator,
    MonotonousGenerator,
    TimestampAssigner,
    WatermarkGenerator,
    WatermarkOutput,
    WatermarkStrategy,
)
from millrace.common.types.row import Row, RowKind
from millrace.common.types.serializer import TypeSerializer
from millrace.common.types.typeinfo import (
    ArrayTypeInfo,
    BasicTypeInfo,
    BigDecTypeInfo,
    DateTypeInfo,
    InstantTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    PickledBytesTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)
from millrace.common.window import (
    SlidingEventTimeWindows,
    TimeWindow,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
    Window,
    WindowAssigner,
)
from millrace.common.window.triggers import EventTimeTrigger

__all__ = [
    "Accumulator",
    "AggregateFunction",
    "AggregatingState",
    "AggregatingStateDescriptor",
    "AppendingState",
    "ArrayTypeInfo",
    "AverageAccumulator",
    "BasicTypeInfo",
    "BigDecTypeInfo",
    "BoundedOutOfOrdernessGenerator",
    "BulkWriter",
    "BulkWriterFactory",
    "ByteArraySchema",
    "CheckpointConfig",
    "CheckpointCorruptError",
    "CheckpointError",
    "CheckpointingMode",
    "CompletableFuture",
    "ConfigOption",
    "ConfigOptions",
    "Configuration",
    "ConfigurationError",
    "Counter",
    "DateTypeInfo",
    "DeadLetter",
    "DeserializationSchema",
    "Distribution",
    "DoubleCounter",
    "Duration",
    "Encoder",
    "ErrorPolicy",
    "EventTimeTrigger",
    "ExecutionConfig",
    "ExponentialDelayRestartStrategy",
    "ExternalizedCheckpointRetention",
    "FailureRateRestartStrategy",
    "FallbackRestartStrategy",
    "FilterFunction",
    "FixedDelayRestartStrategy",
    "FlatMapFunction",
    "Function",
    "Histogram",
    "Instant",
    "InstantTypeInfo",
    "IntCounter",
    "JobCancelledError",
    "JobClient",
    "JobControlError",
    "JobDefinitionError",
    "JobExecutionError",
    "JobExecutionResult",
    "JobID",
    "JobStatus",
    "JoiningBulkWriterFactory",
    "KeySelector",
    "KeyTypeError",
    "KeyedProcessFunction",
    "KeyedStateStore",
    "LeaseError",
    "LeaseLostError",
    "ListAccumulator",
    "ListState",
    "ListStateDescriptor",
    "ListTypeInfo",
    "LongCounter",
    "MapFunction",
    "MapState",
    "MapStateDescriptor",
    "MapTypeInfo",
    "MaximumAccumulator",
    "MemorySize",
    "MergingState",
    "Meter",
    "MetricGroup",
    "MillraceError",
    "MinimumAccumulator",
    "MonotonousGenerator",
    "NoRestartStrategy",
    "OutputTag",
    "PickledBytesTypeInfo",
    "ProcessFunction",
    "ProcessWindowFunction",
    "ReduceFunction",
    "ReducingState",
    "ReducingStateDescriptor",
    "RestartStrategies",
    "RestartStrategyConfiguration",
    "Row",
    "RowKind",
    "RowTypeInfo",
    "RuntimeContext",
    "RuntimeExecutionMode",
    "SerializationError",
    "SerializationSchema",
    "SimpleStringSchema",
    "SinkFunction",
    "SlidingEventTimeWindows",
    "SourceFunction",
    "State",
    "StateDescriptor",
    "StateError",
    "StateMigrationError",
    "Time",
    "TimeDomain",
    "TimeTypeInfo",
    "TimeWindow",
    "TimerService",
    "TimestampAssigner",
    "TimestampTypeInfo",
    "Trigger",
    "TriggerResult",
    "TumblingEventTimeWindows",
    "TupleTypeInfo",
    "TypeInformation",
    "TypeSerializer",
    "Types",
    "UserFunctionError",
    "ValueState",
    "ValueStateDescriptor",
    "WatermarkGenerator",
    "WatermarkOutput",
    "WatermarkStrategy",
    "Window",
    "WindowAssigner",
    "WindowFunction",
]

_ROW_SCHEMAS = {
    f"{prefix}Row{schema}": f"millrace.datastream.formats.{prefix.lower()}"
    for prefix in ("Avro", "Csv", "Json")
    for schema in ("DeserializationSchema", "SerializationSchema")
}
"""Schemas of rows that PyFlink has in this module, too; a room above this one has them."""


def __getattr__(name: str) -> Any:
    """The class of a row format's schema, which is imported at its first use."""
    if name not in _ROW_SCHEMAS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    return getattr(import_module(_ROW_SCHEMAS[name]), name)
