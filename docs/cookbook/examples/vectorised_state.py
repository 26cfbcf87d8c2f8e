from typing import Any

import pyarrow as pa

from millrace.datastream import BatchProcessFunction, StreamExecutionEnvironment
from millrace.datastream.state import ReducingColumnDescriptor, ValueColumnDescriptor

readings = [
    {"meter": "A", "kwh": 100.0},
    {"meter": "B", "kwh": 70.0},
    {"meter": "A", "kwh": 104.5},
    {"meter": "B", "kwh": 71.0},
]


class Readings(BatchProcessFunction):
    """Tells of each meter, at the end, how often it was read and what it showed last."""

    def states(self) -> Any:
        return [
            ValueColumnDescriptor("shown", pa.float64()),
            ReducingColumnDescriptor("readings", pa.int64()),
        ]

    def process_batch(self, batch: Any, ctx: Any) -> None:
        ctx.state("shown").put(batch["kwh"])
        ctx.state("readings").add(1)
        ctx.timer_service().register_event_time_timers([100] * len(batch))

    def on_timer(self, timers: Any, ctx: Any) -> Any:
        shown, count = ctx.state("shown").get(), ctx.state("readings").get()
        return timers.append_column("shown", shown).append_column("readings", count)


env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection(readings).key_by("meter").process_batch(Readings()).print()
env.execute("meters")
