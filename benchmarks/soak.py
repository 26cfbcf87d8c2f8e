"""Whether memory and open files of a server and its jobs stay as they are over many epochs."""

from __future__ import annotations

import time
from contextlib import suppress
from statistics import median

import psutil
from bar import Data, Row, Section, table
from bench_server import RunningServer, bench_server
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


def _sample(server: RunningServer, jobs: list[str]) -> Data:
    """Epochs of all jobs so far, and memory in MiB and open files of the processes: apart those of
    Python and the virtual machines, whose heap may grow to its limit."""
    drivers = [psutil.Process(server.process_of(job)) for job in jobs]
    found = {each for driver in drivers for each in (driver, *driver.children(recursive=True))}
    machines = set(filter(_is_java, found))
    return {
        "epochs": sum(int(server.get(f"/jobs/{job}")["epoch"]) for job in jobs),
        "server": _usage({psutil.Process(server.process.pid)}),
        "drivers and workers": _usage(found - machines),
        "virtual machines": _usage(machines),
    }


def _is_java(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return bool(process.name() == "java")
    return False


def _usage(processes: set[psutil.Process]) -> dict[str, float]:
    size = files = 0
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            # what processes share counts once: workers are forks of one another
            size += process.memory_full_info().pss
            files += process.num_fds()
    return {"mib": round(size / (1 << 20), 1), "files": files}


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
