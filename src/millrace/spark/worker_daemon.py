"""Daemon that forks the Python workers of a local Spark application.

It is PySpark's, but has loaded what every task needs, so that a worker is ready when it is forked:
each would otherwise load some 270 modules. None of them starts a thread, which the fork would not
copy; NumPy and Arrow, which do, are loaded by the workers. Spark starts the module by the setting
``spark.python.daemon.module``.
"""

from __future__ import annotations

import gc

import pyspark.worker  # noqa: F401
from pyspark.daemon import manager

import millrace.spark.resident.resident_task
import millrace.spark.task  # noqa: F401

if __name__ == "__main__":
    gc.freeze()  # no worker looks through these objects, which would copy their memory
    manager()
