"""What customers do in a day: always the same, so that results can be compared."""

from __future__ import annotations

import random
from typing import Any

from order_steps import PATIENCE, Step

PRODUCTS = {"pen": 250, "ink": 700, "paper": 1_200}
FIRST = 1_780_000_000_000
"""When the shop opens, in ms since 1970."""
MINUTE = 60_000
CLOSING = 8
"""Orders at the end of the day: time goes on in all partitions of the topic."""


def day(orders: int, seed: int = 1) -> list[Step]:
    """What happens to so many orders, in the order of time."""
    rng = random.Random(seed)
    steps = [step for number in range(1, orders + 1) for step in _life_of(number, rng)]
    end = max(step.at for step in steps) + 3 * PATIENCE.to_milliseconds()
    for number in range(CLOSING):
        steps.append(Step(orders + 1 + number, "nobody", "nothing", 0, "placed", end + number))
    return sorted(steps, key=lambda step: step.at)


def _life_of(number: int, rng: random.Random) -> list[Step]:
    customer = f"customer-{rng.randrange(20)}"
    product = rng.choice(list(PRODUCTS))
    # no two steps have the same time, so their order is clear
    time = FIRST + number * MINUTE + number % 1_000
    statuses = ["placed"]
    if rng.random() < (0.9 if customer == "customer-7" else 0.1):
        statuses.append("cancelled")
    else:
        statuses += ["paid", "shipped"] if rng.random() < 0.9 else ["paid"]
    steps = []
    for status in statuses:
        steps.append(Step(number, customer, product, PRODUCTS[product], status, time))
        time += rng.randrange(1, 25) * MINUTE
    return steps


def apply(sql: Any, step: Step) -> None:
    """Do it in the database."""
    at = step.at / 1000
    if step.status == "placed":
        sql.execute(
            "insert into orders values (%s, %s, %s, %s, %s, to_timestamp(%s))",
            (step.order, step.customer, step.product, step.cents, step.status, at),
        )
    else:
        sql.execute(
            "update orders set status = %s, at = to_timestamp(%s) where id = %s",
            (step.status, at, step.order),
        )
