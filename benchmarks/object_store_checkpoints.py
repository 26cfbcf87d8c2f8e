"""A checkpoint every epoch to a real S3 server: requests per checkpoint, latency of records."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from bar import Data, Row, Section, quantile, table
from job_process import BENCHMARKS, JOBS, MeasurementError, our_environment, run

sys.path.insert(0, str(BENCHMARKS.parent / "tests" / "services"))

from counting_proxy import CountingProxy
from seaweedfs import SeaweedFS
from service import ServiceUnavailableError

TITLE = "Checkpoints in an object store"
REQUESTS, P99_MS = 5, 400
FAR_AWAY = 0.015
"""Seconds by which each request is held back in the second run."""


def measure(quick: bool) -> Data:
    with tempfile.TemporaryDirectory() as directory:
        try:
            with SeaweedFS(Path(directory)) as server:
                return {"near": _run(server, 0.0, quick), "far": _run(server, FAR_AWAY, quick)}
        except ServiceUnavailableError as error:
            raise MeasurementError(f"no {SeaweedFS.name}: {error}") from error


def _run(server: SeaweedFS, delay: float, quick: bool) -> dict[str, Any]:
    seconds, warm_up = (5, 4) if quick else (35, 10)
    with CountingProxy(server.port, delay) as proxy:
        environment = {
            **our_environment(),
            **server.environment,
            "AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{proxy.port}",
        }
        command = [
            sys.executable, JOBS / "paced.py", "--seconds", seconds, "--warm-up", warm_up,
            "--checkpoint-dir", f"s3://{server.bucket}/bench-{delay}",
        ]  # fmt: skip
        data = run(command, environment)
        return {**data, "requests": proxy.requests.total() / len(data["epoch_ms"])}


def section(data: Data) -> Section:
    near = data["near"]
    p99 = quantile(near["since_due_ms"], 0.99)
    row = Row(
        "checkpoint every epoch to an S3 server: requests per checkpoint; latency p99",
        f"{REQUESTS}; {P99_MS} ms",
        f"{near['requests']:.1f}; {p99:.0f} ms",
        near["requests"] <= REQUESTS and p99 <= P99_MS,
    )
    lines = [_figures("on loopback", near), _figures(f"{FAR_AWAY * 1000:.0f} ms away", data["far"])]
    text = (
        "1,000 records/s as in the bar of latency, with checkpoints in SeaweedFS. Requests are "
        "counted by a proxy, those of the job's start and end included; it holds each of them back "
        "in the second run, as a store does that is not on the same machine."
    )
    header = ["", "requests", "p50 ms", "p99 ms", "worst ms", "checkpoints"]
    return Section([row], [text, table(header, lines)])


def _figures(name: str, run_data: dict[str, Any]) -> list[Any]:
    due = run_data["since_due_ms"]
    figures = [median(due), quantile(due, 0.99), max(due)]
    shown = [f"{value:.0f}" for value in figures]
    return [name, f"{run_data['requests']:.1f}", *shown, len(run_data["epoch_ms"])]
