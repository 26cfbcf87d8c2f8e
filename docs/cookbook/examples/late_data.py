from millrace.common import Configuration, Time, WatermarkStrategy
from millrace.datastream import OutputTag, StreamExecutionEnvironment
from millrace.datastream.window import TumblingEventTimeWindows

Sale = tuple[str, int, int]  # shop, second, amount
LATE: OutputTag[Sale] = OutputTag("late")

sales: list[Sale] = [
    ("north", 1, 10),
    ("north", 12, 5),  # event time goes on to 12 s: the first window fires
    ("north", 4, 3),  # late, but within the allowed lateness: it fires again
    ("north", 31, 8),
    ("north", 9, 100),  # too late
]
event_time = WatermarkStrategy.for_monotonous_timestamps()
event_time = event_time.with_timestamp_assigner(lambda sale, _: sale[1] * 1000)

# one record per epoch: so few of them would all be read before the first watermark is sent on
one_by_one = Configuration(
    {
        "millrace.epoch.initial-records-per-split": 1,
        "millrace.epoch.max-records-per-split": 1,
    }
)
env = StreamExecutionEnvironment.get_execution_environment(one_by_one)
stream = env.from_collection(sales).assign_timestamps_and_watermarks(event_time)
totals = (
    stream.key_by(lambda sale: sale[0])
    .window(TumblingEventTimeWindows.of(Time.seconds(10)))
    .allowed_lateness(Time.seconds(5))
    .side_output_late_data(LATE)
    .reduce(lambda one, other: (one[0], one[1], one[2] + other[2]))
)
totals.print("total")
totals.get_side_output(LATE).print("too late")
env.execute("sales")
