from millrace.common import Time, WatermarkStrategy
from millrace.datastream import OutputTag
from millrace.datastream.window import TumblingEventTimeWindows
from millrace.testing import MiniJob

Click = tuple[str, int]  # device, milliseconds on its clock
LATE: OutputTag[Click] = OutputTag("late")

trusting: WatermarkStrategy[Click] = WatermarkStrategy.for_monotonous_timestamps()
for strategy in trusting, trusting.with_clock_limit(Time.minutes(1)):
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
