"""A timer that is deleted does not fire; deleting one that was never set is no error."""

from pyflink.common import WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment


class EventTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[2]


class Alarm(KeyedProcessFunction):
    def process_element(self, value, ctx: KeyedProcessFunction.Context):
        if value[1] == "set":
            ctx.timer_service().register_event_time_timer(value[2] + 100_000)
        else:
            ctx.timer_service().delete_event_time_timer(value[2] + 100_000)

    def on_timer(self, timestamp, ctx: KeyedProcessFunction.OnTimerContext):
        yield ctx.get_current_key(), timestamp


def build(env: StreamExecutionEnvironment):
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(EventTime())
    events = [
        ("a", "set", 1000),
        ("b", "set", 1000),
        ("a", "delete", 1000),
        ("c", "delete", 1000),
        ("a", "set", 2000),
        ("b", "delete", 2000),
        ("c", "set", 3000),
        ("c", "delete", 3000),
        ("c", "set", 3000),
    ]
    stream = env.from_collection(events).assign_timestamps_and_watermarks(strategy)
    stream = stream.set_parallelism(1)  # keeps the order
    return stream.key_by(lambda event: event[0]).process(Alarm())
