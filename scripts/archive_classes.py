"""Runs a small job so that the JVMs of the tests can start from an archive of Spark's classes.

Instant if there is one. The directory is that of `tests/conftest.py`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from pyspark import SparkContext

from millrace.datastream import StreamExecutionEnvironment
from millrace.spark.class_archive import SWITCH, archive_options

DIRECTORY = Path(__file__).resolve().parent.parent / ".pytest_cache" / "jvm"


def main() -> int:
    """The exit code."""
    os.environ[SWITCH] = str(DIRECTORY)
    if "ArchiveClassesAtExit" in archive_options():
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(2)
        numbers = env.from_collection(range(4)).key_by(lambda n: n % 2).reduce(max)
        with numbers.execute_and_collect() as results:
            assert len(list(results)) == 4
        SparkContext.getOrCreate().stop()
        gateway: Any = SparkContext._gateway
        gateway.proc.stdin.close()  # it ends, and writes the archive then
        gateway.proc.wait(600)
    return 0


if __name__ == "__main__":
    sys.exit(main())
