"""View of one job from outside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millrace.common.job import JobID
from millrace.engine.job_manager import JobManager
from millrace.engine.queryable_view import QueryableView

__all__ = ["JobView"]


class JobView:
    """A job with its names and its state.

    Args:
        job: its manager.
        name: its name.
        operators: uid -> name of its operators.
        view: view of the job's queryable state.
    """

    def __init__(
        self, job: JobManager, name: str, operators: Mapping[str, str], view: QueryableView
    ) -> None:
        self._job = job
        self._id = str(JobID.from_name(name))
        self._name = name
        self._operators = operators
        self.view = view

    def names(self) -> tuple[str, str]:
        """Names of the job in requests: its id and its name."""
        return self._id, self._name

    def operator_name(self, uid: str) -> str:
        """The name of an operator; its uid if it has none."""
        return self._operators.get(uid, uid)

    def summary(self) -> dict[str, Any]:
        """Id and name of the job."""
        return {"id": self._id, "name": self._name, "status": self._job.details().status.name}

    def details(self) -> dict[str, Any]:
        """State and progress of the job."""
        details = self._job.details()
        return {
            **self.summary(),
            "epoch": details.epoch,
            "checkpoint": details.checkpoint,
            "queryable-checkpoint": self.view.checkpoint,
            "records": details.records,
            "records-per-second": round(details.records_per_second, 1),
            "watermark": details.watermark,
            "restarts": details.restarts,
        }
