"""Batch mode: session windows."""

from pyflink.common import Time, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from pyflink.datastream.window import EventTimeSessionWindows

EVENTS = [
    ("a", 1000, 1),
    ("a", 4000, 2),
    ("a", 6000, 4),
    ("a", 3000, 8),
    ("b", 8500, 16),
    ("a", 2000, 32),
    ("a", 9000, 64),
    ("a", 15_000, 128),
    ("a", 4999, 256),
    ("b", 9000, 512),
]


class EventTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


def build(env: StreamExecutionEnvironment):
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    strategy = strategy.with_timestamp_assigner(EventTime())
    events = env.from_collection(EVENTS).assign_timestamps_and_watermarks(strategy)
    keyed = events.key_by(lambda event: event[0])
    windows = keyed.window(EventTimeSessionWindows.with_gap(Time.seconds(3)))
    return windows.reduce(lambda a, b: (a[0], max(a[1], b[1]), a[2] + b[2]))
