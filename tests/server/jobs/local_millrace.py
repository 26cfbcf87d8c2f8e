"""The command ``millrace`` whose jobs run in its own process, without Spark: quick to start."""

from __future__ import annotations

import os
import sys

from millrace.cli import run
from millrace.cli.main import main
from millrace.datastream import execution_target
from millrace.engine.executor import Executor
from millrace.testing.local_executor import LocalExecutor
from millrace.testing.resident_tasks import local_resident_executor

EXECUTOR = "MILLRACE_LOCAL_EXECUTOR"
"""Environment variable with the value ``resident`` for jobs on resident tasks in threads."""


def without_spark() -> None:
    """Not when the module is imported: pytest looks for doctests in it, in every test run."""
    run._start_jvm = lambda settings, log_path: None
    execution_target.spark_target = lambda graph, configuration, name, width: (
        execution_target.local_target(executor())
    )


def executor() -> Executor:
    return local_resident_executor(2) if EXECUTOR in os.environ else LocalExecutor()


if __name__ == "__main__":
    without_spark()
    sys.exit(main())
