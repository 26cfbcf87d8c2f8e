"""Timers with state: sessions by hand, with an alert to a side output from the timer."""

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import (
    KeyedProcessFunction,
    OutputTag,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from pyflink.datastream.state import ListStateDescriptor

LONG = OutputTag("long", Types.STRING())


class EventTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


class Collect(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.events = runtime_context.get_list_state(ListStateDescriptor("events", Types.LONG()))

    def process_element(self, value, ctx: KeyedProcessFunction.Context):
        self.events.add(value[1])
        ctx.timer_service().register_event_time_timer(1_000_000)

    def on_timer(self, timestamp, ctx: KeyedProcessFunction.OnTimerContext):
        events = sorted(self.events.get())
        self.events.clear()
        if len(events) > 2:
            yield LONG, f"{ctx.get_current_key()} has {len(events)}"
        yield ctx.get_current_key(), events


def build(env: StreamExecutionEnvironment):
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(EventTime())
    events = [("a", 10), ("b", 20), ("a", 5), ("a", 30), ("b", 1), ("c", 7)]
    stream = env.from_collection(events).assign_timestamps_and_watermarks(strategy)
    main = stream.key_by(lambda event: event[0]).process(Collect())
    return main, main.get_side_output(LONG)
