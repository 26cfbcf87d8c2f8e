"""A job's metrics under Flink's names, from its `JobDetails` (Flink docs, "Metrics").

Nothing is measured here: the engine has worked out everything at the end of an epoch, so it costs
the job nothing when and how often somebody looks.
"""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import suppress
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

from millrace.common.job import JobStatus
from millrace.engine.job_details import JobDetails, StageDetails, SubtaskDetails
from millrace.metrics.measurement import HistogramValue, Measurement, MetricKind, MetricScope
from millrace.runtime.metrics import MetricDescription, Summary

__all__ = ["EventRates", "JobMetrics"]

_DRIVER = -1
_COUNTER, _GAUGE, _METER = MetricKind.COUNTER, MetricKind.GAUGE, MetricKind.METER
_UNKNOWN = MetricDescription("gauge", "")
JOB, JOB_OPERATOR = "jobmanager.job", "jobmanager.job.operator"
TM_JOB = "taskmanager.job"
TASK, OPERATOR = "taskmanager.job.task", "taskmanager.job.task.operator"


class JobMetrics:
    """The metrics of one job.

    Args:
        job_id: id of the job in Flink's form, 32 hexadecimal digits.
        host: host of the driver.

    Example:
        >>> metrics = JobMetrics("0" * 32, host="here").of(JobDetails(job_name="count"), 0)
        >>> metrics[0].name, metrics[0].value, metrics[0].scope.variables["<job_name>"]
        ('numRestarts', 0, 'count')
    """

    def __init__(self, job_id: str, host: str | None = None) -> None:
        self._job_id = job_id
        self._host = host or socket.gethostname()
        self._rates = EventRates()

    def of(self, details: JobDetails, now: int) -> list[Measurement]:
        """All metrics in ``details``; ``now`` in ms since the Unix epoch.

        Rates of single operators look back over the calls of this method in the last minute.
        """
        variables = {
            "<host>": self._host,
            "<job_id>": self._job_id,
            "<job_name>": details.job_name,
        }
        if self._rates.began is None:
            self._rates.began = details.since.get(JobStatus.RUNNING)
        measurements = [*_of_job(MetricScope(JOB, variables), details, now)]
        for stage in details.stages:
            measurements += self._of_stage(stage, details, variables, now)
        # what is new at the next look has begun since
        self._rates.began = now
        return [*measurements, *_latencies(details, variables)]

    def _of_stage(
        self, stage: StageDetails, details: JobDetails, variables: Mapping[str, str], now: int
    ) -> Iterator[Measurement]:
        task = {**variables, "<task_id>": stage.uid, "<task_name>": stage.name}
        for uid, name in stage.operators.items():
            values = details.metrics.get(uid, {}).get(_DRIVER)
            if values:
                operator = {**task, "<operator_id>": uid, "<operator_name>": name}
                scope = MetricScope(JOB_OPERATOR, operator)
                yield from self._of_user(scope, values, details.described.get(uid, {}), now)
        for index, subtask in enumerate(stage.subtasks):
            place = {
                **task,
                "<host>": subtask.worker.rpartition(":")[0] or self._host,
                "<tm_id>": subtask.worker or self._host,
                "<subtask_index>": str(index),
            }
            lag = _lag(subtask.watermark, details.epoch_accepted)
            yield from _of_subtask(MetricScope(TASK, place), subtask, lag)
            yield from self._of_operators(stage, index, details, place, now)

    def _of_operators(
        self,
        stage: StageDetails,
        index: int,
        details: JobDetails,
        place: Mapping[str, str],
        now: int,
    ) -> Iterator[Measurement]:
        subtask = stage.subtasks[index]
        for position, (uid, name) in enumerate(stage.operators.items()):
            scope = MetricScope(OPERATOR, {**place, "<operator_id>": uid, "<operator_name>": name})
            if position < len(subtask.operators):
                taken, given, mark = subtask.operators[position]
                yield from self._counted(scope, "numRecordsIn", taken, now)
                yield from self._counted(scope, "numRecordsOut", given, now)
                yield from _known(scope, "currentInputWatermark", mark)
                yield from _known(scope, "currentOutputWatermark", mark)
                yield from _known(scope, "watermarkLag", _lag(mark, details.epoch_accepted))
            values = details.metrics.get(uid, {}).get(index)
            if values:
                yield from self._of_user(scope, values, details.described.get(uid, {}), now)

    def _counted(
        self, scope: MetricScope, name: str, count: int, now: int
    ) -> Iterator[Measurement]:
        yield _made(scope, name, _COUNTER, count)
        rate = self._rates.of((_key(scope), name), count, now)
        yield _made(scope, f"{name}PerSecond", _METER, rate)

    def _of_user(
        self,
        scope: MetricScope,
        values: Mapping[str, Any],
        described: Mapping[str, MetricDescription],
        now: int,
    ) -> Iterator[Measurement]:
        for name, value in values.items():
            described_as = described.get(name, _UNKNOWN)
            logical = described_as.name or name
            kind, variables = MetricKind(described_as.kind), described_as.variables
            if kind is _METER:
                span = described_as.span
                value = self._rates.of((_key(scope), name), value, now, span)
            elif (seen := _histogram(value)) is not None:
                kind, value = MetricKind.HISTOGRAM, seen
            else:
                value = _number_or_text(value)
            yield Measurement(scope, name, kind, value, logical, variables)


def _of_job(scope: MetricScope, details: JobDetails, now: int) -> Iterator[Measurement]:
    for name, value in _JOB_GAUGES.items():
        reading = value(details)
        if reading is not None:
            yield _made(scope, name, _GAUGE, reading)
    is_running = details.status is JobStatus.RUNNING
    passed = now - details.since.get(details.status, now)
    yield _made(scope, "uptime", _GAUGE, passed if is_running else 0)
    yield _made(scope, "downtime", _GAUGE, 0 if is_running else passed)
    for status in (JobStatus.RUNNING, JobStatus.RESTARTING, JobStatus.FAILING):
        in_it = int(details.status is status)
        yield _made(scope, f"{status.name.lower()}State", _GAUGE, in_it)
    yield from _of_checkpoints(scope, details)


def _of_checkpoints(scope: MetricScope, details: JobDetails) -> Iterator[Measurement]:
    history = details.checkpoints
    yield _made(scope, "numberOfCompletedCheckpoints", _GAUGE, history.completed)
    yield _made(scope, "numberOfFailedCheckpoints", _GAUGE, history.failed)
    yield _made(scope, "numberOfInProgressCheckpoints", _GAUGE, 0)
    total = history.completed + history.failed
    yield _made(scope, "totalNumberOfCheckpoints", _GAUGE, total)
    if history.restored is not None:
        yield _made(scope, "lastCheckpointRestoreTimestamp", _GAUGE, history.restored.time)
    newest = next((stats for stats in history.recent if stats.number is not None), None)
    if newest is not None and newest.number is not None:
        yield _made(scope, "lastCompletedCheckpointId", _GAUGE, newest.number)
        yield _made(scope, "lastCheckpointDuration", _GAUGE, round(newest.duration))
        yield _made(scope, "lastCheckpointSize", _GAUGE, newest.size)
        yield _made(scope, "lastCheckpointFullSize", _GAUGE, newest.full_size)
        yield _made(scope, "lastCheckpointExternalPath", _GAUGE, newest.path)


_JOB_GAUGES: Mapping[str, Callable[[JobDetails], float | None]] = {
    "numRestarts": lambda details: details.restarts,
    "fullRestarts": lambda details: details.restarts,
    "numEpochs": lambda details: details.epochs,
    "currentEpoch": lambda details: details.epoch,
    "lastEpochDuration": lambda details: details.epoch_ms,
    "numRefusedEpochs": lambda details: details.refused,
    "numRecordsRead": lambda details: details.records,
    "currentLowWatermark": lambda details: details.watermark,
    "watermarkLag": lambda details: details.watermark_lag,
    "stateSize": lambda details: details.state_bytes,
}


def _latencies(details: JobDetails, variables: Mapping[str, str]) -> Iterator[Measurement]:
    stages = {stage.uid: stage for stage in details.stages}
    for marked in details.latencies:
        stage, subtask = stages[marked.stage], marked.subtask
        worker = stage.subtasks[subtask].worker if subtask < len(stage.subtasks) else ""
        host = worker.rpartition(":")[0] or variables["<host>"]
        scope = MetricScope(TM_JOB, {**variables, "<host>": host, "<tm_id>": worker or host})
        value = HistogramValue(marked.number, marked.sum, marked.min, marked.max, marked.quantiles)
        first = next(iter(stages[marked.source].operators))
        for operator in stage.operators:
            place = {
                "source_id": first,
                "operator_id": operator,
                "operator_subtask_index": str(subtask),
            }
            yield Measurement(
                scope,
                f"latency.{'.'.join(f'{key}.{text}' for key, text in place.items())}.latency",
                MetricKind.HISTOGRAM,
                value,
                f"latency.{'.'.join(place)}.latency",
                {f"<{key}>": text for key, text in place.items()},
            )


def _of_subtask(
    scope: MetricScope, subtask: SubtaskDetails, lag: int | None
) -> Iterator[Measurement]:
    for name, count in (
        ("numRecordsIn", subtask.total_in),
        ("numRecordsOut", subtask.total_out),
        ("numBytesIn", subtask.bytes_in),
        ("numBytesOut", subtask.bytes_out),
    ):
        yield _made(scope, name, _COUNTER, count)
    for name, rate in (
        ("numRecordsInPerSecond", subtask.records_in_per_second),
        ("numRecordsOutPerSecond", subtask.records_out_per_second),
        ("numBytesInPerSecond", subtask.bytes_in_per_second),
        ("numBytesOutPerSecond", subtask.bytes_out_per_second),
    ):
        yield _made(scope, name, _METER, rate)
    back_pressured = subtask.back_pressured_ms_per_second
    for name, value in (
        ("busyTimeMsPerSecond", subtask.busy_ms_per_second),
        ("idleTimeMsPerSecond", subtask.idle_ms_per_second),
        ("backPressuredTimeMsPerSecond", back_pressured),
        ("accumulateBusyTimeMs", subtask.busy_ms),
        ("accumulateIdleTimeMs", subtask.idle_ms),
        ("accumulateBackPressuredTimeMs", subtask.back_pressured_ms),
        ("lastEpochTimeMs", subtask.seconds * 1000),
        ("stateSize", subtask.state_bytes),
    ):
        yield _made(scope, name, _GAUGE, value)
    yield from _known(scope, "currentInputWatermark", subtask.watermark)
    yield from _known(scope, "watermarkLag", lag)


def _known(scope: MetricScope, name: str, value: int | None) -> Iterator[Measurement]:
    if value is not None:
        yield _made(scope, name, _GAUGE, value)


def _made(scope: MetricScope, name: str, kind: MetricKind, value: float | str) -> Measurement:
    return Measurement(scope, name, kind, value, name)


def _lag(watermark: int | None, now: int) -> int | None:
    return None if watermark is None else now - watermark


def _key(scope: MetricScope) -> tuple[str | None, ...]:
    # not the worker: a subtask goes on where it was when another worker takes it over
    return (scope.variables.get("<operator_id>"), scope.variables.get("<subtask_index>"))


def _number_or_text(value: Any) -> float | str:
    """A gauge's value as a number or text; it may be NumPy's or a decimal."""
    with suppress(ValueError, OverflowError):
        number = float(value) if isinstance(value, (Real, Decimal)) else None
        if number is not None:
            return int(value) if isinstance(value, Integral) else number
    return value if isinstance(value, str) else repr(value)


def _histogram(value: Any) -> HistogramValue | None:
    """Figures of a distribution, which is a `Summary` or, in stored details, a mapping; None for
    other values."""
    if isinstance(value, Summary):
        return HistogramValue(value.count, value.sum, value.min, value.max)
    if isinstance(value, Mapping) and {"count", "sum", "min", "max"} <= value.keys():
        quantiles = {float(share): figure for share, figure in value.get("quantiles", {}).items()}
        limits = value["min"], value["max"]
        return HistogramValue(value["count"], value["sum"], *limits, quantiles)
    return None


SPAN = 60
"""Seconds over which rates are computed, as in Flink's meters."""
_SPACING = 1_000
"""Milliseconds between two remembered counts."""


class EventRates:
    """Counts of the last minute, and the rates between them.

    Example:
        >>> rates = EventRates()
        >>> [rates.of("clicks", count, now) for count, now in ((0, 0), (50, 10_000))]
        [0.0, 5.0]
    """

    def __init__(self) -> None:
        self._seen: dict[Hashable, deque[tuple[int, float]]] = {}
        self.began: int | None = None
        """Time at which new counters were 0, in ms since the Unix epoch; None if unknown."""

    def of(self, key: Hashable, count: float, now: int, span: int = SPAN) -> float:
        """Events per second of a counter with value ``count`` at ``now`` (ms since the Unix
        epoch)."""
        seen = self._seen.get(key)
        if seen is None:
            began = () if self.began is None else [(self.began, 0.0)]
            seen = self._seen[key] = deque(began)
        if seen and (count < seen[-1][1] or now < seen[-1][0]):
            seen.clear()  # it counts anew
        while len(seen) > 1 and seen[0][0] < now - span * 1_000:
            seen.popleft()
        since, before = seen[0] if seen else (now, count)
        if not seen or now - seen[-1][0] >= _SPACING:
            seen.append((now, count))
        return (count - before) * 1_000 / (now - since) if now > since else 0.0
