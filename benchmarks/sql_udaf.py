"""Aggregate functions of Python over windows of statements, against PyFlink's."""

from __future__ import annotations

import json

from bar import Data, Row, Section
from engines import PEERS
from job_process import run, run_ours
from peers_python import peer_python

TITLE = "Aggregate functions of Python in SQL"
BAR = 3.0
SIZES = {"general": 2_000_000, "pandas": 2_000_000, "arrow": 2_000_000}
PEER_SIZES = {"process general": 50_000, "process pandas": 400_000}
SMALL = 0.1
"""The first run has this share of the rows, so that start-up cancels out."""
TIMEOUT = 300.0


def measure(quick: bool) -> Data:
    sizes, peer_sizes = _runs(SIZES, quick), _runs(PEER_SIZES, quick)
    seconds = run_ours("udaf_queries.py", json.dumps(sizes), timeout=TIMEOUT)
    for mode, runs in peer_sizes.items():
        peer = [peer_python("pyflink"), PEERS / "udaf_peer.py", json.dumps({mode: runs})]
        seconds |= run(peer, timeout=TIMEOUT)
    return {"sizes": {**sizes, **peer_sizes}, "seconds": seconds}


def _runs(sizes: dict[str, int], quick: bool) -> dict[str, list[int]]:
    share = 20 if quick else 1
    return {name: [int(rows * SMALL) // share, rows // share] for name, rows in sizes.items()}


def section(data: Data) -> Section:
    rates = {}
    for name, (few, many) in data["sizes"].items():
        small, large = data["seconds"][name]
        rates[name] = (many - few) / max(large - small, 1e-9)
    peers = {"general": "process general", "pandas": "process pandas", "arrow": "process pandas"}
    rows = [_row(name, rates[name], rates[peer]) for name, peer in peers.items()]
    shown = ", ".join(f"{name} {rate / 1e3:.0f}K rows/s" for name, rate in rates.items())
    text = (
        "`SELECT k, f(i) ... GROUP BY k` and tumbling windows of a minute, 100 keys, 600 rows a "
        "window and key; `f` is the greatest value less the least one. From datagen to blackhole "
        "on two subtasks; start-up taken off (a run with a tenth of the rows). PyFlink in process "
        f"mode, which is the one it has for these. {shown}. `arrow` is a type of ours, held to "
        "PyFlink's pandas."
    )
    return Section(rows, [text])


def _row(name: str, ours: float, peer: float) -> Row:
    ratio = ours / peer
    return Row(
        f"{name} aggregate function in SQL against PyFlink's",
        f"{BAR:.0f} times",
        f"{ratio:.1f} times ({ours / 1e3:.0f}K against {peer / 1e3:.0f}K rows/s)",
        ratio >= BAR,
    )
