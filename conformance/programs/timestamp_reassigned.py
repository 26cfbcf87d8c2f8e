"""An assigner gets the time that the record had before."""

from pyflink.common import WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import ProcessFunction, StreamExecutionEnvironment


class First(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value


class Second(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return record_timestamp * 2 + 1


class Stamp(ProcessFunction):
    def process_element(self, value, ctx):
        yield value, ctx.timestamp()


def build(env: StreamExecutionEnvironment):
    monotonous = WatermarkStrategy.for_monotonous_timestamps
    stream = env.from_collection([10, 20, 30])
    stream = stream.assign_timestamps_and_watermarks(monotonous().with_timestamp_assigner(First()))
    stream = stream.assign_timestamps_and_watermarks(monotonous().with_timestamp_assigner(Second()))
    return stream.process(Stamp())
