"""The examples of Stateful Functions: many events in random order, with failures."""

from __future__ import annotations

import random
from collections import Counter
from datetime import timedelta
from itertools import pairwise
from math import dist
from typing import Any

import pytest
from function_pipeline import FAULTS, Sent, told

from millrace.testing import Faults

pytest.importorskip("statefun")


def auditor() -> Any:
    """Function that wants more of an article than there is, an hour later: the answer tells what is
    left."""
    from carts import EVENT

    from statefun import StatefulFunctions, message_builder

    functions = StatefulFunctions()

    @functions.bind("shop/auditor")
    def audit(context: Any, message: Any) -> None:
        wanted = {"add": context.address.id, "pieces": 1_000_000}
        asked = message_builder("shop/cart", "auditor", value=wanted, value_type=EVENT)
        context.send_after(timedelta(hours=1), asked)

    return functions


@pytest.mark.turns(5)
@pytest.mark.parametrize("faults", FAULTS)
def test_no_piece_is_lost_between_carts_and_stocks(faults: Faults) -> None:
    from carts import functions

    draw = random.Random(7)
    articles = {name: draw.randint(20, 60) for name in ("socks", "hats", "ties")}
    messages: list[Sent] = [("article", name, {"deliver": n}) for name, n in articles.items()]
    for _ in range(120):
        customer, article = f"c{draw.randint(1, 8)}", draw.choice(list(articles))
        messages.append(("cart", customer, {"add": article, "pieces": draw.randint(1, 5)}))
        if draw.random() < 0.1:
            messages.append(("cart", customer, {"pay": True}))
    messages += [("auditor", name, {}) for name in articles]
    written = told({"shop/*": functions, "shop/auditor": auditor()}, "shop", messages, faults)
    bought: Counter[str] = Counter()
    for receipt in written["receipts"]:
        for part in receipt.partition(" buys ")[2].split(", "):
            pieces, name = part.split(" ")
            bought[name] += int(pieces)
    left = Counter()
    for answer in written["answers"]:
        if answer.startswith("auditor cannot have them: "):
            _, pieces, name, *_ = answer.partition("them")[2].split(" ")
            left[name] = int(pieces)
    assert bought + left == Counter(articles)
    assert sum(bought.values()) > 0
    assert any("has forgotten the cart" in answer for answer in written["answers"])


@pytest.mark.turns(5)
@pytest.mark.parametrize("faults", FAULTS)
def test_every_ride_ends_and_no_driver_has_two(faults: Faults) -> None:
    from rides import functions

    draw = random.Random(5)

    def place() -> list[float]:
        return [draw.uniform(0, 4), draw.uniform(0, 4)]

    drivers: list[Sent] = [("driver", f"d{n}", {"at": place()}) for n in range(12)]
    orders: list[Sent] = [
        ("passenger", f"p{n % 50}", {"from": place(), "to": place()}) for n in range(100)
    ]
    written = told({"rides/*": functions}, "rides", [*drivers, *orders], faults)
    ends = Counter()
    for line in written["passengers"]:
        passenger, _, text = line.partition(": ")
        ends[passenger, "end"] += text.startswith(("arrived", "nobody"))
        ends[passenger, "come"] += " comes, " in text
        ends[passenger, "arrived"] += text.startswith("arrived")
    for n in range(50):
        assert ends[f"p{n}", "end"] == 2
        assert ends[f"p{n}", "come"] == ends[f"p{n}", "arrived"]
    fares = sorted(round(2 + 1.5 * dist(o[2]["from"], o[2]["to"]), 2) for o in orders)
    paid = [float(t.split()[2]) for t in written["passengers"] if "arrived" in t]
    assert len(paid) > 20
    assert not Counter(paid) - Counter(fares)
    for n in range(12):
        own = [line.partition(": ")[2] for line in written["drivers"] if line.startswith(f"d{n}:")]
        assert len(own) % 2 == 0
        for drives, arrives in list(pairwise(own))[::2]:
            assert drives.replace("drives", "is there with") == arrives
