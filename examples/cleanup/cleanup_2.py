"""The next version of ``cleanup.py``, which goes on from a savepoint of it.

Orders of more than 5,000 euros are no longer believed. What is remembered of an order has one more
field, the number of its copies. A table of countries, which arrives in files of its own and may
change, brings the region of each order.

``millrace run -s SAVEPOINT --parallelism 3 cleanup_2.py``
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cleanup import COLUMNS, clean_orders, write_parquet
from orders import DUPLICATES, Check, Deduplicate, First, Order, Record

from millrace.common import Duration, Types, WatermarkStrategy
from millrace.connectors import FileSource
from millrace.datastream import (
    BroadcastProcessFunction,
    DataStream,
    KeyedProcessFunction,
    StreamExecutionEnvironment,
)
from millrace.datastream.state import MapStateDescriptor
from millrace.formats import CsvReaderFormat

REGIONS: MapStateDescriptor[str, str] = MapStateDescriptor(
    "regions", Types.STRING(), Types.STRING()
)


@dataclass
class FirstAndCopies(First):
    """Where an order was seen first, and how often it has come again."""

    copies: int = 0  # those of before the upgrade were not counted


class CountCopies(Deduplicate):
    """Numbers the duplicates of an order."""

    def __init__(self) -> None:
        super().__init__(FirstAndCopies)

    def process_element(self, value: Order, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        for result in super().process_element(value, ctx):
            if not isinstance(result, Order):
                first = self.first.value()
                assert isinstance(first, FirstAndCopies)
                first.copies += 1
                self.first.update(first)
                result = DUPLICATES, {**result[1], "copy": first.copies}
            yield result


class AddRegion(BroadcastProcessFunction[Record, Record, Record]):
    """Adds the region of the order's country; None, if the table does not have it."""

    def process_element(
        self, value: Record, ctx: BroadcastProcessFunction.ReadOnlyContext
    ) -> Iterator[Record]:
        yield {**value, "region": ctx.get_broadcast_state(REGIONS).get(value["country"])}

    def process_broadcast_element(
        self, value: Record, ctx: BroadcastProcessFunction.Context
    ) -> None:
        ctx.get_broadcast_state(REGIONS).put(value["country"], value["region"])


def with_regions(orders: DataStream[Record], directory: Path) -> DataStream[Record]:
    """The orders with the region of their country."""
    directory.mkdir(parents=True, exist_ok=True)
    table = FileSource.for_record_stream_format(CsvReaderFormat.for_header(), directory)
    source = table.monitor_continuously(Duration.of_seconds(1)).build()
    env = orders.get_execution_environment()
    rows = env.from_source(source, WatermarkStrategy.no_watermarks(), "countries").uid("countries")
    return orders.connect(rows.broadcast(REGIONS)).process(AddRegion()).uid("regions")


def main() -> None:
    """Run until somebody stops it."""
    base = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    env = StreamExecutionEnvironment.get_execution_environment()
    orders = clean_orders(env, base, Check(most=5_000), CountCopies())
    columns = {**COLUMNS, "region": Types.STRING()}
    write_parquet(with_regions(orders, base / "countries"), columns, base / "results/orders")
    env.execute("cleanup")


if __name__ == "__main__":
    main()
