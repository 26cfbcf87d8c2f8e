"""The watermark of bounded disorder, also for times below zero."""

import time

from pyflink.common import Duration, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import ProcessFunction, StreamExecutionEnvironment

RECORDS_PER_EPOCH = 1


class EventTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value


class Watermark(ProcessFunction):
    def process_element(self, value, ctx: ProcessFunction.Context):
        yield value, ctx.timer_service().current_watermark()


def pause(value):
    time.sleep(0.1)
    return value


def build(env: StreamExecutionEnvironment):
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(10))
    strategy = strategy.with_timestamp_assigner(EventTime())
    stream = env.from_collection([-50, -30, -45, 0, 7, 100, 1]).map(pause).rebalance()
    stream = stream.assign_timestamps_and_watermarks(strategy).set_parallelism(1)
    return stream.process(Watermark()).set_parallelism(1)
