"""How long a standby takes to lead when the leader is killed, and whether the jobs feel it."""

from __future__ import annotations

import signal
import sys
import tempfile
from itertools import cycle
from pathlib import Path
from statistics import median
from typing import Any

from bar import Data, Row, Section, table
from bench_server import TESTS
from job_process import MeasurementError

TITLE = "High availability"
STANDBY_BESIDE = "a server, its standby on the same machine"
STANDBY_ELSEWHERE = "a server, its standby on another machine"
WITH_ITS_JOBS = "a machine, with the jobs on it"
KILLS, JOBS, TAKEOVER_S = 20, 3, 10.0


def measure(quick: bool) -> Data:
    """Kill the leader again and again, with the default options of leases."""
    sys.path[:0] = [str(TESTS), str(TESTS.parent / "services")]
    from postgresql import PostgreSQL
    from server_group import ServerGroup
    from service import ServiceUnavailableError

    try:
        PostgreSQL.install()
    except ServiceUnavailableError as error:
        raise MeasurementError(str(error)) from None
    with tempfile.TemporaryDirectory(prefix="millrace-bench-") as scratch:
        directory = Path(scratch)
        database = PostgreSQL(directory / "postgresql")
        group = ServerGroup(directory / "group")
        try:
            database.start()
            url = database.url(database.create_database())
            registry = url.replace("postgresql:", "postgresql+psycopg:")
            return _killed(group, registry, 3 if quick else KILLS)
        finally:
            group.close()
            database.stop()


def _killed(group: Any, registry: str, kills: int) -> Data:
    """Kills of a process whose standby is on its machine or another, and of a whole machine."""
    from server_group import OTHER_MACHINE, await_that

    places = {STANDBY_BESIDE: (), STANDBY_ELSEWHERE: OTHER_MACHINE, WITH_ITS_JOBS: ()}
    leader = group.start(registry, "postgresql")
    await_that(leader.leads, "the first election")
    jobs = [group.count(leader, f"out-{number}") for number in range(JOBS)]
    takeover_s: dict[str, list[float]] = {death: [] for death in places}
    for _, (death, place) in zip(range(kills), cycle(places.items()), strict=False):
        standby = group.start(registry, "postgresql", place)
        for job in jobs:
            job.await_progress()
        leader.signal(signal.SIGKILL)
        takeover_s[death].append(round(await_that(standby.leads, "the takeover"), 3))
        leader = standby
    for job in jobs:
        job.await_progress()
    wrong = [_wrong(job, leader) for job in jobs]
    records = sum(len(job.written()) for job in jobs)
    return {"takeover_s": takeover_s, "wrong": wrong, "records": records}


def _wrong(job: Any, leader: Any) -> str:
    """What is wrong with the output of a job; empty: nothing."""
    try:
        job.stop(leader)
        job.require_exactly_once()
    except AssertionError as error:
        return str(error)
    return ""


def section(data: Data) -> Section:
    times = [seconds for of in data["takeover_s"].values() for seconds in of]
    wrong = [text for text in data["wrong"] if text]
    row = Row(
        f"leader killed {len(times)} times, {len(data['wrong'])} jobs: takeover, output",
        f"under {TAKEOVER_S:.0f} s, exactly once",
        f"worst {max(times):.1f} s, " + ("wrong" if wrong else "exactly once"),
        max(times) < TAKEOVER_S and not wrong,
    )
    lines = [
        [dead, len(of), f"{median(of):.1f} s", f"{max(of):.1f} s"]
        for dead, of in data["takeover_s"].items()
        if of
    ]
    text = (
        "`kill -9` of the leader, until its standby says that it leads; the lease is in "
        "PostgreSQL, its options are as they are by default. A server that has died is seen by "
        "others of its machine, which adopt its jobs. From another machine (here process ids of "
        "its own) nothing is seen, so the lease has to end and the jobs go on from their "
        "checkpoints. "
        f"The jobs wrote {data['records']:,} records. " + " ".join(wrong)
    )
    header = ["what died", "times", "median", "worst"]
    return Section([row], [text.strip(), table(header, lines)])
