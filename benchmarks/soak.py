"""Whether memory and open files of a server and its jobs stay as they are over many epochs."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from statistics import median

from bar import Data, Row, Section, table
from bench_server import BenchServer, bench_server
from job_process import JOBS

TITLE = "Soak"
EPOCHS, COUNT, RATE = 50_000, 2, 1_000
FLAT = 0.05
LONGEST_S = 5_400


def measure(quick: bool) -> Data:
    epochs = 400 if quick else EPOCHS
    with bench_server() as server:
        jobs = [server.submit(JOBS / "endless_count.py", RATE) for _ in range(COUNT)]
        for job in jobs:
            server.await_epoch(job, 20)
        began = time.monotonic()
        samples: list[Data] = []
        while not samples or samples[-1]["epochs"] < epochs:
            samples.append(_sample(server, jobs))
            if time.monotonic() - began > LONGEST_S:
                break
            time.sleep(0.5 if quick else 10)
        return {"samples": samples, "jobs": COUNT, "seconds": time.monotonic() - began}


def _sample(server: BenchServer, jobs: list[str]) -> Data:
    """Epochs of all jobs so far, and memory in MiB and open files of the processes: apart those of
    Python and the virtual machines, whose heap may grow to its limit."""
    pids = {pid for job in jobs for pid in _tree(server.process_of(job))}
    machines = set(filter(_is_java, pids))
    return {
        "epochs": sum(int(server.get(f"/jobs/{job}")["epoch"]) for job in jobs),
        "server": _usage({server.process.pid}),
        "drivers and workers": _usage(pids - machines),
        "virtual machines": _usage(machines),
    }


def _is_java(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip() == "java"
    return False


def _tree(pid: int) -> Iterator[int]:
    """A process and all that came from it."""
    yield pid
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from _tree(int(child))


def _usage(pids: set[int]) -> dict[str, float]:
    kib = files = 0
    for pid in pids:
        with suppress(OSError):
            # what processes share counts once: workers are forks of one another
            for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    kib += int(line.split()[1])
            files += len(os.listdir(f"/proc/{pid}/fd"))
    return {"mib": round(kib / 1024, 1), "files": files}


def section(data: Data) -> Section:
    samples = data["samples"]
    size = max(1, len(samples) // 5)
    early, late = samples[size : 2 * size] or samples, samples[-size:]
    rows, lines = [], []
    for of in ("server", "drivers and workers", "virtual machines"):
        mib = [median(sample[of]["mib"] for sample in part) for part in (early, late)]
        files = [median(sample[of]["files"] for sample in part) for part in (early, late)]
        grown = mib[1] / mib[0] - 1
        rows.append(
            Row(
                f"{data['jobs']} jobs, {samples[-1]['epochs']:,} epochs: memory and files, {of}",
                f"{EPOCHS:,} epochs, memory flat ({FLAT:.0%}), no more files",
                f"{grown:+.1%}, {files[1] - files[0]:+.0f} files",
                grown < FLAT and files[1] <= files[0] and samples[-1]["epochs"] >= EPOCHS,
            )
        )
        figures = [f"{mib[0]:,.0f} MiB", f"{mib[1]:,.0f} MiB", f"{files[0]:.0f}", f"{files[1]:.0f}"]
        lines.append([of, *figures])
    text = (
        f"{data['jobs']} jobs on Spark at a server for {data['seconds'] / 60:.0f} min, 1,000 "
        "records/s each, a checkpoint in every epoch. Proportional set size and open files of the "
        "processes: medians of the second and of the last "
        "fifth of the time."
    )
    header = ["", "memory, early", "late", "files, early", "late"]
    return Section(rows, [text, table(header, lines)])
