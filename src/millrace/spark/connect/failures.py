"""Reasons for the failure of a query on a Spark Connect server, in words."""

from __future__ import annotations

import re

from millrace.spark.worker_death import worker_death
from millrace.spark.worker_start import start_failure

__all__ = ["lasting_failure", "reason_of_failure"]

_NO_MILLRACE = re.compile(r"No module named '(millrace|msgspec|cloudpickle|pyarrow)\b")
_LONGEST = 900
"""Characters that are shown of a long message: its end has the cause."""


def lasting_failure(message: str, name: str) -> str | None:
    """Reason why workers can never run a job, however often it is tried. None for other messages.

    Args:
        name: the server, for messages.

    Example:
        >>> lasting_failure("ModuleNotFoundError: No module named 'millrace'", "sc://h:15002")[:65]
        'workers of the Spark Connect server sc://h:15002 do not have Mill'
    """
    if _NO_MILLRACE.search(message):
        return (
            f"workers of the Spark Connect server {name} do not have Millrace: install it, with "
            "the version of this program, into the Python of all workers"
        )
    return start_failure(message)


def reason_of_failure(error: Exception, name: str) -> str:
    """Reason why a query has failed.

    Args:
        name: the server, for messages.
    """
    message = str(error)
    lasting = lasting_failure(message, name)
    if lasting is not None:
        return lasting
    death = worker_death(message)
    if death is not None:
        return f"a Python worker died: {death.reason}"
    told = message.strip().split("\n\nJVM stacktrace")[0].split("\n\tat ")[0].rstrip()
    shown = told if len(told) <= _LONGEST else f"...\n{told[-_LONGEST:]}"
    return f"the Spark Connect server {name} says: {shown}"
