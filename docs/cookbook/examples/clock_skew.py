import time

from millrace.common import Time, WatermarkGenerator, WatermarkOutput, WatermarkStrategy
from millrace.datastream import OutputTag
from millrace.datastream.window import TumblingEventTimeWindows
from millrace.testing import MiniJob

Click = tuple[str, int]  # device, milliseconds on its clock
LATE: OutputTag[Click] = OutputTag("late")


class NotAheadOfUs(WatermarkGenerator[Click]):
    """The newest timestamp, without those that are over a minute ahead of this machine's clock."""

    newest = -(2**62)

    def on_event(self, event: Click, timestamp: int, output: WatermarkOutput) -> None:
        if timestamp < time.time() * 1000 + 60_000:
            self.newest = max(self.newest, timestamp)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        output.emit_watermark(self.newest - 1)


trusting = WatermarkStrategy.for_monotonous_timestamps()
for strategy in trusting, WatermarkStrategy.for_generator(NotAheadOfUs):
    timed = strategy.with_timestamp_assigner(lambda click, _: click[1])
    with MiniJob() as job:
        clicks = job.source("clicks")
        stream = clicks.stream.assign_timestamps_and_watermarks(timed).key_by(lambda _: "all")
        windows = stream.window(TumblingEventTimeWindows.of(Time.minutes(1)))
        counts = windows.side_output_late_data(LATE).reduce(lambda one, _: one)
        late = job.collect(counts.get_side_output(LATE))
        for click in ("ada", 1_000), ("from the year 2100", 4_102_444_800_000), ("bob", 2_000):
            clicks.push(click)
            job.process()
        print("late:", late.values())
