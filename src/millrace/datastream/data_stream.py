"""PyFlink's import path for streams of every kind."""

from __future__ import annotations

from millrace.common import typeinfo
from millrace.common.config.execution_config import ExecutionConfig
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
    WindowFunction,
)
from millrace.common.functions.broadcast_functions import (
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
)
from millrace.common.functions.co_functions import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedCoProcessFunction,
)
from millrace.common.functions.key_selector import NullByteKeySelector
from millrace.common.functions.output_tag import OutputTag
from millrace.common.functions.partitioner import Partitioner
from millrace.common.functions.runtime_context import RuntimeContext
from millrace.common.functions.window_functions import (
    AllWindowFunction,
    PassThroughAllWindowFunction,
    PassThroughWindowFunction,
    ProcessAllWindowFunction,
)
from millrace.common.sink.sink import Sink
from millrace.common.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingState,
    ReducingStateDescriptor,
    StateDescriptor,
)
from millrace.common.time.watermark_strategy import TimestampAssigner, WatermarkStrategy
from millrace.common.types.composite_types import RowTypeInfo
from millrace.common.types.row import Row
from millrace.common.types.type_information import TypeInformation
from millrace.common.types.typeinfo import Types
from millrace.common.window.count_windows import (
    CountSlidingWindowAssigner,
    CountTumblingWindowAssigner,
    CountWindowSerializer,
)
from millrace.common.window.global_windows import GlobalWindowSerializer
from millrace.common.window.merging_window_assigner import MergingWindowAssigner
from millrace.common.window.time_window import TimeWindowSerializer
from millrace.common.window.trigger import Trigger
from millrace.common.window.window_assigner import WindowAssigner
from millrace.datastream.all_windowed_stream import (
    AllWindowedStream,
)
from millrace.datastream.collected import (
    CloseableIterator,
)
from millrace.datastream.connected_streams import (
    BroadcastConnectedStream,
    BroadcastStream,
    ConnectedStreams,
)
from millrace.datastream.data_stream_sink import (
    DataStreamSink,
)
from millrace.datastream.keyed_stream import (
    KeyedStream,
)
from millrace.datastream.slot_sharing_group import SlotSharingGroup
from millrace.datastream.stream import (
    DataStream,
)
from millrace.datastream.windowed_stream import (
    WindowedStream,
)

__all__ = [
    "AggregateFunction",
    "AggregatingStateDescriptor",
    "AllWindowFunction",
    "AllWindowedStream",
    "BroadcastConnectedStream",
    "BroadcastProcessFunction",
    "BroadcastStream",
    "CloseableIterator",
    "CoFlatMapFunction",
    "CoMapFunction",
    "CoProcessFunction",
    "ConnectedStreams",
    "CountSlidingWindowAssigner",
    "CountTumblingWindowAssigner",
    "CountWindowSerializer",
    "DataStream",
    "DataStreamSink",
    "ExecutionConfig",
    "FilterFunction",
    "FlatMapFunction",
    "Function",
    "GlobalWindowSerializer",
    "KeySelector",
    "KeyedBroadcastProcessFunction",
    "KeyedCoProcessFunction",
    "KeyedProcessFunction",
    "KeyedStream",
    "ListStateDescriptor",
    "MapFunction",
    "MapStateDescriptor",
    "MergingWindowAssigner",
    "NullByteKeySelector",
    "OutputTag",
    "Partitioner",
    "PassThroughAllWindowFunction",
    "PassThroughWindowFunction",
    "ProcessAllWindowFunction",
    "ProcessFunction",
    "ProcessWindowFunction",
    "ReduceFunction",
    "ReducingState",
    "ReducingStateDescriptor",
    "Row",
    "RowTypeInfo",
    "RuntimeContext",
    "Sink",
    "SinkFunction",
    "SlotSharingGroup",
    "StateDescriptor",
    "TimeWindowSerializer",
    "TimestampAssigner",
    "Trigger",
    "TypeInformation",
    "Types",
    "WatermarkStrategy",
    "WindowAssigner",
    "WindowFunction",
    "WindowedStream",
    "typeinfo",
]
