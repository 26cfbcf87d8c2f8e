from collections.abc import Iterator

from millrace.common import Time, WatermarkStrategy
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.functions import CoGroupFunction
from millrace.datastream.window import TumblingEventTimeWindows

Event = tuple[str, int]  # machine, second


class OnlyOnce(CoGroupFunction[Event, Event, str]):
    """An outer join: it also sees the keys that one side does not have."""

    def co_group(self, first: list[Event], second: list[Event]) -> Iterator[str]:
        if not second:
            yield f"{first[0][0]} was ordered to stop and did not"
        elif not first:
            yield f"{second[0][0]} stopped by itself"


ordered: list[Event] = [("press", 1), ("saw", 2)]
stopped: list[Event] = [("press", 3), ("drill", 4)]
event_time = WatermarkStrategy.for_monotonous_timestamps()
event_time = event_time.with_timestamp_assigner(lambda event, _: event[1] * 1000)

env = StreamExecutionEnvironment.get_execution_environment()
first = env.from_collection(ordered).assign_timestamps_and_watermarks(event_time)
second = env.from_collection(stopped).assign_timestamps_and_watermarks(event_time)
groups = first.co_group(second).where(lambda event: event[0]).equal_to(lambda event: event[0])
groups.window(TumblingEventTimeWindows.of(Time.seconds(10))).apply(OnlyOnce()).print()
env.execute("stops")
