"""Tumbling windows with an offset, and times below zero."""

from pyflink.common import Duration, Time, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import ProcessWindowFunction, StreamExecutionEnvironment
from pyflink.datastream.window import TumblingEventTimeWindows

EVENTS = [
    ("a", -5000, 1),
    ("a", -3501, 2),
    ("a", -3500, 3),
    ("a", -1, 4),
    ("a", 0, 5),
    ("a", 1499, 6),
    ("a", 1500, 7),
    ("b", 6500, 8),
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
    windows = TumblingEventTimeWindows.of(Time.seconds(5), Time.milliseconds(1500))
    return keyed.window(windows).process(Describe())
