from collections.abc import Iterable, Iterator

from millrace.common import Time, WatermarkStrategy
from millrace.datastream import ProcessWindowFunction, StreamExecutionEnvironment, TimeWindow
from millrace.datastream.window import EventTimeSessionWindows

Click = tuple[str, int, str]  # visitor, second, page


class Visit(ProcessWindowFunction[Click, str, str, TimeWindow]):
    def process(
        self,
        key: str,
        context: ProcessWindowFunction.Context[TimeWindow],
        elements: Iterable[Click],
    ) -> Iterator[str]:
        pages = " > ".join(page for _, _, page in elements)
        yield f"{key} from {context.window().start // 1000} s: {pages}"


clicks: list[Click] = [
    ("ann", 0, "home"),
    ("bob", 10, "home"),
    ("ann", 25, "books"),
    ("ann", 100, "home"),
    ("bob", 35, "cart"),
]
event_time = WatermarkStrategy.for_bounded_out_of_orderness(Time.seconds(90))
event_time = event_time.with_timestamp_assigner(lambda click, _: click[1] * 1000)

env = StreamExecutionEnvironment.get_execution_environment()
stream = env.from_collection(clicks).assign_timestamps_and_watermarks(event_time)
visits = stream.key_by(lambda click: click[0]).window(
    EventTimeSessionWindows.with_gap(Time.seconds(30))
)
visits.process(Visit()).print()
env.execute("visits")
