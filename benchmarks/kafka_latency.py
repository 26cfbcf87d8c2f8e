"""How long a record takes from Kafka through keyed state to a read-committed consumer."""

from __future__ import annotations

from statistics import median

from bar import Data, Row, Section, quantile, summary, table
from job_process import MeasurementError, run_ours
from kafka_peer_runs import flink_paced
from kafka_topics import broker, create

TITLE = "Kafka to Kafka, exactly once: latency"
BARS_MS = (150, 300)


def measure(quick: bool) -> Data:
    seconds = 5 if quick else 35
    with broker() as servers:
        for topic in ("in", "out"):
            create(servers, topic, 2)
        times = ("--seconds", seconds, "--warm-up", 5 if quick else 30)
        ours = run_ours("kafka_paced.py", servers, "in", "out", *times)
        return {**ours, "seconds": seconds, **_flink(servers, times)}


def _flink(servers: str, times: tuple[object, ...]) -> Data:
    """The same load for PyFlink: exactly once, a checkpoint every 100 ms."""
    for topic in ("peer-in", "peer-out"):
        create(servers, topic, 2)
    try:
        peer = flink_paced(servers, "peer-in", "peer-out", "thread", *times)
    except MeasurementError as error:
        return {"flink": None, "skipped": str(error)}
    return {"flink": peer, "skipped": None}


def section(data: Data) -> Section:
    latencies = data["latency_ms"]
    p50, p99 = median(latencies), quantile(latencies, 0.99)
    row = Row(
        "Kafka to Kafka at 1,000 records/s, p50 / p99",
        "150 / 300 ms",
        f"{p50:.0f} / {p99:.0f} ms",
        p50 <= BARS_MS[0] and p99 <= BARS_MS[1] and not data["missing"],
    )
    text = (
        f"{len(latencies):,} records in {data['seconds']} s after a warm-up, from when each was "
        "due to be sent to when a read-committed consumer had its result: `key_by`, a keyed "
        "process function, a checkpoint in every epoch, and a transaction after it. Broker, load "
        "and job share two cores. Epochs: " + summary(data["epoch_ms"]) + "."
    )
    lines = [["millrace", *_figures(latencies)]]
    if (peer := data["flink"]) is not None:
        name = f"PyFlink, {peer['mode']} mode, checkpoint every 100 ms"
        lines.append([name, *_figures(peer["latency_ms"])])
        text += f" Of PyFlink's results {peer['missing']} were missing at the end."
    else:
        text += f" Not compared with PyFlink: {data['skipped']}."
    return Section([row], [text, table(["ms", "p50", "p90", "p99", "worst"], lines)])


def _figures(latencies: list[float]) -> list[str]:
    if not latencies:
        return ["none"] * 4
    return [f"{quantile(latencies, q):.0f}" for q in (0.5, 0.9, 0.99, 1.0)]
