"""Graph streams in an application: how long alerts of rings in payments take."""

from __future__ import annotations

from statistics import median

from bar import Data, Row, Section, quantile
from job_process import run_ours

TITLE = "Alerts of rings in payments"
RINGS = 1_000
LONGEST_MS = 1_000


def measure(quick: bool) -> Data:
    return run_ours("ring_alerts.py", "--rings", RINGS // 4 if quick else RINGS)


def section(data: Data) -> Section:
    delays, found = data["delays"], data["found"]
    late = quantile(delays, 0.99)
    is_reached = late <= LONGEST_MS and found == data["rings"]
    row = Row("rings in payments: alerts, p99", f"{LONGEST_MS} ms", f"{late:.0f} ms", is_reached)
    text = (
        "The example `payments_rings` on resident tasks (`local[2]`), parallelism 2, a checkpoint "
        f"each second: first its 6,000 transfers, then {data['rings']:,} rings of three accounts, "
        "20 a second; the time from the transfers of a ring to the first row of its alert at a "
        f"sink: median {median(delays):.0f} ms, longest {max(delays):.0f} ms of the last "
        f"{len(delays):,}. {found:,} rings were found."
    )
    return Section([row], [text])
