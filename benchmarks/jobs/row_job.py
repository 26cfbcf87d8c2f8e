"""One of the row jobs of a work tree of this repository: its time, and all its processor time.

    python row_job.py TREE WORKLOAD N --checkpoint-dir DIR [--executor NAME]

With ``--executor`` it runs on that executor, with a checkpoint each second; otherwise on that of
epochs, with one in every epoch. The job runs twice in one Spark application; only the second run
counts, so that neither the start of the JVM and the workers nor the first touch of code is
measured. Prints one JSON line.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from cpu_seconds import cpu_seconds


def run_once(workload: str, n: int, checkpoint_dir: str, executor: str | None) -> dict[str, float]:
    """Run a job; its wall time and the processor time of this process and all below it."""
    from workload import WORKLOADS, environment, timed

    from millrace.common import Configuration

    build, _, records_per_number = WORKLOADS[workload]
    env = environment(checkpoint_dir)
    if executor is not None:
        options = {"millrace.executor": executor, "execution.checkpointing.interval": "1 s"}
        env.configure(Configuration(options))
    before = cpu_seconds()
    report = timed(env, build(env, n))
    spent = cpu_seconds()
    spent.subtract(before)
    return {
        "seconds": report["seconds"],
        "epochs": report["epochs"],
        "records": n * records_per_number,
        "cpu": sum(spent.values()),
        **spent,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tree", type=Path)
    parser.add_argument("workload")
    parser.add_argument("n", type=int)
    parser.add_argument("--checkpoint-dir", type=Path, required=True)
    parser.add_argument("--executor")
    args = parser.parse_args()
    # the tree's own package and its own form of the job: names have moved since
    sys.path[:0] = [str(args.tree / "src"), str(args.tree / "benchmarks" / "jobs")]
    run_once(args.workload, args.n // 4, str(args.checkpoint_dir / "warm-up"), args.executor)
    measured = str(args.checkpoint_dir / "measured")
    print(json.dumps(run_once(args.workload, args.n, measured, args.executor)))


if __name__ == "__main__":
    main()
