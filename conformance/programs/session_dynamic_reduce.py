"""Session windows with a gap from the record, reduced."""

from pyflink.common import Duration, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.window import EventTimeSessionWindows, SessionWindowTimeGapExtractor

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


class Gap(SessionWindowTimeGapExtractor):
    def extract(self, element):
        return 6000 if element[2] % 2 else 1000


def build(env: StreamExecutionEnvironment):
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(20))
    strategy = strategy.with_timestamp_assigner(EventTime())
    events = env.from_collection(EVENTS).assign_timestamps_and_watermarks(strategy)
    keyed = events.key_by(lambda event: event[0])
    windows = EventTimeSessionWindows.with_dynamic_gap(Gap())
    return keyed.window(windows).reduce(lambda a, b: (a[0], max(a[1], b[1]), a[2] + b[2]))
