"""Batch mode: two keyed streams with one state; both inputs of a key are seen before its timer."""

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import (
    KeyedCoProcessFunction,
    RuntimeContext,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from pyflink.datastream.state import ListStateDescriptor


class EventTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


class Both(KeyedCoProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.left = runtime_context.get_list_state(ListStateDescriptor("left", Types.LONG()))
        self.right = runtime_context.get_list_state(ListStateDescriptor("right", Types.LONG()))

    def process_element1(self, value, ctx: KeyedCoProcessFunction.Context):
        self.left.add(value[1])
        ctx.timer_service().register_event_time_timer(1000)

    def process_element2(self, value, ctx: KeyedCoProcessFunction.Context):
        self.right.add(value[1])
        ctx.timer_service().register_event_time_timer(1000)

    def on_timer(self, timestamp, ctx: KeyedCoProcessFunction.OnTimerContext):
        yield ctx.get_current_key(), sorted(self.left.get()), sorted(self.right.get())


def build(env: StreamExecutionEnvironment):
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(EventTime())
    left = env.from_collection([("a", 1), ("b", 2), ("a", 3)])
    right = env.from_collection([("b", 7), ("c", 8), ("b", 5)])
    left = left.assign_timestamps_and_watermarks(strategy)
    right = right.assign_timestamps_and_watermarks(strategy)
    return left.connect(right).key_by(lambda v: v[0], lambda v: v[0]).process(Both())
