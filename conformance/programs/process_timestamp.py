"""The context of a process function: the record's time and the watermark before the end."""

from pyflink.common import WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import ProcessFunction, StreamExecutionEnvironment


class EventTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value * 1000


class Stamp(ProcessFunction):
    def process_element(self, value, ctx: ProcessFunction.Context):
        yield value, ctx.timestamp()


def build(env: StreamExecutionEnvironment):
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(EventTime())
    stream = env.from_collection([3, -1, 2, 0]).assign_timestamps_and_watermarks(strategy)
    # maps and filters keep the times, and so does a flat_map for everything it emits
    moved = stream.map(lambda value: value + 10).flat_map(lambda value: [value, -value])
    return moved.filter(lambda value: value != -12).process(Stamp())
