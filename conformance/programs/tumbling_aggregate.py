"""Tumbling windows with an `AggregateFunction`."""

from pyflink.common import Duration, Time, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import AggregateFunction, StreamExecutionEnvironment
from pyflink.datastream.window import TumblingEventTimeWindows

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


class Average(AggregateFunction):
    def create_accumulator(self):
        return 0, 0

    def add(self, value, accumulator):
        return accumulator[0] + value[2], accumulator[1] + 1

    def get_result(self, accumulator):
        return accumulator[0] / accumulator[1], accumulator[1]

    def merge(self, a, b):
        return a[0] + b[0], a[1] + b[1]


def build(env: StreamExecutionEnvironment):
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(20))
    strategy = strategy.with_timestamp_assigner(EventTime())
    events = env.from_collection(EVENTS).assign_timestamps_and_watermarks(strategy)
    keyed = events.key_by(lambda event: event[0])
    return keyed.window(TumblingEventTimeWindows.of(Time.seconds(10))).aggregate(Average())
