from millrace.common import Duration, Types, ValueStateDescriptor, WatermarkStrategy
from millrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment


class Unpaid(KeyedProcessFunction):
    def open(self, ctx):
        self.due = ctx.get_state(ValueStateDescriptor("due", Types.LONG()))

    def process_element(self, value, ctx):
        if value[1] == "placed":
            self.due.update(ctx.timestamp() + 10_000)
            ctx.timer_service().register_event_time_timer(self.due.value())
        elif ctx.timestamp() <= (self.due.value() or 0):
            self.due.clear()

    def on_timer(self, timestamp, ctx):
        if self.due.value() is not None:
            yield f"order {ctx.get_current_key()} was not paid within 10 seconds"


orders = [("A17", "placed", 1), ("B42", "placed", 3), ("A17", "paid", 5), ("B42", "paid", 30)]
event_time = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5))
event_time = event_time.with_timestamp_assigner(lambda order, _: order[2] * 1000)
env = StreamExecutionEnvironment.get_execution_environment()
stream = env.from_collection(orders).assign_timestamps_and_watermarks(event_time)
stream.key_by(lambda order: order[0]).process(Unpaid()).print()
env.execute("unpaid orders")
