"""`CoProcessFunction` without keys: both sides, times and a side output."""

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import CoProcessFunction, OutputTag, StreamExecutionEnvironment

RIGHT = OutputTag("right", Types.STRING())


class EventTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value * 10


class Both(CoProcessFunction):
    def process_element1(self, value, ctx: CoProcessFunction.Context):
        yield value, ctx.timestamp()

    def process_element2(self, value, ctx: CoProcessFunction.Context):
        yield RIGHT, f"{value} at {ctx.timestamp()}"
        if value > 5:
            yield -value, ctx.timestamp()


def build(env: StreamExecutionEnvironment):
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(EventTime())
    left = env.from_collection([1, 2]).assign_timestamps_and_watermarks(strategy)
    right = env.from_collection([5, 6, 7]).assign_timestamps_and_watermarks(strategy)
    main = left.connect(right).process(Both())
    return main, main.get_side_output(RIGHT)
