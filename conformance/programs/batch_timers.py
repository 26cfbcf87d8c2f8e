"""Batch mode: timers fire when all records of their key have been seen, in order of time."""

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import (
    KeyedProcessFunction,
    RuntimeContext,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from pyflink.datastream.state import ValueStateDescriptor

EVENTS = [
    ("a", 1000, 1),
    ("a", 4000, 2),
    ("a", 6000, 4),
    ("a", 3000, 8),
    ("b", 8500, 16),
    ("a", 2000, 32),
    ("a", 9000, 64),
    ("a", 15_000, 128),
    ("a", 4999, 256),
    ("b", 9000, 512),
]


class EventTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


class Late(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def process_element(self, value, ctx: KeyedProcessFunction.Context):
        self.count.update((self.count.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(value[1])

    def on_timer(self, timestamp, ctx: KeyedProcessFunction.OnTimerContext):
        yield ctx.get_current_key(), timestamp, self.count.value()


def build(env: StreamExecutionEnvironment):
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    strategy = strategy.with_timestamp_assigner(EventTime())
    events = env.from_collection(EVENTS).assign_timestamps_and_watermarks(strategy)
    keyed = events.key_by(lambda event: event[0])
    return keyed.process(Late())
