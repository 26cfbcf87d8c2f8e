"""Two broadcast states of one broadcast stream, and output from the broadcast side."""

from pyflink.common import Types
from pyflink.datastream import BroadcastProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.state import MapStateDescriptor

NAMES = MapStateDescriptor("names", Types.INT(), Types.STRING())
COUNTS = MapStateDescriptor("counts", Types.STRING(), Types.INT())


class Fill(BroadcastProcessFunction):
    def process_element(self, value, ctx: BroadcastProcessFunction.ReadOnlyContext):
        yield "record", value

    def process_broadcast_element(self, value, ctx: BroadcastProcessFunction.Context):
        names, counts = ctx.get_broadcast_state(NAMES), ctx.get_broadcast_state(COUNTS)
        names[value[0]] = value[1]
        counts[value[1]] = (counts.get(value[1]) or 0) + 1
        yield "rule", sorted(names.items()), sorted(counts.items()), counts.is_empty()


def build(env: StreamExecutionEnvironment):
    rules = env.from_collection([(1, "a"), (2, "b"), (1, "b"), (3, "a")])
    records = env.from_collection([7, 8])
    connected = records.connect(rules.broadcast(NAMES, COUNTS))
    # every parallel subtask would emit its rules
    return connected.process(Fill()).set_parallelism(1)
