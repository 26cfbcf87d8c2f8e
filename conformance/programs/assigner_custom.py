"""An assigner of one's own: each record is in a window of its minute part and in a long one."""

from pyflink.common import Duration, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import ProcessWindowFunction, StreamExecutionEnvironment
from pyflink.datastream.window import (
    EventTimeTrigger,
    TimeWindow,
    TimeWindowSerializer,
    WindowAssigner,
)

EVENTS = [
    ("a", 1000, 1),
    ("b", 1500, 2),
    ("a", 4999, 3),
    ("a", 5000, 4),
    ("b", 3000, 5),
    ("a", 12_000, 6),
    ("c", 9999, 7),
    ("b", 14_999, 8),
    ("a", 26_000, 9),
]


class EventTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


class TwoSizes(WindowAssigner):
    def assign_windows(self, element, timestamp, context):
        short, long = timestamp - timestamp % 3000, timestamp - timestamp % 12_000
        return [TimeWindow(short, short + 3000), TimeWindow(long, long + 12_000)]

    def get_default_trigger(self, env):
        return EventTimeTrigger.create()

    def get_window_serializer(self):
        return TimeWindowSerializer()

    def is_event_time(self):
        return True


class Describe(ProcessWindowFunction):
    def process(self, key, context: ProcessWindowFunction.Context, elements):
        window = context.window()
        yield key, window.start, window.end, sorted(element[2] for element in elements)


def build(env: StreamExecutionEnvironment):
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(20))
    strategy = strategy.with_timestamp_assigner(EventTime())
    events = env.from_collection(EVENTS).assign_timestamps_and_watermarks(strategy)
    keyed = events.key_by(lambda event: event[0])
    return keyed.window(TwoSizes()).process(Describe())
