from __future__ import annotations

from collections.abc import Iterator

from millrace.common import Types, WatermarkGenerator, WatermarkOutput, WatermarkStrategy
from millrace.datastream import KeyedBroadcastProcessFunction
from millrace.datastream.state import MapStateDescriptor
from millrace.testing import MiniJob

Rules = MapStateDescriptor("rules", Types.STRING(), Types.INT())


class Remind(KeyedBroadcastProcessFunction[str, str, int, str]):
    def process_element(self, value: str, ctx: Remind.ReadOnlyContext) -> None:
        ctx.timer_service().register_event_time_timer(1_000)

    def process_broadcast_element(self, value: int, ctx: Remind.Context) -> None: ...

    def on_timer(self, timestamp: int, ctx: Remind.OnTimerContext) -> Iterator[str]:
        yield f"reminder of {ctx.get_current_key()}"


class Free(WatermarkGenerator[object]):
    def on_event(self, event: object, timestamp: int, output: WatermarkOutput) -> None: ...

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        output.emit_watermark(2**63 - 1)  # the highest there is


for strategy in WatermarkStrategy.no_watermarks(), WatermarkStrategy.for_generator(Free):
    with MiniJob() as job:
        orders, limits = job.source("orders"), job.source("limits")
        rules = limits.stream.assign_timestamps_and_watermarks(strategy).broadcast(Rules)
        reminders = job.collect(orders.stream.key_by(str).connect(rules).process(Remind()))
        orders.push("order 1", timestamp=0)
        orders.push_watermark(5_000)
        job.process()
        print("event time is 5 s:", reminders.values())
