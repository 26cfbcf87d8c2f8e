"""Timers set by timers fire too, also when the input has ended: a chain of them."""

from pyflink.common import WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment


class EventTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value


class Ticks(KeyedProcessFunction):
    def process_element(self, value, ctx: KeyedProcessFunction.Context):
        ctx.timer_service().register_event_time_timer(value + 1)

    def on_timer(self, timestamp, ctx: KeyedProcessFunction.OnTimerContext):
        yield ctx.get_current_key(), timestamp
        if timestamp % 10 < 4:
            ctx.timer_service().register_event_time_timer(timestamp + 1)


def build(env: StreamExecutionEnvironment):
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(EventTime())
    stream = env.from_collection([10, 22, 35]).assign_timestamps_and_watermarks(strategy)
    return stream.key_by(lambda value: value % 2).process(Ticks())
