"""How long a record takes from Kafka through resident tasks to a read-committed consumer."""

from __future__ import annotations

from statistics import median
from typing import Any

from bar import Data, Row, Section, quantile, table
from job_process import MeasurementError, run_ours
from kafka_peer_runs import flink_paced
from kafka_topics import broker, create

TITLE = "Resident tasks: Kafka to Kafka"
AT_LEAST_ONCE, EXACTLY_ONCE = "at-least-once", "exactly-once"
COMMIT_MS = {AT_LEAST_ONCE: 1000, EXACTLY_ONCE: 100}
BARS_MS = (10, 30)


def measure(quick: bool) -> Data:
    """Both jobs and PyFlink's by turns. The first round warms the broker up, whose virtual machine
    would make the job slow that comes first, and does not count."""
    rounds = 1 if quick else 3
    times = ("--seconds", 5 if quick else 25, "--warm-up", 5 if quick else 15)
    data: Data = {AT_LEAST_ONCE: [], EXACTLY_ONCE: [], "flink": [], "skipped": None}
    with broker() as servers:
        for number in range(rounds + 1):
            for guarantee, commit_ms in COMMIT_MS.items():
                topics = _topics(servers, f"{guarantee}-{number}")
                job: tuple[Any, ...] = ("--executor", "resident", "--guarantee", guarantee)
                job = (*job, "--commit-ms", commit_ms)
                data[guarantee].append(run_ours("kafka_paced.py", servers, *topics, *times, *job))
            if data["skipped"] is None:
                try:
                    topics = _topics(servers, f"peer-{number}")
                    data["flink"].append(flink_paced(servers, *topics, "thread", *times))
                except MeasurementError as error:
                    data["skipped"] = str(error)
    for name in (AT_LEAST_ONCE, EXACTLY_ONCE, "flink"):
        data[name] = _joined(data[name][1:])
    return data


def _topics(servers: str, name: str) -> tuple[str, str]:
    topics = f"in-{name}", f"out-{name}"
    for topic in topics:
        create(servers, topic, 2)
    return topics


def _joined(runs: list[Data]) -> Data | None:
    """One run that has the latencies of all; None if there was none."""
    if not runs:
        return None
    latencies = [latency for run in runs for latency in run["latency_ms"]]
    return {"latency_ms": latencies, "missing": sum(run["missing"] for run in runs)}


def section(data: Data) -> Section:
    """The two bars: a fixed one without transactions, and PyFlink's figures with them."""
    p50, p99 = _points(data[AT_LEAST_ONCE])
    reached = p50 <= BARS_MS[0] and p99 <= BARS_MS[1] and not data[AT_LEAST_ONCE]["missing"]
    name, required = "Kafka to Kafka at 1,000 records/s, at least once", "10 / 30 ms"
    rows = [Row(f"{name}, p50 / p99", required, f"{p50:.1f} / {p99:.1f} ms", reached)]
    lines = [["millrace, at least once", *_figures(data[AT_LEAST_ONCE])]]
    lines.append(["millrace, exactly once, commit each 100 ms", *_figures(data[EXACTLY_ONCE])])
    if (peer := data["flink"]) is not None:
        own, other = _points(data[EXACTLY_ONCE]), _points(peer)
        below = all(a < b for a, b in zip(own, other, strict=True))
        reached = below and not data[EXACTLY_ONCE]["missing"]
        bound = f"PyFlink's: {other[0]:.0f} / {other[1]:.0f} ms"
        measured = f"{own[0]:.0f} / {own[1]:.0f} ms"
        rows.append(Row("The same, exactly once, p50 / p99", bound, measured, reached))
        lines.append(
            ["PyFlink, thread mode, exactly once, checkpoint each 100 ms", *_figures(peer)]
        )
    text = (
        "From when a record was due to be sent until a read-committed consumer had its result: "
        "`key_by` and a keyed process function over 1,000 keys, parallelism 2. Broker, load and "
        "job share the cores. The jobs take turns, three times after a round that warms up the "
        "broker."
    )
    if data["skipped"]:
        text += f" Not compared with PyFlink: {data['skipped']}."
    return Section(rows, [text, table(["ms", "p50", "p90", "p99", "worst"], lines)])


def _points(run: Data) -> tuple[float, float]:
    latencies = run["latency_ms"] or [float("inf")]
    return median(latencies), quantile(latencies, 0.99)


def _figures(run: Data) -> list[str]:
    latencies = run["latency_ms"] or [float("inf")]
    return [f"{quantile(latencies, q):.1f}" for q in (0.5, 0.9, 0.99, 1.0)]
