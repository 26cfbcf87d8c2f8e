"""Error policy of a sink for records that the target system refuses to write."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from millrace.common.error_policy import ErrorPolicy, require_error_policy
from millrace.common.errors import JobDefinitionError
from millrace.common.functions.metrics import MetricGroup
from millrace.connectors.errors import ConnectorError

__all__ = ["RefusedWrites", "require_sink_error_policy"]


class RefusedWrites:
    """Handles refused records: fails the job, or counts and logs the records that it skips.

    The metric is ``numRecordsSendErrors`` (Flink's FLIP-33).

    Args:
        kind: class of the error with which the job fails.
    """

    def __init__(
        self,
        policy: ErrorPolicy,
        kind: type[ConnectorError],
        metrics: MetricGroup,
        logger: logging.Logger,
    ) -> None:
        self._policy = policy
        self._kind = kind
        self._counter = metrics.counter("numRecordsSendErrors")
        self._logger = logger

    def take(self, reasons: list[str]) -> None:
        """Skip the refused records, given with a reason for each, or raise an error with the first
        reason.

        Raises:
            ConnectorError: of the sink's kind, if the policy is to fail.
        """
        if not reasons:
            return
        more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
        if self._policy.fails:
            raise self._kind(
                f"{reasons[0]}{more}; leave refused records out with "
                "set_error_policy(ErrorPolicy.skip())"
            )
        self._counter.inc(len(reasons))
        self._logger.warning("left out: %s%s", reasons[0], more)

    def hand_over(self, reasons: list[str], handle: Callable[[ConnectorError], object]) -> None:
        """Let a user's function decide on each record instead of the policy: it returns to skip
        the record, or raises."""
        for reason in reasons:
            self._counter.inc()
            handle(self._kind(reason))


def require_sink_error_policy(policy: Any) -> ErrorPolicy:
    """The error policy itself, after a check.

    Raises:
        JobDefinitionError: the argument is not an error policy, or only for sources.
    """
    if require_error_policy(policy).tag is not None:
        raise JobDefinitionError(
            "a sink has no side output: its error policy is ErrorPolicy.fail() or .skip()"
        )
    return require_error_policy(policy)
