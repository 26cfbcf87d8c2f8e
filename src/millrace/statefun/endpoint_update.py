"""Replacement of the endpoints of functions while their job runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millrace.statefun.dispatch.endpoint_list import encode_endpoints
from millrace.statefun.module.components import HttpEndpoint

__all__ = ["MODULE_NAME", "operator_uid", "update_endpoints"]

MODULE_NAME = "module"
"""Name of the functions of a ``module.yaml``."""


def operator_uid(name: str) -> str:
    """Uid of the operator of a job's functions.

    Args:
        name: name that the builder of the functions was given.
    """
    return f"statefun-{name}"


def update_endpoints(
    client: Any, endpoints: Sequence[HttpEndpoint], name: str = MODULE_NAME
) -> int:
    """Replace the endpoints of the functions of a running job, all together.

    The list replaces the former one: functions are added, removed or moved. A request in flight
    ends at its former endpoint; if it fails there, the new one gets it. The list is part of the
    job's checkpoints and savepoints, and counts until the job is started with other endpoints than
    before.

    Args:
        client: client of the job, from ``execute_async``.
        name: name that the builder of the functions was given.

    Returns:
        Number of the checkpoint that has the list.

    Raises:
        JobDefinitionError: two endpoints are for the same functions.
        JobControlError: the job has no functions of this name.
        JobExecutionError: the job has ended.
    """
    message = encode_endpoints(endpoints)
    checkpoint: int = client.send_message(operator_uid(name), message).result()
    return checkpoint
