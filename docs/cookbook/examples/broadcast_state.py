from collections.abc import Iterator

from millrace.common import Types
from millrace.datastream import KeyedBroadcastProcessFunction, StreamExecutionEnvironment
from millrace.datastream.state import MapStateDescriptor

Payment = tuple[str, int]  # card, amount
Limit = tuple[str, int]  # card, the most it may pay; "*" for all others
LIMITS: MapStateDescriptor[str, int] = MapStateDescriptor("limits", Types.STRING(), Types.INT())


class AboveLimit(KeyedBroadcastProcessFunction[str, Payment, Limit, str]):
    def process_element(
        self, value: Payment, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext
    ) -> Iterator[str]:
        limits = ctx.get_broadcast_state(LIMITS)
        own = limits.get(ctx.get_current_key())
        limit = own if own is not None else limits.get("*")
        if limit is not None and value[1] > limit:
            yield f"card {value[0]} paid {value[1]}, more than {limit}"

    def process_broadcast_element(
        self, value: Limit, ctx: KeyedBroadcastProcessFunction.Context
    ) -> None:
        ctx.get_broadcast_state(LIMITS).put(*value)


env = StreamExecutionEnvironment.get_execution_environment()
payments = env.from_collection([("1111", 80), ("2222", 80), ("1111", 20)])
limits = env.from_collection([("*", 50), ("2222", 100)]).broadcast(LIMITS)
payments.key_by(lambda payment: payment[0]).connect(limits).process(AboveLimit()).print()
env.execute("limits")
