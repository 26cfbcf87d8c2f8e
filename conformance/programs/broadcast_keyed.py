"""Keyed broadcast state with timers: what waited for rules is judged when all have come."""

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import (
    KeyedBroadcastProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from pyflink.datastream.state import ListStateDescriptor, MapStateDescriptor

LIMITS = MapStateDescriptor("limits", Types.STRING(), Types.INT())


class EventTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return 0


class Judge(KeyedBroadcastProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.waiting = runtime_context.get_list_state(ListStateDescriptor("wait", Types.INT()))

    def process_element(self, value, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext):
        self.waiting.add(value[1])
        ctx.timer_service().register_event_time_timer(1000)

    def process_broadcast_element(self, value, ctx: KeyedBroadcastProcessFunction.Context):
        ctx.get_broadcast_state(LIMITS).put(value[0], value[1])

    def on_timer(self, timestamp, ctx: KeyedBroadcastProcessFunction.OnTimerContext):
        limits = ctx.get_broadcast_state(LIMITS)
        for number in sorted(self.waiting.get()):
            names = sorted(name for name, limit in limits.items() if number > limit)
            yield ctx.get_current_key(), number, names


def build(env: StreamExecutionEnvironment):
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(EventTime())
    records = env.from_collection([("x", 1), ("y", 5), ("x", 9), ("z", 12)])
    limits = env.from_collection([("low", 3), ("high", 8), ("top", 11), ("top", 20)])
    records = records.assign_timestamps_and_watermarks(strategy)
    # the last of two limits of one name counts, so both must take the same way
    limits = limits.assign_timestamps_and_watermarks(strategy).set_parallelism(1)
    keyed = records.key_by(lambda record: record[0])
    return keyed.connect(limits.broadcast(LIMITS)).process(Judge())
