"""How long an answer about queryable state takes while the job runs."""

from __future__ import annotations

from statistics import median

from bar import Data, Row, Section, quantile
from job_process import run_ours

TITLE = "Queryable state"
BAR_MS = 5


def measure(quick: bool) -> Data:
    keys, seconds = (10_000, 4) if quick else (1_000_000, 30)
    return run_ours("queried.py", "--keys", keys, "--seconds", seconds)


def section(data: Data) -> Section:
    times = data["answer_ms"]
    p50, p99 = median(times), quantile(times, 0.99)
    row = Row(
        "look-up of queryable state on loopback, p50 / p99",
        f"p50 under {BAR_MS} ms",
        f"{p50:.2f} / {p99:.2f} ms",
        p50 < BAR_MS,
    )
    text = (
        f"{len(times):,} look-ups of keys at random among {data['keys']:,}, from another process "
        "over one connection, while the job counts 1,000 records a second and makes a checkpoint "
        f"in every epoch ({data['checkpoints']} of them meanwhile). Worst: {max(times):.1f} ms."
    )
    return Section([row], [text])
