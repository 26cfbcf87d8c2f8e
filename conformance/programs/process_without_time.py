"""A record without event time has none in the context, and the watermark is the lowest."""

from pyflink.datastream import ProcessFunction, StreamExecutionEnvironment


class Stamp(ProcessFunction):
    def process_element(self, value, ctx: ProcessFunction.Context):
        yield value, ctx.timestamp(), ctx.timer_service().current_watermark()


def build(env: StreamExecutionEnvironment):
    return env.from_collection(["a", "b"]).process(Stamp())
