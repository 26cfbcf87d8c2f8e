from collections.abc import Iterator

from millrace.common.functions.accumulators import AverageAccumulator
from millrace.datastream import FlatMapFunction, RuntimeContext, StreamExecutionEnvironment


class Parse(FlatMapFunction[str, int]):
    """Counts what it cannot read, instead of failing."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.bad_lines = runtime_context.get_int_counter("bad lines")
        self.mean = AverageAccumulator()
        runtime_context.add_accumulator("mean", self.mean)
        group = runtime_context.get_metrics_group()
        self.parsed = group.counter("parsed")
        group.gauge("longest", lambda: self.longest)
        self.longest = 0

    def flat_map(self, value: str) -> Iterator[int]:
        self.longest = max(self.longest, len(value))
        if not value.isdecimal():
            self.bad_lines.add(1)
            return
        self.parsed.inc()
        self.mean.add(int(value))
        yield int(value)


env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection(["12", "x", "30", "?"]).flat_map(Parse()).print()
client = env.execute_async("parse")
result = client.get_job_execution_result().result()
print("bad lines:", result.get_accumulator_result("bad lines"))
print("mean:", result.get_accumulator_result("mean"))
metrics = client.get_accumulators().result()
print("parsed:", metrics["parsed"], "longest:", metrics["longest"])
