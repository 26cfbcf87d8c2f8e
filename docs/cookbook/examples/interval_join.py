from collections.abc import Iterator

from millrace.common import Time, WatermarkStrategy
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.functions import ProcessJoinFunction

Event = tuple[str, int]  # order, second


class Delay(ProcessJoinFunction[Event, Event, str]):
    def process_element(
        self, left: Event, right: Event, ctx: ProcessJoinFunction.Context
    ) -> Iterator[str]:
        seconds = (ctx.get_right_timestamp() - ctx.get_left_timestamp()) // 1000
        yield f"{left[0]} was shipped {seconds} s after it was paid"


paid: list[Event] = [("A17", 10), ("B42", 20), ("C3", 30)]
shipped: list[Event] = [("B42", 21), ("A17", 40), ("C3", 95)]
event_time = WatermarkStrategy.for_monotonous_timestamps()
event_time = event_time.with_timestamp_assigner(lambda event, _: event[1] * 1000)

env = StreamExecutionEnvironment.get_execution_environment()
left = env.from_collection(paid).assign_timestamps_and_watermarks(event_time)
right = env.from_collection(shipped).assign_timestamps_and_watermarks(event_time)
(
    left.key_by(lambda event: event[0])
    .interval_join(right.key_by(lambda event: event[0]))
    .between(Time.seconds(0), Time.seconds(60))
    .process(Delay())
    .print()
)
env.execute("shipped within a minute")
