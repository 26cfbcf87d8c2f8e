from millrace.common import Duration, Time, WatermarkStrategy
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.window import EventTimeSessionWindows

clicks = [("ada", 1), ("ada", 3), ("bob", 4), ("ada", 60), ("bob", 5)]  # user, second
times = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5))
times = times.with_timestamp_assigner(lambda click, _: click[1] * 1000)

env = StreamExecutionEnvironment.get_execution_environment()
stream = env.from_collection(clicks).assign_timestamps_and_watermarks(times)
visits = stream.map(lambda click: (click[0], 1)).key_by(lambda visit: visit[0])
windows = visits.window(EventTimeSessionWindows.with_gap(Time.seconds(30)))
windows.reduce(lambda a, b: (a[0], a[1] + b[1])).print()  # user, clicks of one visit
env.execute("visits")
