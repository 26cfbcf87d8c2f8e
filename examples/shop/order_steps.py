"""Orders of a shop: how their changes are read, and what is looked for in them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from millrace.cep import AfterMatchSkipStrategy, Pattern
from millrace.common import DeserializationSchema, Time, TypeInformation, Types
from millrace.common.types.result_type_queryable import ResultTypeQueryable
from millrace.datastream.functions import AggregateFunction, ProcessWindowFunction
from millrace.datastream.window import TimeWindow

Record = dict[str, Any]
WINDOW = Time.minutes(10)
PATIENCE = Time.hours(1)
"""How long a customer waits for what is paid, and in which time three orders must not be
cancelled."""
TABLE = """
create table orders (
    id int primary key, customer text not null, product text not null, cents int not null,
    status text not null, at timestamptz not null
)
"""


@dataclass(frozen=True)
class Step:
    """An order comes to a status: placed, paid, shipped or cancelled. The time is in ms since 1970,
    money in cents."""

    order: int
    customer: str
    product: str
    cents: int
    status: str
    at: int


class StepSchema(DeserializationSchema[Step | None], ResultTypeQueryable):
    """Reads steps from changes in Debezium's form; other changes are left out."""

    def deserialize(self, message: bytes) -> Step | None:
        told = json.loads(message)
        before, after = told["before"], told["after"]
        if after is None or (before is not None and before["status"] == after["status"]):
            return None
        at = datetime.fromisoformat(after["at"])
        return Step(
            after["id"], after["customer"], after["product"], after["cents"], after["status"],
            round(at.timestamp() * 1000),
        )  # fmt: skip

    def get_produced_type(self) -> TypeInformation[Step]:
        return Types.of(Step)


class Revenue(AggregateFunction[Step, tuple[int, int], tuple[int, int]]):
    """Counts orders and adds up what they cost."""

    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: Step, accumulator: tuple[int, int]) -> tuple[int, int]:
        orders, cents = accumulator
        return orders + 1, cents + value.cents

    def get_result(self, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class RevenueOfProduct(ProcessWindowFunction[tuple[int, int], Record, str, TimeWindow]):
    """A row of the table of revenues."""

    def process(
        self,
        key: str,
        context: ProcessWindowFunction.Context[TimeWindow],
        elements: Iterable[tuple[int, int]],
    ) -> Iterator[Record]:
        for orders, cents in elements:
            start = context.window().start
            yield {"product": key, "start": start, "orders": orders, "cents": cents}


def cancelling() -> Pattern:
    """A customer cancels three orders in a row within an hour."""
    skip = AfterMatchSkipStrategy.skip_past_last_event()
    cancelled = Pattern.begin("cancelled", skip).where(lambda step, ctx: step.status == "cancelled")
    return cancelled.times(3).within(PATIENCE)


def unshipped() -> Pattern:
    """An order is paid and not shipped within an hour."""
    paid = Pattern.begin("paid").where(lambda step, ctx: step.status == "paid")
    ends = paid.not_followed_by("end").where(lambda s, ctx: s.status in ("shipped", "cancelled"))
    return ends.within(PATIENCE)


def cancelling_alert(match: dict[str, list[Step]]) -> Record:
    """The alert of a match of `cancelling`."""
    steps = match["cancelled"]
    orders = " ".join(str(step.order) for step in steps)
    return {"kind": "cancels a lot", "about": steps[0].customer, "orders": orders}


def unshipped_alert(match: dict[str, list[Step]]) -> Record:
    """The alert of a match of `unshipped`."""
    [paid] = match["paid"]
    return {"kind": "not shipped", "about": paid.customer, "orders": str(paid.order)}
