"""An event-time timer fires when the input has ended; its context knows key, time and domain."""

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.state import ValueStateDescriptor


class EventTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


class CountUntil(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def process_element(self, value, ctx: KeyedProcessFunction.Context):
        self.count.update((self.count.value() or 0) + 1)
        # the same time for a key is one timer, however often it is set
        ctx.timer_service().register_event_time_timer(ctx.timestamp() // 1000 * 1000 + 999)

    def on_timer(self, timestamp, ctx: KeyedProcessFunction.OnTimerContext):
        yield ctx.get_current_key(), timestamp, ctx.timestamp(), self.count.value()


def build(env: StreamExecutionEnvironment):
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(EventTime())
    events = [("a", 100), ("a", 900), ("b", 950), ("b", 60_000), ("a", 60_500), ("b", 60_999)]
    stream = env.from_collection(events).assign_timestamps_and_watermarks(strategy)
    # only the last count is certain: how far the watermark is between records is not
    counts = stream.key_by(lambda event: event[0]).process(CountUntil())
    return counts.filter(lambda count: count[1] == 60_999)
