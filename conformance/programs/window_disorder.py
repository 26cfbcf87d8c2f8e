"""Disorder within the bound loses nothing, whatever the order of arrival."""

from pyflink.common import Duration, Time, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import ProcessWindowFunction, StreamExecutionEnvironment
from pyflink.datastream.window import TumblingEventTimeWindows

EVENTS = [(key, (i * 3571) % 20_000, i) for i in range(40) for key in "abcde"[: i % 5 + 1]]


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
    return keyed.window(TumblingEventTimeWindows.of(Time.seconds(4))).process(Describe())
