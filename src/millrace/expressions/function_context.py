"""`FunctionContext`: information for a user function when it is opened."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from millrace.common.functions.metrics import MetricGroup, UnregisteredMetricGroup
from millrace.expressions.resolved import Call, ResolvedExpression

__all__ = ["FunctionContext", "open_functions"]


class FunctionContext:
    """Context that is passed to ``open``. PyFlink: ``FunctionContext``.

    Args:
        job_parameters: ``pipeline.global-job-parameters``.
        metric_group: metric group of the operator that calls the function; None outside of jobs,
            where metrics are not collected.

    Example:
        >>> context = FunctionContext({"rate": "2"})
        >>> context.get_job_parameter("rate", "1")
        '2'
        >>> calls = context.get_metric_group().counter("calls")
        >>> calls.inc()
    """

    def __init__(
        self, job_parameters: Mapping[str, str], metric_group: MetricGroup | None = None
    ) -> None:
        self._job_parameters = job_parameters
        self._metric_group = metric_group or UnregisteredMetricGroup()

    def get_metric_group(self) -> MetricGroup:
        """Metric group of the operator that calls the function."""
        return self._metric_group

    def get_job_parameter(self, key: str, default_value: str) -> str:
        """A parameter of the job, or the default value."""
        return self._job_parameters.get(key, default_value)


def open_functions(
    expressions: Iterable[ResolvedExpression],
    job_parameters: tuple[tuple[str, str], ...],
    metric_group: MetricGroup,
) -> None:
    """Open the user functions in expressions before their first call; a function that is called
    several times is opened once."""
    # several calls of a function share what opens it
    kernels = {id(kernel): kernel for kernel in _opened_kernels(expressions)}
    for kernel in kernels.values():
        kernel.open(job_parameters, metric_group)


def _opened_kernels(expressions: Iterable[ResolvedExpression]) -> Iterator[Any]:
    for expression in expressions:
        if isinstance(expression, Call):
            kernel = expression.function.kernel
            if not expression.function.built_in and hasattr(kernel, "open"):
                yield kernel
        yield from _opened_kernels(expression.children())
