"""Scalar functions of Python in statements, against the better mode of PyFlink."""

from __future__ import annotations

import json

from bar import Data, Row, Section
from engines import PEERS
from job_process import run, run_ours
from peers_python import peer_python

TITLE = "Functions of Python in SQL"
BAR = 3.0
SIZES = {"general": 6_000_000, "pandas": 20_000_000, "arrow": 20_000_000}
PEER_SIZES = {
    "process general": 1_500_000,
    "thread general": 1_500_000,
    "process pandas": 4_000_000,
}
SMALL = 0.1
"""The first run has this share of the rows, so that start-up cancels out."""
TIMEOUT = 300.0


def measure(quick: bool) -> Data:
    sizes, peer_sizes = _runs(SIZES, quick), _runs(PEER_SIZES, quick)
    seconds = run_ours("udf_queries.py", json.dumps(sizes), timeout=TIMEOUT)
    for mode, runs in peer_sizes.items():  # the modes do not get on in one process
        peer = [peer_python("pyflink"), PEERS / "udf_peer.py", json.dumps({mode: runs})]
        seconds |= run(peer, timeout=TIMEOUT)
    return {"sizes": {**sizes, **peer_sizes}, "seconds": seconds}


def _runs(sizes: dict[str, int], quick: bool) -> dict[str, list[int]]:
    share = 50 if quick else 1
    return {name: [int(rows * SMALL) // share, rows // share] for name, rows in sizes.items()}


def section(data: Data) -> Section:
    rates = {}
    for name, (few, many) in data["sizes"].items():
        small, large = data["seconds"][name]
        rates[name] = (many - few) / max(large - small, 1e-9)
    general = max(rates["process general"], rates["thread general"])
    pandas = rates["process pandas"]
    rows = [
        _row("general", rates["general"], general),
        _row("pandas", rates["pandas"], pandas),
        _row("arrow", rates["arrow"], max(general, pandas)),
    ]
    shown = ", ".join(f"{name} {rate / 1e6:.2f}M rows/s" for name, rate in rates.items())
    text = (
        "`SELECT f(i, j)` of a function that multiplies and adds two BIGINTs, from datagen to "
        "blackhole on two subtasks; start-up taken off (a run with a tenth of the rows). PyFlink "
        f"in its process and thread modes. {shown}. `arrow` is a type of ours, held to the "
        "better of PyFlink's types."
    )
    return Section(rows, [text])


def _row(name: str, ours: float, peer: float) -> Row:
    ratio = ours / peer
    return Row(
        f"{name} function in SQL against PyFlink's better mode",
        f"{BAR:.0f} times",
        f"{ratio:.1f} times ({ours / 1e6:.2f}M against {peer / 1e6:.2f}M rows/s)",
        ratio >= BAR,
    )
