from millrace.cep import CEP, Pattern
from millrace.common import Time, WatermarkStrategy
from millrace.datastream import StreamExecutionEnvironment

logins = [  # user, what happened, second
    ("ann", "failed", 1),
    ("bob", "failed", 2),
    ("ann", "failed", 4),
    ("bob", "passed", 5),
    ("ann", "failed", 6),
    ("ann", "passed", 8),
]
guessed = Pattern.begin("failed").where(lambda value: value[1] == "failed").times(3).consecutive()
guessed = guessed.next("passed").where(lambda value: value[1] == "passed").within(Time.seconds(10))

env = StreamExecutionEnvironment.get_execution_environment()
event_time = WatermarkStrategy.for_monotonous_timestamps()
event_time = event_time.with_timestamp_assigner(lambda value, _: value[2] * 1000)
stream = env.from_collection(logins).assign_timestamps_and_watermarks(event_time)
found = CEP.pattern(stream.key_by(lambda value: value[0]), guessed)
found.select(lambda match: f"{match['passed'][0][0]} guessed after {len(match['failed'])}").print()
env.execute("guessed passwords")
