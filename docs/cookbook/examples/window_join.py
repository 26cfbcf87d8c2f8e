from millrace.common import Time, WatermarkStrategy
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.window import TumblingEventTimeWindows

orders = [("A17", 1, "book"), ("B42", 4, "lamp"), ("A17", 12, "pen")]  # customer, second, what
visits = [("A17", 3, "phone"), ("A17", 8, "web"), ("B42", 15, "web")]  # customer, second, how
event_time = WatermarkStrategy.for_monotonous_timestamps()
event_time = event_time.with_timestamp_assigner(lambda record, _: record[1] * 1000)

env = StreamExecutionEnvironment.get_execution_environment()
first = env.from_collection(orders).assign_timestamps_and_watermarks(event_time)
second = env.from_collection(visits).assign_timestamps_and_watermarks(event_time)
(
    first.join(second)
    .where(lambda order: order[0])
    .equal_to(lambda visit: visit[0])
    .window(TumblingEventTimeWindows.of(Time.seconds(10)))
    .apply(lambda order, visit: f"{order[0]} ordered a {order[2]} and came by {visit[2]}")
    .print()
)
env.execute("orders and visits")
