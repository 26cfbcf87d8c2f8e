"""The running epoch: the subtasks for which it waits, as reported by the workers' watchdogs."""

from __future__ import annotations

from dataclasses import replace

from millrace.engine.job_details import BusySubtask, EpochAttempt
from millrace.runtime.program import Program
from millrace.runtime.watchdog import FIRST, SubtaskReport, reports_in

__all__ = ["describe_epoch", "is_long", "observed", "stacks_text"]

_NAMED = 3
"""Maximum number of operators named in a line."""


def is_long(running: EpochAttempt, now: int) -> bool:
    """Whether the epoch has been running for so long that workers may have reported; ``now`` is
    in ms."""
    return now - running.since > FIRST * 1000


def observed(running: EpochAttempt, job_dir: str, program: Program) -> EpochAttempt:
    """The running epoch with its workers' reports about long-running subtasks, of which the
    longest-running comes first."""
    reports = [
        report
        for report in reports_in(job_dir)
        if (report.run_id, report.epoch, report.attempt)
        == (program.run_id, running.number, running.attempt)
    ]
    reports.sort(key=lambda report: -report.seconds)
    subtasks = sum(stage.parallelism for stage in program.stages)
    done = _done(reports, program) if reports else None
    busy = tuple(BusySubtask(r.operator, r.subtask, r.worker, r.seconds, r.stack) for r in reports)
    return replace(running, subtasks=subtasks, done=done, busy=busy)


def _done(reports: list[SubtaskReport], program: Program) -> int:
    """Number of the subtasks that are done, given reports of the subtasks that are left. Levels
    run one after the other, and the tasks of a level begin together: all earlier levels are
    done, and all subtasks of this level that no report names."""
    left = {subtask for report in reports for subtask in report.left}
    levels = {stage.id: stage.level for stage in program.stages}
    level = max(levels.get(stage, 0) for stage, _ in left)
    until = sum(stage.parallelism for stage in program.stages if stage.level <= level)
    return until - len(left)


def describe_epoch(running: EpochAttempt, now: int) -> str:
    """Line about the present work of an epoch; ``now`` is in ms since the epoch of Unix.

    Example:
        >>> busy = (BusySubtask("Enrich", 1, "host:7", 41.0, ""),)
        >>> describe_epoch(EpochAttempt(12, 0, 0, busy, 3, 4), 41_000)
        "epoch 12 running for 41 s in 'Enrich' (subtask 1), 3 of 4 subtasks done"
    """
    again = f", attempt {running.attempt + 1}," if running.attempt else ""
    text = f"epoch {running.number}{again} running for {duration_text(now - running.since)}"
    subtasks: dict[str, list[int]] = {}
    for busy in running.busy:
        subtasks.setdefault(busy.operator, []).append(busy.subtask)
    named = [
        f"'{name}' ({_subtasks(numbers)})" for name, numbers in list(subtasks.items())[:_NAMED]
    ]
    if named:
        more = f" and {len(subtasks) - _NAMED} more operators" if len(subtasks) > _NAMED else ""
        text += f" in {', '.join(named)}{more}"
    if running.done is not None:
        text += f", {running.done} of {running.subtasks} subtasks done"
    return text


def duration_text(milliseconds: int) -> str:
    """Display form of a duration.

    Example:
        >>> duration_text(41_999), duration_text(125_000), duration_text(7_260_000)
        ('41 s', '2 min 5 s', '2 h 1 min')
    """
    seconds = milliseconds // 1000
    if seconds < 60:
        return f"{seconds} s"
    minutes, seconds = divmod(seconds, 60)
    if minutes < 60:
        return f"{minutes} min {seconds} s"
    return f"{minutes // 60} h {minutes % 60} min"


def _subtasks(indexes: list[int]) -> str:
    distinct = sorted(set(indexes))
    if len(distinct) == 1:
        return f"subtask {distinct[0]}"
    shown = ", ".join(map(str, distinct[:_NAMED]))
    return f"subtasks {shown}" + (
        f" and {len(distinct) - _NAMED} more" if len(distinct) > _NAMED else ""
    )


def stacks_text(running: EpochAttempt) -> str:
    """Stacks of the subtasks for which the epoch waits; empty if none has reported."""
    return "".join(
        f"\n'{busy.operator}' (subtask {busy.subtask}) in worker {busy.worker}, "
        f"after {busy.seconds:.0f} s:\n{busy.stack}"
        for busy in running.busy
    )
