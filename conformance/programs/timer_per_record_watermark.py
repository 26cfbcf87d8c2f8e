"""Timers with a watermark after every record: which fire, when, and in which order of time."""

import time

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.state import ValueStateDescriptor

RECORDS_PER_EPOCH = 1


class EventTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


class Watch(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.fired = runtime_context.get_state(ValueStateDescriptor("fired", Types.INT()))

    def process_element(self, value, ctx: KeyedProcessFunction.Context):
        ctx.timer_service().register_event_time_timer(value[1] + 1500)
        ctx.timer_service().register_event_time_timer(value[1] + 500)
        yield "record", value, ctx.timer_service().current_watermark()

    def on_timer(self, timestamp, ctx: KeyedProcessFunction.OnTimerContext):
        fired = (self.fired.value() or 0) + 1
        self.fired.update(fired)
        yield "timer", ctx.get_current_key(), timestamp, fired


def pause(value):
    time.sleep(0.1)
    return value


def build(env: StreamExecutionEnvironment):
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(EventTime())
    events = [("a", 1000), ("b", 1200), ("a", 1700), ("a", 3000), ("b", 3100), ("a", 2000)]
    stream = env.from_collection(events).map(pause).rebalance()
    stream = stream.assign_timestamps_and_watermarks(strategy).set_parallelism(1)
    return stream.key_by(lambda event: event[0]).process(Watch())
