from collections.abc import Iterator

from millrace.datastream import KeyedProcessFunction, RuntimeContext
from millrace.datastream.state import ValueState, ValueStateDescriptor
from millrace.testing import OperatorHarness


class Reminder(KeyedProcessFunction[str, str, str]):
    """Asks once more, an hour after the first question."""

    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor = ValueStateDescriptor[str]("question")
        self.question: ValueState[str] = runtime_context.get_state(descriptor)

    def process_element(self, value: str, ctx: KeyedProcessFunction.Context) -> None:
        if self.question.value() is None:
            self.question.update(value)
            ctx.timer_service().register_event_time_timer((ctx.timestamp() or 0) + 3_600_000)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[str]:
        yield f"once more: {self.question.value()}"
        self.question.clear()


with OperatorHarness(Reminder(), key_by=lambda question: "everybody") as harness:
    harness.process_element("who takes part?", 1_000)
    print(harness.state("question", "everybody"))
    print(harness.event_time_timers())

    restored = harness.restored(harness.snapshot())
    restored.process_watermark(3_600_999)
    print(restored.output())
    restored.process_watermark(3_601_000)
    print(restored.output())
    print(restored.state("question", "everybody"))
