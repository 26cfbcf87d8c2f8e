"""Runs PyFlink's side of the Kafka measurements, on the broker of ours and in the same run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from bar import Data
from engines import LEAST_DIFFERENCE, PEERS
from job_process import JOBS, LOGS, MeasurementError, end_group, our_environment, run
from peers_python import peer_python

CONNECTOR = "org.apache.flink:flink-sql-connector-kafka:4.0.1-2.0"
_PEER = PEERS / "kafka_peer.py"


def connector_jar() -> Path:
    """Flink's connector, from Maven Central. Raises MeasurementError where it cannot be had."""
    default = Path.home() / ".cache" / "millrace-bench"
    directory = Path(os.environ.get("MILLRACE_BENCH_HOME", default)) / "jars"
    _, name, version = CONNECTOR.split(":")
    jar = directory / f"{name}-{version}.jar"
    if not jar.exists():
        if (maven := shutil.which("mvn")) is None:
            raise MeasurementError("Flink's Kafka connector needs mvn to be fetched")
        goal = ["dependency:copy", f"-Dartifact={CONNECTOR}", f"-DoutputDirectory={directory}"]
        done = subprocess.run([maven, "-q", "-B", *goal], capture_output=True, check=False)
        if done.returncode != 0:
            raise MeasurementError("Flink's Kafka connector cannot be fetched from Maven Central")
    return jar


def flink_reading(servers: str, topic: str, mode: str, records: int) -> Data:
    """How fast PyFlink reads: the difference of two sizes, since a job takes its time to start;
    None if noise hides it."""
    python, jar = peer_python("pyflink"), connector_jar()
    arguments = [python, _PEER, "read", jar, servers, topic, mode]
    small, large = (run([*arguments, size]) for size in (records // 4, records))
    seconds = large["seconds"] - small["seconds"]
    clear = seconds > LEAST_DIFFERENCE * small["seconds"]
    rate = (large["records"] - small["records"]) / seconds if clear else None
    return {"mode": mode, "rate": rate, "seconds": [small["seconds"], large["seconds"]]}


def flink_paced(servers: str, source: str, sink: str, mode: str, *times: object) -> Data:
    """Latencies of PyFlink's exactly-once sink under the same load."""
    python, jar = peer_python("pyflink"), connector_jar()
    LOGS.mkdir(parents=True, exist_ok=True)
    command = [python, _PEER, "paced", jar, servers, source, sink, mode]
    with (LOGS / "kafka_peer_paced.log").open("wb") as log:
        peer = subprocess.Popen(
            list(map(str, command)), stdout=subprocess.PIPE, stderr=log, start_new_session=True
        )
        try:
            assert peer.stdout is not None
            if b"running" not in peer.stdout.readline():
                raise MeasurementError("PyFlink's job did not start (see kafka_peer_paced.log)")
            load = [sys.executable, JOBS / "kafka_load.py", servers, source, sink, *times]
            return {"mode": mode, **run(load, our_environment())}
        finally:
            end_group(peer)
