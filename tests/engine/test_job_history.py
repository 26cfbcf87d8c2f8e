from __future__ import annotations

import logging
from dataclasses import replace

import pytest

from millrace.engine.job_details import EpochAttempt, JobDetails, OperatorDetails
from millrace.engine.job_history import REMEMBERED_NOTICES, JobHistory
from millrace.engine.job_state import JobStateMachine
from millrace.runtime.epoch import Ack, OperatorFigures
from millrace.runtime.logs.worker_notice import WorkerNotice
from millrace.runtime.program import OperatorNode, Program, Stage

MIN, MAX = -(2**63), 2**63 - 1


PROGRAM = Program(
    "r", "count", 128,
    tuple(
        Stage(id, f"s{id}", f"S{id}", 0, 2, (OperatorNode("map", "Map", b""),), ())
        for id in range(3)
    ),
    (),
)  # fmt: skip


def history() -> JobHistory:
    return JobHistory(PROGRAM, JobStateMachine(lambda: 0))


def ack(stage: int, subtask: int = 0, **fields) -> Ack:
    made = Ack(stage, subtask, 0, worker=fields.pop("worker", ""))
    reports = [made.traffic, made.progress, made.time, made.state, made.metrics]
    for name, value in fields.items():
        setattr(next(report for report in reports if hasattr(report, name)), name, value)
    return made


def test_records_are_counted_at_the_sources() -> None:
    progress = history()
    acks = [ack(0, records_in=100), ack(1, records_in=70), ack(2, records_in=5)]
    progress.accepted(0, acks, {0, 2}, epoch_ms=500)
    assert progress.details().records == 105
    assert progress.details().records_per_second == 210
    progress.accepted(0, acks, {0, 2}, epoch_ms=500)
    assert (progress.details().records, progress.details().epochs) == (210, 2)


def test_the_throughput_is_that_of_the_last_seconds_and_the_same_everywhere() -> None:
    """Not of the newest epoch alone, which may have had little to read."""
    progress = history()
    for _ in range(100):
        progress.accepted(0, [ack(0, records_in=10), ack(1, records_in=99)], {0}, epoch_ms=1000)
    for _ in range(10):
        progress.accepted(0, [ack(0, records_in=100), ack(1, records_in=99)], {0}, epoch_ms=1000)
    found = progress.details()
    assert found.records_per_second == pytest.approx(100, rel=0.15)
    [source] = [stage for stage in found.stages if stage.uid == PROGRAM.stages[0].uid]
    assert found.records_per_second == source.records_in_per_second


def test_the_watermark_is_the_lowest_there_is() -> None:
    progress = history()
    progress.accepted(0, [ack(0, watermark=MIN), ack(1, watermark=MAX)], {0}, 1)
    assert progress.details().watermark is None
    progress.accepted(0, [ack(0, watermark=7), ack(1, watermark=3), ack(2, watermark=MIN)], {0}, 1)
    assert progress.details().watermark == 3
    progress.accepted(0, [ack(0, watermark=MAX)], {0}, 1)
    assert progress.details().watermark == 3


def test_an_idle_source_does_not_count_for_the_watermark() -> None:
    progress = history()
    acks = [ack(0, watermark=3, idle=True), ack(0, 1, watermark=7), ack(1, watermark=7)]
    progress.accepted(0, acks, {0}, 1)
    assert progress.details().watermark == 7
    assert [s.watermark for s in progress.details().stages[0].subtasks] == [None, 7]
    assert progress.details().stages[0].watermark == 7


def test_counters_add_up_over_epochs_and_gauges_are_replaced() -> None:
    progress = history()
    for count, level in ((2, 10), (3, 20)):
        answers = [
            ack(0, n, counts={"map": {"n": count}}, values={"map": {"level": level}})
            for n in (0, 1)
        ]
        progress.accepted(0, answers, {0}, 1)
    expected = {"n": 5, "level": 20}
    assert progress.details().metrics == {"map": {0: expected, 1: expected}}


def test_how_state_was_found() -> None:
    progress = history()
    progress.accepted(0, [ack(0, origin="new"), ack(1, origin="new")], {0}, 1)
    progress.accepted(0, [ack(0, origin="current"), ack(1, origin="replayed")], {0}, 1)
    assert progress.details().cached == {"new": 2, "current": 1, "replayed": 1}


def test_what_subtasks_do() -> None:
    progress = history()
    for elapsed in (2.0, 4.0):
        done = ack(
            0,
            records_in=100,
            records_out=50,
            bytes_out=800,
            watermark=7_000,
            seconds=1.5,
            handing_seconds=0.5,
            operators=(OperatorFigures(100, 50, 6_000),),
        )
        progress.accepted(
            0, [done, ack(0, 1)], {0}, 2_000, now=9_000, elapsed=elapsed, state_bytes=lambda s: 42
        )
    stage = progress.details().stages[0]
    first, second = stage.subtasks
    assert (first.records_in, first.total_in, first.total_out) == (100, 200, 100)
    assert (first.records_in_per_second, first.records_out_per_second) == (50, 25)
    assert (first.bytes_out, first.bytes_out_per_second) == (1_600, 400)
    assert (first.busy_ms_per_second, first.back_pressured_ms_per_second) == (500, 250)
    assert (first.idle_ms_per_second, second.idle_ms_per_second) == (250, 1_000)
    assert first.operators == (OperatorDetails(200, 100, 6_000),)
    assert (stage.busy_ms_per_second, stage.records_in_per_second) == (500, 50)
    # the other one has 0 as its watermark, which is one, too
    assert (stage.watermark_lag, progress.details().watermark_lag) == (9_000, 9_000)
    assert (stage.state_bytes, progress.details().state_bytes) == (84, 84)


def times(progress: JobHistory) -> tuple[int, int, int]:
    subtask = progress.details().stages[0].subtasks[0]
    return subtask.busy_ms, subtask.back_pressured_ms, subtask.idle_ms


def test_times_of_a_subtask_add_up_to_the_time_of_its_run() -> None:
    progress = history()
    done = ack(0, seconds=1.5, handing_seconds=0.5)
    progress.accepted(0, [done], {0}, 2_000, elapsed=2.0)
    assert times(progress) == (1_000, 500, 500)
    # five seconds without an epoch: the subtask waits for records
    progress.accepted(1, [done], {0}, 2_000, elapsed=9.0)
    assert times(progress) == (2_000, 1_000, 6_000)
    # a subtask may measure a bit more than the driver does
    progress.accepted(2, [ack(0, seconds=2.1)], {0}, 2_000, elapsed=11.0)
    assert times(progress) == (4_100, 1_000, 5_900)


def test_failed_attempts_are_no_time_of_subtasks() -> None:
    progress = history()
    done = ack(0, seconds=1.5, handing_seconds=0.5)
    progress.accepted(0, [done], {0}, 2_000, elapsed=2.0)
    progress.failed(ValueError("no number"), 60_000)
    progress.accepted(1, [done], {0}, 2_000, elapsed=100.0)
    assert times(progress) == (2_000, 1_000, 1_000)
    progress.accepted(2, [done], {0}, 2_000, elapsed=103.0)
    assert times(progress) == (3_000, 1_500, 2_500)


def test_times_begin_with_a_rescaling() -> None:
    progress = history()
    progress.accepted(0, [ack(0, seconds=1.5, handing_seconds=0.5)], {0}, 2_000, elapsed=2.0)
    progress.go_on_with(PROGRAM)
    progress.accepted(1, [ack(0, seconds=0.2)], {0}, 1_000, elapsed=30.0)
    assert times(progress) == (200, 0, 800)


def test_another_parallelism_counts_anew() -> None:
    progress = history()
    progress.accepted(0, [ack(0, records_in=5)], {0}, 1_000)
    progress.go_on_with(PROGRAM)
    progress.accepted(1, [ack(0, records_in=7)], {0}, 1_000)
    stage = progress.details().stages[0]
    assert (stage.records_in, stage.subtasks[0].total_in) == (12, 7)


def test_another_parallelism_is_told_before_the_next_epoch() -> None:
    """Without input, that epoch may be 45 seconds away."""
    progress = history()
    progress.accepted(0, [ack(0, index) for index in range(2)], {0}, 1_000)
    assert progress.details().stages[0].parallelism == 2
    stages = tuple(replace(stage, parallelism=3) for stage in PROGRAM.stages)
    progress.go_on_with(replace(PROGRAM, stages=stages))
    assert [stage.parallelism for stage in progress.details().stages] == [3, 3, 3]
    progress.accepted(1, [ack(0, index) for index in range(3)], {0}, 1_000)
    assert [stage.parallelism for stage in progress.details().stages] == [3, 3, 3]


class TestAJobWithoutInput:
    """No epoch tells of it: the next one may be 45 seconds away."""

    def _read(self, epoch_ms: float = 500) -> JobDetails:
        progress = history()
        acks = [ack(0, records_in=100), ack(1, records_in=70)]
        progress.accepted(0, acks, {0}, epoch_ms, now=10_000)
        return progress.details()

    def test_it_is_at_rest_after_two_seconds(self) -> None:
        details = self._read()
        assert details.as_of(12_000) is details
        rested = details.as_of(12_001)
        assert rested.records_per_second == 0
        assert {stage.records_in_per_second for stage in rested.stages} == {0}
        [*subtasks] = (each for stage in rested.stages for each in stage.subtasks)
        assert subtasks
        assert {each.records_in_per_second for each in subtasks} == {0}
        assert {each.idle_ms_per_second for each in subtasks} == {1000}
        assert sum(each.total_in for each in subtasks) == 170
        assert rested.records == 100

    def test_slow_epochs_are_no_rest(self) -> None:
        slow = self._read(epoch_ms=30_000)
        assert slow.as_of(60_000) is slow
        assert self._read().as_of(25_000, between=10_000).records_per_second > 0
        reading = replace(self._read(), running=EpochAttempt(1, 0, 10_050))
        assert reading.as_of(90_000) is reading

    def test_an_empty_epoch_does_not_end_the_rest(self) -> None:
        beginning = replace(self._read(), running=EpochAttempt(1, 0, 55_000))
        assert beginning.as_of(55_010).records_per_second == 0

    def test_a_job_that_waits_for_a_slow_operator_is_not_at_rest(self) -> None:
        progress = history()
        progress.accepted(0, [ack(0, records_in=100), ack(1)], {0}, 500, now=10_000)
        held_up = [ack(0, seconds=0.5, handing_seconds=0.5), ack(1, seconds=0.5)]
        progress.accepted(1, held_up, {0}, 500, now=20_000)
        details = progress.details()
        assert details.as_of(21_000) is details
        assert details.stages[0].subtasks[0].back_pressured_ms_per_second > 0

    def test_a_job_that_has_read_nothing_yet(self) -> None:
        details = history().details()
        assert details.as_of(99_000) is details


def warned(text: str, time: int, subtask: int | None = 0, count: int = 1) -> WorkerNotice:
    subtasks = () if subtask is None else (subtask,)
    return WorkerNotice(logging.WARNING, "shop", text, "Map", subtasks, time, time, count)


def test_notices_of_all_workers_are_joined() -> None:
    made = history()
    made.noticed([warned("no price of 3", 10), warned("slow", 11, None)])
    made.noticed([warned("no price of 4", 20, 1, count=5)])
    newest, older = made.details().notices
    assert (newest.level, newest.text, newest.subtasks) == ("WARNING", "no price of 4", (0, 1))
    assert (newest.first, newest.last, newest.times) == (10, 20, 6)
    assert (older.text, older.subtasks) == ("slow", ())


def test_the_newest_notices_are_kept() -> None:
    made = history()
    made.noticed(warned("x" * n, n) for n in range(1, REMEMBERED_NOTICES + 10))
    made.noticed([warned("x" * 10, 1_000)])
    notices = made.details().notices
    assert len(notices) == REMEMBERED_NOTICES
    assert [len(notice.text) for notice in notices[:2]] == [10, REMEMBERED_NOTICES + 9]
