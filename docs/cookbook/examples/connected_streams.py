from collections.abc import Iterator

from millrace.datastream import KeyedCoProcessFunction, RuntimeContext, StreamExecutionEnvironment
from millrace.datastream.state import ListStateDescriptor, ValueStateDescriptor

Order = tuple[int, str]  # customer, article
Customer = tuple[int, str]  # customer, name


class WithName(KeyedCoProcessFunction[int, Order, Customer, str]):
    """Orders wait in state until the name of their customer is known."""

    def open(self, runtime_context: RuntimeContext) -> None:
        waiting = ListStateDescriptor[str]("waiting")
        self.waiting = runtime_context.get_list_state(waiting)
        self.name = runtime_context.get_state(ValueStateDescriptor[str]("name"))

    def process_element1(self, value: Order, ctx: KeyedCoProcessFunction.Context) -> Iterator[str]:
        if self.name.value() is None:
            self.waiting.add(value[1])
        else:
            yield f"{self.name.value()} orders a {value[1]}"

    def process_element2(
        self, value: Customer, ctx: KeyedCoProcessFunction.Context
    ) -> Iterator[str]:
        self.name.update(value[1])
        yield from (f"{value[1]} had ordered a {article}" for article in self.waiting)
        self.waiting.clear()


env = StreamExecutionEnvironment.get_execution_environment()
orders = env.from_collection([(7, "book"), (9, "lamp"), (7, "pen")])
customers = env.from_collection([(7, "Ann"), (8, "Bob")])
orders.connect(customers).key_by(lambda order: order[0], lambda customer: customer[0]).process(
    WithName()
).print()
env.execute("orders with names")
