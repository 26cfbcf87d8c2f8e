"""Follows the state of another job and writes what changed to files, without Spark.

    python follower_driver.py FOLLOWED DIRECTORY

Dies where ``MILLRACE_CRASH`` says, else ends when the other job has finished.
"""

from __future__ import annotations

import sys

from fault_pipeline import sink

from millrace.connectors.rolling_policy import RollingPolicy
from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import run_local


def main() -> None:
    followed, directory = sys.argv[1:]
    with run_local(workers=2, seed=1, checkpoint_dir=f"{directory}/checkpoints", resume=True):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(2).enable_checkpointing(0)
        changes = env.state_changes(followed, "totals", "total", "MiniJob")
        rows = changes.map(
            lambda row: [row.checkpoint, row.get_row_kind().value, row.key, row.value]
        )
        rows.sink_to(sink(directory, "changes", RollingPolicy.on_checkpoint_rolling_policy()))
        env.execute("follower")


if __name__ == "__main__":
    main()
