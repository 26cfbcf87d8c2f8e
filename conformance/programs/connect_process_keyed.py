"""`KeyedCoProcessFunction`: a join by hand with state of both sides, complete at the end."""

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import (
    KeyedCoProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from pyflink.datastream.state import ListStateDescriptor


class EventTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


class Join(KeyedCoProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.left = runtime_context.get_list_state(ListStateDescriptor("left", Types.LONG()))
        self.right = runtime_context.get_list_state(ListStateDescriptor("right", Types.LONG()))

    def process_element1(self, value, ctx: KeyedCoProcessFunction.Context):
        self.left.add(value[1])
        for other in self.right.get():
            yield ctx.get_current_key(), value[1], other

    def process_element2(self, value, ctx: KeyedCoProcessFunction.Context):
        self.right.add(value[1])
        for other in self.left.get():
            yield ctx.get_current_key(), other, value[1]
        ctx.timer_service().register_event_time_timer(500)

    def on_timer(self, timestamp, ctx: KeyedCoProcessFunction.OnTimerContext):
        yield ctx.get_current_key(), timestamp, len(list(self.left.get()))


def build(env: StreamExecutionEnvironment):
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(EventTime())
    left = env.from_collection([("a", 1), ("b", 2), ("a", 3), ("d", 4)])
    right = env.from_collection([("b", 7), ("c", 8), ("a", 5), ("b", 9)])
    left = left.assign_timestamps_and_watermarks(strategy)
    right = right.assign_timestamps_and_watermarks(strategy)
    return left.connect(right).key_by(lambda v: v[0], lambda v: v[0]).process(Join())
