from millrace.common import Time, WatermarkStrategy
from millrace.datastream import StreamExecutionEnvironment, TimeWindow, Trigger, TriggerResult
from millrace.datastream.window import CountEvictor, EventTimeTrigger, TumblingEventTimeWindows

Alarm = tuple[str, int, str]  # machine, second, level


class AtOnceIfUrgent(EventTimeTrigger):
    """At the end of the window, and at every urgent alarm before it."""

    def on_element(
        self, element: Alarm, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        at_end = super().on_element(element, timestamp, window, ctx)
        return TriggerResult.FIRE if element[2] == "urgent" else at_end


def both(one: Alarm, other: Alarm) -> Alarm:
    return one[0], other[1], f"{one[2]}, {other[2]}"


alarms = [("press", 1, "low"), ("press", 2, "low"), ("press", 3, "urgent"), ("press", 9, "low")]
event_time = WatermarkStrategy.for_monotonous_timestamps()
event_time = event_time.with_timestamp_assigner(lambda alarm, _: alarm[1] * 1000)

env = StreamExecutionEnvironment.get_execution_environment()
stream = env.from_collection(alarms).assign_timestamps_and_watermarks(event_time)
(
    stream.key_by(lambda alarm: alarm[0])
    .window(TumblingEventTimeWindows.of(Time.seconds(10)))
    .trigger(AtOnceIfUrgent())
    .evictor(CountEvictor.of(2))
    .reduce(both)
    .print()
)
env.execute("alarms")
