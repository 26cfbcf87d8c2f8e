"""Session windows with an aggregate that is merged, and the merged window."""

from pyflink.common import Duration, Time, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import AggregateFunction, ProcessWindowFunction, StreamExecutionEnvironment
from pyflink.datastream.window import EventTimeSessionWindows

EVENTS = [
    ("a", 1000, 1),
    ("a", 4000, 2),
    ("b", 4500, 3),
    ("a", 20_000, 4),
    ("a", 10_000, 5),
    ("a", 7000, 6),
    ("b", 9500, 7),
    ("b", 9499, 8),
    ("a", 25_000, 9),
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


class WithWindow(ProcessWindowFunction):
    def process(self, key, context: ProcessWindowFunction.Context, elements):
        for element in elements:
            yield key, context.window().start, element


def build(env: StreamExecutionEnvironment):
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(20))
    strategy = strategy.with_timestamp_assigner(EventTime())
    events = env.from_collection(EVENTS).assign_timestamps_and_watermarks(strategy)
    keyed = events.key_by(lambda event: event[0])
    windows = keyed.window(EventTimeSessionWindows.with_gap(Time.seconds(5)))
    return windows.aggregate(Average(), WithWindow())
