"""What can be seen of one job from outside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millrace.engine.job_client import JobClient
from millrace.engine.queryable_view import QueryableView

__all__ = ["JobView"]


class JobView:
    """A job with its names and its state.

    Args:
        job: its handle.
        name: its name.
        operators: uid -> name of its operators.
        view: of its queryable state.
    """

    def __init__(
        self, job: JobClient, name: str, operators: Mapping[str, str], view: QueryableView
    ) -> None:
        self._client = job
        self._name = name
        self._operators = operators
        self.view = view

    def names(self) -> tuple[str, str]:
        """What the job may be called: its id and its name."""
        return str(self._client.get_job_id()), self._name

    def operator_name(self, uid: str) -> str:
        """The name of an operator; its uid if it has none."""
        return self._operators.get(uid, uid)

    def summary(self) -> dict[str, Any]:
        """Which job it is."""
        status = self._client.get_job_status().result()
        return {"id": str(self._client.get_job_id()), "name": self._name, "status": status.name}

    def details(self) -> dict[str, Any]:
        """How it is doing."""
        progress = self._client.progress()
        return {
            **self.summary(),
            "epoch": progress.epoch,
            "checkpoint": progress.checkpoint,
            "queryable-checkpoint": self.view.checkpoint,
            "records": progress.records,
            "records-per-second": round(progress.records_per_second, 1),
            "watermark": progress.watermark,
            "restarts": progress.restarts,
        }
