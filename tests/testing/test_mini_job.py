from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from millrace.common import Configuration, Time
from millrace.common.errors import JobDefinitionError, UserFunctionError
from millrace.datastream import KeyedProcessFunction, MapFunction, OutputTag
from millrace.datastream.job_launcher import JobLauncher
from millrace.datastream.state import ValueStateDescriptor
from millrace.datastream.window import TumblingEventTimeWindows
from millrace.engine.pacing import Pacer
from millrace.runtime.epoch import Ack
from millrace.runtime.program import Program
from millrace.testing import Faults, ManualClock, MiniJob

LATE = OutputTag("late")


class Silence(KeyedProcessFunction):
    """Says which key gave nothing for a second of the machine's time."""

    def open(self, runtime_context):
        self.due = runtime_context.get_state(ValueStateDescriptor("due"))

    def process_element(self, value, ctx):
        timers = ctx.timer_service()
        self.due.update(timers.current_processing_time() + 1_000)
        timers.register_processing_time_timer(self.due.value())

    def on_timer(self, timestamp, ctx):
        if timestamp == self.due.value():
            yield ctx.get_current_key()


def test_records_and_watermarks_in_steps() -> None:
    with MiniJob() as job:
        clicks = job.source("clicks")
        windows = clicks.stream.key_by(0).window(TumblingEventTimeWindows.of(1_000))
        sums = windows.side_output_late_data(LATE).reduce(lambda a, b: (a[0], a[1] + b[1]))
        counts, late = job.collect(sums), job.collect(sums.get_side_output(LATE))
        clicks.push(("a", 1), ("a", 1), timestamp=10)
        clicks.push(("b", 1), timestamp=20)
        job.process()
        assert counts.values() == []
        clicks.push_watermark(999)
        job.process()
        assert sorted(counts.take()) == [("a", 2), ("b", 1)]
        clicks.push(("a", 1), timestamp=999)
        clicks.push(("a", 5), timestamp=1_000)
        job.process()
        assert (counts.take(), late.take()) == ([], [("a", 1)])
        job.finish()
        assert counts.take() == [("a", 5)]
    assert job.client.get_job_status().result().name == "FINISHED"


def test_the_clock_is_in_the_tests_hands() -> None:
    clock = ManualClock(5_000)
    with MiniJob(clock=clock) as job:
        beats = job.source()
        silent = job.collect(beats.stream.key_by(lambda key: key).process(Silence()))
        beats.push("a")
        job.process()
        job.advance(500)
        beats.push("b")
        job.process()
        job.advance(Time.milliseconds(499))
        assert silent.values() == []
        job.advance(1)
        assert silent.values() == ["a"]
        job.set_processing_time(6_500)
        assert silent.values() == ["a", "b"]


def test_two_sources_and_the_lesser_watermark() -> None:
    with MiniJob(parallelism=2) as job:
        left, right = job.source("left"), job.source("right")
        joined = job.collect(
            left.stream.join(right.stream)
            .where(0)
            .equal_to(0)
            .window(TumblingEventTimeWindows.of(100))
            .apply(lambda one, other: (one[1], other[1]))
        )
        left.push((1, "x"), timestamp=5)
        right.push((1, "y"), timestamp=50)
        left.push_watermark(1_000)
        job.process()
        assert joined.values() == []
        right.push_watermark(99)
        job.process()
        assert joined.values() == [("x", "y")]


def test_an_end_carries_the_watermark_to_its_end() -> None:
    with MiniJob() as job:
        source = job.source()
        windows = source.stream.key_by(lambda _: 0).window(TumblingEventTimeWindows.of(100))
        results = job.collect(windows.reduce(lambda a, b: a + b))
        source.push(1, 2, timestamp=5)
        source.end()
        job.process()
        assert results.values() == [3]
        with pytest.raises(JobDefinitionError, match="'source' has ended"):
            source.push(3)


def test_records_without_event_time() -> None:
    with MiniJob() as job:
        source = job.source()
        results = job.collect(source.stream)
        source.push(1)
        source.push_watermark(10)
        source.push(2, timestamp=3)
        source.push(3)
        job.process()
        assert [tuple(record) for record in results.records()] == [(1, None), (2, 3), (3, None)]


def test_a_loop_with_an_exchange_takes_an_epoch_a_round() -> None:
    with MiniJob() as job:
        source = job.source()
        loop = source.stream.iterate()
        less = loop.rebalance().map(lambda n: n - 1)
        loop.close_with(less.filter(lambda n: n > 0))
        done = job.collect(less.filter(lambda n: n <= 0))
        source.push(3)
        job.process(2)
        assert done.values() == []
        job.process()
        assert done.values() == [0]
        source.push(9)
        job.finish()
        assert done.values() == [0, 0]


def test_a_loop_in_one_chain_goes_round_within_the_epoch() -> None:
    with MiniJob() as job:
        source = job.source()
        loop = source.stream.iterate()
        less = loop.map(lambda n: n - 1)
        loop.close_with(less.filter(lambda n: n > 0))
        done = job.collect(less.filter(lambda n: n <= 0))
        source.push(3)
        job.process()
        assert done.values() == [0]


def test_a_failing_function_fails_the_test() -> None:
    with MiniJob() as job:
        source = job.source()
        job.collect(source.stream.map(lambda n: 1 // n).name("invert"))
        source.push(1)
        job.process()
        source.push(0)
        with pytest.raises(UserFunctionError, match="invert"):
            job.process()
        with pytest.raises(JobDefinitionError, match="has ended"):
            job.process()


def test_accumulators_are_in_the_result() -> None:
    class Counting(MapFunction):
        def open(self, runtime_context):
            self.seen = runtime_context.get_int_counter("seen")

        def map(self, value):
            self.seen.add(1)
            return value

    with MiniJob() as job:
        source = job.source()
        job.collect(source.stream.map(Counting()))
        source.push(1, 2, 3)
        job.process()
        assert job.client.get_accumulators().result()["seen"] == 3
        source.push(4)
        assert job.finish().get_accumulator_result("seen") == 4


def test_faults_do_not_show() -> None:
    faults = Faults(lost_epochs=0.3, lost_workers=0.3, lost_buffers=0.1)
    with MiniJob(parallelism=2, workers=2, seed=5, faults=faults) as job:
        source = job.source()
        sums = job.collect(source.stream.map(lambda n: (n % 3, 1)).key_by(0).sum(1))
        for n in range(30):
            source.push(n)
            job.process()
        assert sorted(sums.values()) == sorted((n % 3, n // 3 + 1) for n in range(30))


def test_a_job_can_be_resumed(tmp_path: Path) -> None:
    def counted(resume: bool) -> list[tuple[str, int]]:
        with MiniJob(checkpoint_dir=str(tmp_path), resume=resume) as job:
            source = job.source()
            sums = job.collect(source.stream.key_by(0).sum(1).uid("count"))
            source.push(("a", 1))
            if resume:
                source.push(("a", 10))
            job.process()
            return sums.values()

    assert counted(resume=False) == [("a", 1)]
    # the source goes on behind what the first run has read
    assert counted(resume=True) == [("a", 11)]


def test_a_resumed_job_whose_sources_give_less_ends(tmp_path: Path) -> None:
    for resume, values in ((False, [1, 2, 3]), (True, [1])):
        with MiniJob(checkpoint_dir=str(tmp_path), resume=resume) as job:
            source = job.source()
            results = job.collect(source.stream)
            source.push(*values)
            job.process()
            assert results.values() == ([] if resume else [1, 2, 3])
            if resume:
                job.finish()


def test_settings_of_the_environment() -> None:
    with MiniJob(3, configuration=Configuration({"pipeline.max-parallelism": 64})) as job:
        assert job.env.get_parallelism() == 3
        assert job.env.get_max_parallelism() == 64


def test_nothing_is_left_behind() -> None:
    before = JobLauncher.current()
    with pytest.raises(ZeroDivisionError), MiniJob() as job:  # noqa: PT012
        source = job.source()
        job.collect(source.stream)
        job.process()
        raise ZeroDivisionError
    assert JobLauncher.current() is before
    assert job.client.get_job_status().result().name == "CANCELED"


def test_a_job_that_has_not_begun_has_no_client() -> None:
    with MiniJob() as job, pytest.raises(JobDefinitionError, match="process"):
        _ = job.client


def test_an_epoch_after_a_slow_one_reads_all_that_was_pushed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The engine reads less after an epoch that took too long, as all may on a busy machine."""
    accept = Pacer.accept

    def slow(pacer: Pacer, acks: Sequence[Ack], program: Program, epoch_ms: float) -> None:
        accept(pacer, acks, program, 60_000.0)

    monkeypatch.setattr(Pacer, "accept", slow)
    with MiniJob() as job:
        source = job.source()
        numbers = job.collect(source.stream)
        for rounds in range(1, 5):
            source.push(*range(100))
            job.process()
            assert len(numbers.values()) == 100 * rounds
