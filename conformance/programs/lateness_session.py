"""Allowed lateness of session windows: a late record may join fired sessions."""

import time

from pyflink.common import Time, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import ProcessWindowFunction, StreamExecutionEnvironment
from pyflink.datastream.window import EventTimeSessionWindows

RECORDS_PER_EPOCH = 1

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


class Describe(ProcessWindowFunction):
    def process(self, key, context: ProcessWindowFunction.Context, elements):
        window = context.window()
        yield key, window.start, window.end, sorted(element[2] for element in elements)


def pause(value):
    time.sleep(0.1)
    return value


def build(env: StreamExecutionEnvironment):
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    strategy = strategy.with_timestamp_assigner(EventTime())
    events = env.from_collection(EVENTS).map(pause).rebalance()
    events = events.assign_timestamps_and_watermarks(strategy).set_parallelism(1)
    keyed = events.key_by(lambda event: event[0])
    windows = keyed.window(EventTimeSessionWindows.with_gap(Time.seconds(2)))
    return windows.allowed_lateness(4000).process(Describe())
