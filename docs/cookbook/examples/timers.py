from collections.abc import Iterator

from millrace.common import Time, Types, WatermarkStrategy
from millrace.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from millrace.datastream.state import MapState, MapStateDescriptor

Measurement = tuple[str, int, float]  # device, second, value


class Silent(KeyedProcessFunction[str, Measurement, str]):
    """Reports a device that has said nothing for a minute."""

    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor = MapStateDescriptor[str, int]("seen", Types.STRING(), Types.LONG())
        self.seen: MapState[str, int] = runtime_context.get_map_state(descriptor)

    def process_element(self, value: Measurement, ctx: KeyedProcessFunction.Context) -> None:
        timers = ctx.timer_service()
        if "due" in self.seen:
            timers.delete_event_time_timer(self.seen["due"] or 0)
        self.seen["last"], self.seen["due"] = value[1], value[1] * 1000 + 60_000
        timers.register_event_time_timer(value[1] * 1000 + 60_000)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[str]:
        yield f"{ctx.get_current_key()} is silent since {self.seen['last']} s"
        self.seen.clear()


measured: list[Measurement] = [("a", 0, 1.5), ("b", 10, 2.0), ("a", 50, 1.6), ("a", 100, 1.7)]
event_time = WatermarkStrategy.for_bounded_out_of_orderness(Time.seconds(5))
event_time = event_time.with_timestamp_assigner(lambda value, _: value[1] * 1000)

env = StreamExecutionEnvironment.get_execution_environment()
stream = env.from_collection(measured).assign_timestamps_and_watermarks(event_time)
stream.key_by(lambda value: value[0]).process(Silent()).print()
env.execute("silent devices")
