"""Twelve riders want to leave the airport at once, where no driver is: ``python rush.py``.

Prints what they are asked to pay. Options are the ports of the ingress and of the egress.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

RIDERS = [f"r{number}" for number in range(1, 13)]
KM = 4
PATIENCE = 60.0
Sent = tuple[str, str, dict[str, Any]]
"""Function, id and event."""


def rush() -> list[Sent]:
    """What is sent to the functions."""
    return [("rider", name, {"ask": "airport", "km": KM}) for name in RIDERS]


def put(port: str, message: Sent) -> None:
    """Send one of them."""
    function, id, event = message
    headers = {"Content-Type": "application/vnd.surge/event"}
    url = f"http://localhost:{port}/surge/{function}/{id}"
    with urlopen(Request(url, json.dumps(event).encode(), headers, method="PUT")):
        pass


def told(port: str, number: int) -> Iterator[str]:
    """The next records that the riders are told."""
    deadline = time.monotonic() + PATIENCE
    while number and time.monotonic() < deadline:
        # there is nothing yet
        with suppress(URLError), urlopen(f"http://localhost:{port}/riders") as answer:
            yield answer.read().decode().strip()
            number -= 1
            continue
        time.sleep(0.05)


def main(ingress: str = "8090", egress: str = "8091") -> None:
    """Send everything, and print the prices."""
    for message in rush():
        put(ingress, message)
    prices = sorted(float(line.split()[1]) for line in told(egress, len(RIDERS)))
    print(*(f"{price:.2f}" for price in prices))


if __name__ == "__main__":
    main(*sys.argv[1:])
