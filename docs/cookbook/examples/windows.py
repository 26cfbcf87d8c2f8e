from collections.abc import Iterable, Iterator

from millrace.common import Time, WatermarkStrategy
from millrace.datastream import ProcessWindowFunction, StreamExecutionEnvironment, TimeWindow
from millrace.datastream.window import SlidingEventTimeWindows

Reading = tuple[str, int, float]  # sensor, second, degrees


def warmer(one: Reading, other: Reading) -> Reading:
    return other if other[2] > one[2] else one


class WithWindow(ProcessWindowFunction[Reading, str, str, TimeWindow]):
    def process(
        self,
        key: str,
        context: ProcessWindowFunction.Context[TimeWindow],
        elements: Iterable[Reading],
    ) -> Iterator[str]:
        [(_, second, degrees)] = elements
        window = context.window()
        yield f"{key} {window.start // 1000} to {window.end // 1000} s: {degrees} at {second} s"


readings = [("roof", 11, 20.0), ("roof", 17, 22.0), ("cellar", 18, 9.0), ("roof", 22, 27.0)]
event_time = WatermarkStrategy.for_monotonous_timestamps()
event_time = event_time.with_timestamp_assigner(lambda reading, _: reading[1] * 1000)

env = StreamExecutionEnvironment.get_execution_environment()
stream = env.from_collection(readings).assign_timestamps_and_watermarks(event_time)
windows = stream.key_by(lambda reading: reading[0]).window(
    SlidingEventTimeWindows.of(Time.seconds(10), Time.seconds(5))
)
windows.reduce(warmer, WithWindow()).print()
env.execute("the warmest of 10 seconds")
