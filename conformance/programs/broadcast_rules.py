"""Broadcast state: rules that have come before the records apply to all of them."""

import time

from pyflink.common import Types
from pyflink.datastream import BroadcastProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.state import MapStateDescriptor

RECORDS_PER_EPOCH = 100
RULES = MapStateDescriptor("rules", Types.STRING(), Types.INT())


class Apply(BroadcastProcessFunction):
    def process_element(self, value, ctx: BroadcastProcessFunction.ReadOnlyContext):
        rules = ctx.get_broadcast_state(RULES)
        yield value, rules.contains(value[0]), rules.get(value[0]), sorted(rules.items())

    def process_broadcast_element(self, value, ctx: BroadcastProcessFunction.Context):
        rules = ctx.get_broadcast_state(RULES)
        if value[1] is None:
            rules.remove(value[0])
        else:
            rules.put(value[0], value[1])


def wait(value):
    time.sleep(1.5 if value[1] == 0 else 0)
    return value


def build(env: StreamExecutionEnvironment):
    rules = env.from_collection([("a", 1), ("b", 2), ("c", 3), ("a", 10), ("b", None)])
    records = env.from_collection([("a", 0), ("b", 1), ("c", 2)]).map(wait)
    return records.connect(rules.broadcast(RULES)).process(Apply())
