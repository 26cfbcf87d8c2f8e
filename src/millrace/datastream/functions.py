"""The interfaces of functions that users implement."""

from __future__ import annotations

from typing import TypeVar

from millrace.common.functions.async_functions import (
    AsyncFunction,
    AsyncRetryPredicate,
    AsyncRetryStrategy,
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
    ReduceFunctionWrapper,
    SinkFunction,
    SourceFunction,
    WindowFunction,
)
from millrace.common.functions.batch_functions import (
    BatchProcessFunction,
    ColumnTimerService,
    MapBatchFunction,
)
from millrace.common.functions.broadcast_functions import (
    BaseBroadcastProcessFunction,
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
)
from millrace.common.functions.co_functions import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedCoProcessFunction,
)
from millrace.common.functions.join_functions import (
    CoGroupFunction,
    FlatJoinFunction,
    JoinFunction,
    ProcessJoinFunction,
)
from millrace.common.functions.key_selector import NullByteKeySelector
from millrace.common.functions.metrics import MetricGroup
from millrace.common.functions.partitioner import Partitioner
from millrace.common.functions.runtime_context import KeyedStateStore, RuntimeContext
from millrace.common.functions.window_functions import (
    AllWindowFunction,
    PassThroughAllWindowFunction,
    PassThroughWindowFunction,
    ProcessAllWindowFunction,
)
from millrace.common.state.broadcast_state import BroadcastState, ReadOnlyBroadcastState
from millrace.common.state.descriptors import (
    AggregatingState,
    AggregatingStateDescriptor,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    ReducingState,
    ReducingStateDescriptor,
    ValueState,
    ValueStateDescriptor,
)
from millrace.common.state.operator_state import (
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from millrace.common.time.time_domain import TimeDomain
from millrace.common.time.timer_service import TimerService

__all__ = [
    "AggregateFunction",
    "AggregatingState",
    "AggregatingStateDescriptor",
    "AllWindowFunction",
    "AsyncFunction",
    "AsyncRetryPredicate",
    "AsyncRetryStrategy",
    "BaseBroadcastProcessFunction",
    "BatchProcessFunction",
    "BroadcastProcessFunction",
    "BroadcastState",
    "CheckpointedFunction",
    "CoFlatMapFunction",
    "CoGroupFunction",
    "CoMapFunction",
    "CoProcessFunction",
    "ColumnTimerService",
    "FilterFunction",
    "FlatJoinFunction",
    "FlatMapFunction",
    "Function",
    "FunctionInitializationContext",
    "FunctionSnapshotContext",
    "JoinFunction",
    "KeySelector",
    "KeyedBroadcastProcessFunction",
    "KeyedCoProcessFunction",
    "KeyedProcessFunction",
    "KeyedStateStore",
    "ListState",
    "ListStateDescriptor",
    "MapBatchFunction",
    "MapFunction",
    "MapState",
    "MapStateDescriptor",
    "MetricGroup",
    "NullByteKeySelector",
    "Partitioner",
    "PassThroughAllWindowFunction",
    "PassThroughWindowFunction",
    "ProcessAllWindowFunction",
    "ProcessFunction",
    "ProcessJoinFunction",
    "ProcessWindowFunction",
    "ReadOnlyBroadcastState",
    "ReduceFunction",
    "ReduceFunctionWrapper",
    "ReducingState",
    "ReducingStateDescriptor",
    "RuntimeContext",
    "SinkFunction",
    "SourceFunction",
    "TimeDomain",
    "TimerService",
    "ValueState",
    "ValueStateDescriptor",
    "WindowFunction",
]

IN = TypeVar("IN")
IN1 = TypeVar("IN1")
IN2 = TypeVar("IN2")
KEY = TypeVar("KEY")
OUT = TypeVar("OUT")
W = TypeVar("W")
W2 = TypeVar("W2")
