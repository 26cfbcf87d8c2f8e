"""Python workers that cannot start: with another Python than the program's, or without packages.

No repetition cures that. Functions of users never come so far in such a worker; what they raise is
in the answers of subtasks.
"""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark import SparkContext

__all__ = ["CURE", "interpreter_for", "start_failure"]

_VERSIONS = re.compile(r"Python in worker has different version: (.+?) than that in driver: (.+?),")
_UNREAD = re.compile(r"in read_command\n(?:  .*\n)*(\w+(?:\.\w+)*Error: .*)")
CURE = (
    "set the environment variable PYSPARK_PYTHON to an interpreter that every machine has with the "
    "same packages (os.environ['PYSPARK_PYTHON'] = sys.executable on one machine), before the "
    "SparkSession is made"
)


def start_failure(message: str) -> str | None:
    """Reason why workers cannot start, from Spark's message, with the remedy; None for other
    messages.

    Example:
        >>> text = "Python in worker has different version: 3.12 than that in driver: 3.11, PySpark"
        >>> start_failure(text)[:59]
        "the workers' Python is 3.12, that of the program is 3.11: s"
    """
    versions = _VERSIONS.search(message)
    if versions is not None:
        worker, driver = versions.groups()
        return f"the workers' Python is {worker}, that of the program is {driver}: {CURE}"
    unread = _UNREAD.search(message)
    if unread is not None:
        return f"the workers' Python cannot run Millrace ({unread[1].strip()}): {CURE}"
    return None


def interpreter_for(context: SparkContext) -> str | None:
    """Interpreter for the workers if the user has not chosen one, because PySpark takes the first
    `python3` on the path. None if the user has chosen one, or if the workers are on other machines.
    """
    chosen = "PYSPARK_PYTHON" in os.environ or context.pythonExec != "python3"
    return None if chosen or not str(context.master).startswith("local") else sys.executable
