"""What a server with many jobs needs, and how soon each of them answers."""

from __future__ import annotations

import os
import time
from pathlib import Path
from statistics import median

from bar import Data, Row, Section, quantile
from bench_server import WITHOUT_SPARK, RunningServer, await_that, bench_server
from job_process import JOBS as PROGRAMS

TITLE = "Many jobs on one server"
JOBS, MEMORY_MIB, ANSWER_S = 20, 300, 1.0
RATE, INTERVAL = 100, "1 s"


def measure(quick: bool) -> Data:
    count = 3 if quick else JOBS
    with bench_server(WITHOUT_SPARK) as server:
        program = PROGRAMS / "endless_count.py"
        jobs = [server.submit(program, RATE, INTERVAL) for _ in range(count)]
        for job in jobs:
            server.await_epoch(job, 10)
        time.sleep(2 if quick else 30)
        return {
            "jobs": count,
            "details_s": [_timed(server, f"/jobs/{job}") for job in jobs],
            "savepoint_s": [_savepoint(server, job) for job in jobs],
            "memory_mib": _most_memory_mib(server.process.pid),
            "files": len(os.listdir(f"/proc/{server.process.pid}/fd")),
        }


def _timed(server: RunningServer, path: str) -> float:
    began = time.perf_counter()
    server.get(path)
    return time.perf_counter() - began


def _savepoint(server: RunningServer, job: str) -> float:
    """Seconds until a job has made the savepoint that it was asked for."""
    began = time.perf_counter()
    asked = {"target-directory": str(server.directory / "savepoints"), "cancel-job": False}
    trigger = server.post(f"/jobs/{job}/savepoints", json=asked)["request-id"]
    path = f"/jobs/{job}/savepoints/{trigger}"
    await_that(lambda: server.get(path)["status"]["id"] == "COMPLETED", f"the savepoint of {job}")
    assert "location" in server.get(path)["operation"]
    return time.perf_counter() - began


def _most_memory_mib(pid: int) -> float:
    """The most memory that a process has had."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    [peak] = [line for line in lines if line.startswith("VmHWM:")]
    return int(peak.split()[1]) / 1024


def section(data: Data) -> Section:
    worst = max(data["savepoint_s"])
    rows = [
        Row(
            f"memory of a server with {data['jobs']} jobs",
            f"under {MEMORY_MIB} MiB",
            f"{data['memory_mib']:.0f} MiB",
            data["memory_mib"] < MEMORY_MIB,
        ),
        Row(
            f"{data['jobs']} jobs on one server: a savepoint that was asked for, slowest job",
            f"under {ANSWER_S:.0f} s",
            f"{worst:.2f} s",
            worst < ANSWER_S,
        ),
    ]
    details = data["details_s"]
    text = (
        f"The jobs run without Spark, in a process each, with {RATE} records/s, ten epochs/s and a "
        f"checkpoint every {INTERVAL}; all share two cores. The memory is the server's highest "
        "resident set, without the jobs' processes; it "
        f"has {data['files']} files and sockets open. Savepoint from request to location: median "
        f"{median(data['savepoint_s']):.2f} s. Details of a job: median "
        f"{median(details) * 1000:.0f} ms, p99 {quantile(details, 0.99) * 1000:.0f} ms."
    )
    return Section(rows, [text])
