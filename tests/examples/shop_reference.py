"""What the shop must find in a day's steps, computed plainly."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from order_steps import PATIENCE, WINDOW, Step

HOUR = PATIENCE.to_milliseconds()


def revenues(steps: Sequence[Step]) -> dict[tuple[str, int], tuple[int, int]]:
    """Orders and cents by product and window."""
    found: dict[tuple[str, int], tuple[int, int]] = {}
    size = WINDOW.to_milliseconds()
    for step in steps:
        if step.status == "paid":
            place = step.product, step.at - step.at % size
            orders, cents = found.get(place, (0, 0))
            found[place] = orders + 1, cents + step.cents
    return found


def alerts(steps: Sequence[Step]) -> Counter[tuple[str, str, str]]:
    """Kind, customer and orders."""
    found: Counter[tuple[str, str, str]] = Counter()
    cancelled = defaultdict(list)
    for step in steps:
        if step.status == "cancelled":
            cancelled[step.customer].append(step)
    for customer, own in cancelled.items():
        recent: list[Step] = []
        for step in own:
            recent = [*(s for s in recent if step.at - s.at < HOUR), step]
            if len(recent) == 3:
                found["cancels a lot", customer, " ".join(str(s.order) for s in recent)] += 1
                recent = []
    shipped = {step.order: step.at for step in steps if step.status in ("shipped", "cancelled")}
    for step in steps:
        if step.status == "paid" and shipped.get(step.order, step.at + HOUR) - step.at >= HOUR:
            found["not shipped", step.customer, str(step.order)] += 1
    return found


def statuses(steps: Sequence[Step]) -> dict[int, str]:
    """Where each order is in the end."""
    return {step.order: step.status for step in steps}
