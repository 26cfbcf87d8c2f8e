"""The command ``millrace`` whose jobs run in its own process, without Spark: quick to start."""

from __future__ import annotations

import sys

from millrace.cli import run
from millrace.cli.main import main
from millrace.datastream import job_place
from millrace.testing.local_executor import LocalExecutor


def without_spark() -> None:
    """Not when the module is imported: pytest looks for doctests in it, in every test run."""
    run._start_jvm = lambda settings, log_path: None
    job_place.spark_place = lambda graph, configuration, name, width: job_place.place_of(
        LocalExecutor()
    )


if __name__ == "__main__":
    without_spark()
    sys.exit(main())
