"""A trigger of one's own with state and timers: early at each sum above 4, and at the end."""

from pyflink.common import Duration, Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import ProcessWindowFunction, StreamExecutionEnvironment
from pyflink.datastream.state import ReducingStateDescriptor
from pyflink.datastream.window import Trigger, TriggerResult, TumblingEventTimeWindows

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


class Early(Trigger):
    total = ReducingStateDescriptor("total", lambda a, b: a + b, Types.LONG())

    def on_element(self, element, timestamp, window, ctx: Trigger.TriggerContext):
        ctx.register_event_time_timer(window.max_timestamp())
        total = ctx.get_partitioned_state(self.total)
        total.add(element[2])
        if total.get() > 4:
            total.clear()
            return TriggerResult.FIRE
        return TriggerResult.CONTINUE

    def on_processing_time(self, time, window, ctx):
        return TriggerResult.CONTINUE

    def on_event_time(self, time, window, ctx):
        last = time == window.max_timestamp()
        return TriggerResult.FIRE_AND_PURGE if last else TriggerResult.CONTINUE

    def on_merge(self, window, ctx):
        raise NotImplementedError

    def clear(self, window, ctx: Trigger.TriggerContext):
        ctx.delete_event_time_timer(window.max_timestamp())
        ctx.get_partitioned_state(self.total).clear()


class Describe(ProcessWindowFunction):
    def process(self, key, context: ProcessWindowFunction.Context, elements):
        window = context.window()
        yield key, window.start, window.end, sorted(element[2] for element in elements)


def build(env: StreamExecutionEnvironment):
    env.set_parallelism(1)  # in order of arrival
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(20))
    strategy = strategy.with_timestamp_assigner(EventTime())
    events = env.from_collection(EVENTS).assign_timestamps_and_watermarks(strategy)
    keyed = events.key_by(lambda event: event[0])
    windows = keyed.window(TumblingEventTimeWindows.of(Time.seconds(20)))
    return windows.trigger(Early()).process(Describe())
