"""Sliding windows around the time zero."""

from pyflink.common import Duration, Time, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import ProcessWindowFunction, StreamExecutionEnvironment
from pyflink.datastream.window import SlidingEventTimeWindows

EVENTS = [
    ("a", -2001, 1),
    ("a", -2000, 2),
    ("a", -1, 3),
    ("a", 0, 4),
    ("b", 1999, 5),
    ("a", 2000, 6),
]


class EventTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


class Describe(ProcessWindowFunction):
    def process(self, key, context: ProcessWindowFunction.Context, elements):
        window = context.window()
        yield key, window.start, window.end, sorted(element[2] for element in elements)


def build(env: StreamExecutionEnvironment):
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(20))
    strategy = strategy.with_timestamp_assigner(EventTime())
    events = env.from_collection(EVENTS).assign_timestamps_and_watermarks(strategy)
    keyed = events.key_by(lambda event: event[0])
    windows = SlidingEventTimeWindows.of(Time.seconds(4), Time.seconds(2))
    return keyed.window(windows).process(Describe())
