"""What the REST API bears while a job runs, and what the job feels of it."""

from __future__ import annotations

import sys
import time
from statistics import median

from bar import Data, Row, Section, quantile, table
from bench_server import RunningServer, bench_server
from job_process import JOBS, run

TITLE = "REST API under load"
RATE, P99_MS, LOST = 200, 100, 0.05
PACED = 100_000
"""Records per second of the job that does not take all of the machine."""


def measure(quick: bool) -> Data:
    seconds = 5 if quick else 60
    runs = {}
    for name, arguments in (("unlimited", ()), ("paced", (PACED,))):
        with bench_server() as server:
            job = server.submit(JOBS / "endless_count.py", *arguments)
            server.await_epoch(job, 20)
            time.sleep(3 if quick else 20)
            runs[name] = _run(server, job, seconds)
    return {"runs": runs, "seconds": seconds}


def _run(server: RunningServer, job: str, seconds: int) -> Data:
    """The job's rate before, during and after the requests."""
    before = _rate(server, job, seconds / 2)
    began, then = _records(server, job), time.monotonic()
    load = (sys.executable, JOBS / "rest_requests.py", server.url, job)
    asked = run([*load, "--rate", RATE, "--seconds", seconds])
    during = (_records(server, job) - began) / (time.monotonic() - then)
    return {**asked, "during": during, "bare": [before, _rate(server, job, seconds / 2)]}


def _rate(server: RunningServer, job: str, seconds: float) -> float:
    began, then = _records(server, job), time.monotonic()
    time.sleep(seconds)
    return (_records(server, job) - began) / (time.monotonic() - then)


def _records(server: RunningServer, job: str) -> int:
    return int(server.get(f"/jobs/{job}")["records"])


def section(data: Data) -> Section:
    rows, lines, errors = [], [], 0
    for name, of in data["runs"].items():
        times = of["answer_ms"]
        p99 = quantile(times, 0.99)
        bare = sum(of["bare"]) / len(of["bare"])
        lost = 1 - of["during"] / bare
        errors += len(of["errors"])
        rows.append(
            Row(
                f"{RATE} REST requests/s for {data['seconds']} s, {name} job: errors, p99, "
                "rate lost",
                f"none, {P99_MS} ms, {LOST:.0%}",
                f"{len(of['errors'])}, {p99:.1f} ms, {lost:.1%}",
                not of["errors"] and p99 < P99_MS and lost < LOST,
            )
        )
        figures = [f"{median(times):.1f}", f"{p99:.1f}", f"{max(times):.1f}"]
        lines.append([name, *figures, f"{bare:,.0f}/s", f"{of['during']:,.0f}/s"])
    text = (
        "Ten routes that the web UI asks for, in turn over eight connections, timed from when each "
        "request was due. The job counts records of 1,000 keys on Spark, with all of the two cores "
        f"(unlimited), or {PACED:,} records/s (paced); the server and what sends the requests have "
        "the same two cores. Its rate without requests is the mean of before and after."
    )
    header = ["job", "p50 ms", "p99 ms", "worst ms", "records without", "with requests"]
    return Section(rows, [text, table(header, lines)])
