"""Prices that follow demand: many riders in random order, with failures."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from function_pipeline import FAULTS, Sent, told

from millrace.testing import Faults

pytest.importorskip("statefun")
import surge

from statefun import StatefulFunctions, message_builder

ZONES = list(surge.NEIGHBOURS)


def later() -> StatefulFunctions:
    """Function that tells the rider of its id of an event, an hour later."""
    functions = StatefulFunctions()

    @functions.bind("surge/later")
    def send(context: Any, message: Any) -> None:
        event = message.as_type(surge.EVENT)
        told = message_builder(
            "surge/rider", context.address.id, value=event, value_type=surge.EVENT
        )
        context.send_after(timedelta(hours=1), told)

    return functions


def written_by(sent: list[Sent], faults: Faults) -> dict[str, list[str]]:
    provided = {"surge/*": surge.functions, "surge/later": later()}
    return told(provided, "surge", sent, faults)


def afternoon(seed: int) -> list[Sent]:
    """Drivers come, riders ask, and most of them accept."""
    dice = random.Random(seed)
    sent: list[Sent] = [("driver", f"d{n}", {"at": dice.choice(ZONES)}) for n in range(15)]
    for number in range(200):
        name = f"r{number % 80}"
        sent.append(("rider", name, {"ask": dice.choice(ZONES), "km": dice.randrange(1, 10)}))
        if dice.random() < 0.8:
            sent.append(("rider", f"r{max(number - 10, 0) % 80}", {"accept": True}))
    return sent


@pytest.mark.parametrize("faults", FAULTS)
def test_riders_pay_what_they_were_promised(faults: Faults) -> None:
    written = written_by(afternoon(3), faults)
    riders: dict[str, list[str]] = defaultdict(list)
    for line in written["riders"]:
        name, _, text = line.partition(": ")
        riders[name].append(text)
    paid: Counter[str] = Counter()
    for texts in riders.values():
        promised = ""
        for text in texts:
            if " comes, " in text:
                driver, _, price = text.partition(" comes, ")
                assert price in texts[: texts.index(text)], texts
                paid[driver] += round(float(price.split()[0]) * 100)
            elif text.endswith(" euros"):
                promised = text
        assert promised
    assert sum(paid.values()) > 0
    prices = {
        round((2 + 1.5 * km) * (1 + surge.STEP * step), 2)
        for km in range(1, 10)
        for step in range(9)
    }
    offered = {float(t.split()[0]) for texts in riders.values() for t in texts if t[0].isdigit()}
    assert offered <= prices
    check_drivers(written["drivers"], paid)


def check_drivers(lines: list[str], paid: Counter[str]) -> None:
    """No driver has two rides at once, and they have earned what the riders have paid."""
    drivers: dict[str, list[str]] = defaultdict(list)
    for line in lines:
        name, _, text = line.partition(": ")
        drivers[name].append(text)
    earned: Counter[str] = Counter()
    for name, texts in drivers.items():
        rides = [text for text in texts if text.startswith(("drives", "is there"))]
        assert len(rides) % 2 == 0
        for drives, there in list(pairwise(rides))[::2]:
            assert drives.startswith("drives")
            assert there.startswith(drives.replace("drives", "is there with"))
            earned[name] = round(float(there.rpartition(" ")[2]) * 100)
    assert earned == paid
    assert any("goes to" in line for line in lines)


def test_prices_go_down_when_riders_are_forgotten() -> None:
    ask = {"ask": "airport", "km": 4}
    sent: list[Sent] = [("rider", f"r{n}", ask) for n in range(6)]
    written = written_by([*sent, ("later", "r0", ask)], Faults())
    assert written["riders"][-1] == "r0: 10.00 euros"


def test_a_price_does_not_hold_for_ever() -> None:
    sent: list[Sent] = [("rider", "r", {"ask": "airport", "km": 4}), ("later", "r", {"accept": 1})]
    written = written_by(sent, Faults())
    assert written["riders"][-1] == "r: this price is no longer valid"
