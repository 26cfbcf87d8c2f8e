"""Carts and stock as Stateful Functions, embedded: no arguments."""

from __future__ import annotations

from millrace.common import Configuration, WatermarkStrategy
from millrace.connectors import DataGeneratorSource, RateLimiterStrategy
from millrace.datastream import StreamExecutionEnvironment
from millrace.statefun.data_stream import StatefulFunctionDataStreamBuilder, routable_message
from millrace.statefun.types import LONG, decoded, typed
from millrace.testing import CollectingSink
from statefun import (
    Context,
    IntType,
    Message,
    StatefulFunctions,
    StringType,
    ValueSpec,
    egress_message_builder,
    message_builder,
)

SETTINGS = {"execution.checkpointing.interval": "2 s", "execution.runtime-mode": "STREAMING"}
functions = StatefulFunctions()


@functions.bind("com.example.shop/cart", [ValueSpec("items", IntType)])
def cart(context: Context, message: Message) -> None:
    """Somebody puts an item into a cart."""
    context.storage.items = (context.storage.items or 0) + 1
    item = f"item-{message.as_long() % 20}"
    context.send(message_builder("com.example.shop/stock", item, str_value=context.address.id))


@functions.bind("com.example.shop/stock", [ValueSpec("sold", IntType)])
def stock(context: Context, message: Message) -> None:
    """An item is sold."""
    context.storage.sold = (context.storage.sold or 0) + 1
    receipt = f"{message.as_string()} has {context.address.id}"
    context.send_egress(egress_message_builder("com.example.shop/receipts", receipt, StringType))


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment(Configuration(SETTINGS))
    rate = RateLimiterStrategy.per_second(300)
    source = DataGeneratorSource(lambda number: number, rate_limiter_strategy=rate, splits=1)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "Clicks on items")
    clicks = numbers.uid("clicks").map(
        lambda n: routable_message("com.example.shop/cart", f"cart-{n % 300}", typed(LONG, n))
    )
    egresses = (
        StatefulFunctionDataStreamBuilder.builder("shop")
        .with_data_stream_as_ingress(clicks.uid("to-carts"))
        .with_function_provider("com.example.shop/*", functions)
        .with_egress_id("com.example.shop/receipts")
        .build(env)
    )
    receipts = egresses.get_data_stream_for_egress_id("com.example.shop/receipts")
    receipts.map(decoded).uid("decoded").sink_to(CollectingSink()).name("Receipts").uid("sink")
    env.execute("Shopping carts")


if __name__ == "__main__":
    main()
