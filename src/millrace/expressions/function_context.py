"""`FunctionContext`: what a function of the user may ask when it is opened."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["FunctionContext"]


class FunctionContext:
    """Passed to ``open``. PyFlink: ``FunctionContext``; metrics are not kept of functions in SQL.

    Args:
        job_parameters: ``pipeline.global-job-parameters``.

    Example:
        >>> FunctionContext({"rate": "2"}).get_job_parameter("rate", "1")
        '2'
    """

    def __init__(self, job_parameters: Mapping[str, str]) -> None:
        self._job_parameters = job_parameters

    def get_job_parameter(self, key: str, default_value: str) -> str:
        """A parameter of the job, or the default value."""
        return self._job_parameters.get(key, default_value)
