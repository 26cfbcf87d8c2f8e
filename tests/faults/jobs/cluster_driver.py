"""A driver on a Spark cluster; prints a line of JSON after each epoch and one at the end.

Usage: ``cluster_driver.py DIRECTORY COUNT MASTER PAUSE_MS [KEY=VALUE ...]``.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import fault_pipeline as pipeline

from millrace.common import Configuration
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.job_launcher import JobLauncher
from millrace.engine.job_details import JobDetails
from millrace.spark import cluster_cores

SPLITS = 3


def tell(progress: JobDetails, finished: bool = False) -> None:
    line = {
        "epochs": progress.epochs,
        "records": progress.records,
        "cached": dict(progress.cached),
        "refused": progress.refused,
        "epoch_ms": round(progress.epoch_ms),
        "finished": finished,
    }
    print(json.dumps(line), flush=True)


@contextmanager
def patient_choice() -> Iterator[None]:
    """Context in which a job waits for all the executors that it has asked for."""
    before = cluster_cores.PATIENCE, cluster_cores.SETTLED
    cluster_cores.PATIENCE = cluster_cores.SETTLED = 200.0
    try:
        yield
    finally:
        cluster_cores.PATIENCE, cluster_cores.SETTLED = before


def main(directory: Path, count: int, master: str, pause_ms: int, *settings: str) -> None:
    logging.basicConfig(level=logging.INFO)
    logging.getLogger("py4j").setLevel(logging.WARNING)
    JobLauncher.install(JobLauncher(resume=True, listeners=[tell]))
    pairs = dict(setting.split("=", 1) for setting in settings)
    options = pipeline.small_epochs(directory / "checkpoints", records=60).to_dict()
    if pairs["millrace.executor"] == "auto":  # which takes these options as a wish for epochs
        options = {key: options[key] for key in options if not key.startswith("millrace.epoch.")}
        options["millrace.spark.tasks"] = "1"  # of two slots, one stays free
        options["spark.cores.max"] = "2"
    configuration = Configuration({**options, "spark.master": master, **pairs})
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    pipeline.build(env, str(directory / "out"), count, SPLITS, pause_ms=pause_ms)
    # the job chooses by the slots that are there, and on a busy machine executors come late
    with patient_choice() if pairs["millrace.executor"] == "auto" else nullcontext():
        client = env.build_client(pipeline.JOB_NAME)
    client.run()
    client.result()
    tell(client.progress(), finished=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4]), *sys.argv[5:])
