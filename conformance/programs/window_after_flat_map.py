"""Windows of records made by a flat map: they have the time of their record."""

from pyflink.common import Duration, Time, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import StreamExecutionEnvironment
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


def build(env: StreamExecutionEnvironment):
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(20))
    strategy = strategy.with_timestamp_assigner(EventTime())
    events = env.from_collection(EVENTS).assign_timestamps_and_watermarks(strategy)
    letters = events.flat_map(lambda event: [(event[0], event[2]), ("all", event[2])])
    windows = letters.key_by(lambda pair: pair[0]).window(
        TumblingEventTimeWindows.of(Time.seconds(10))
    )
    return windows.reduce(lambda a, b: (a[0], a[1] + b[1]))
