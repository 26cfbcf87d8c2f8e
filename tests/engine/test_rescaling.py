"""Another parallelism between two epochs of a running job."""

from __future__ import annotations

import random
from collections import Counter
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from millrace.common.completable_future import CompletableFuture
from millrace.common.errors import JobCancelledError, JobDefinitionError
from millrace.common.serialization import Encoder
from millrace.common.time.watermark_strategy import WatermarkStrategy
from millrace.connectors.file_sink import FileSink
from millrace.connectors.number_sequence import NumberSequenceSource
from millrace.datastream import StreamExecutionEnvironment
from millrace.engine.job_details import JobDetails, RescaleStatus
from millrace.testing import run_local

NUMBERS = 60
WHOLE = Counter(sum(range(n % 7, n + 1, 7)) for n in range(NUMBERS))


def run(
    changes: dict[int, int], directory: Path, *, fixed: int | None = None, seed: int = 1,
    stop_at: int | None = None, resume: bool = False,
) -> tuple[list[Any], list[Any], list[Any]]:  # fmt: skip
    """What a job gave that is rescaled after some epochs, the answers, and its progress."""
    answers = []
    with run_local(
        workers=2, seed=seed, epoch_records=1, checkpoint_dir=str(directory / "ckpt"), resume=resume
    ) as cluster:
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(2)
        numbers = env.from_collection(range(NUMBERS)).uid("numbers")
        spread = numbers.rebalance().map(lambda n: n).uid("spread")
        if fixed is not None:
            spread.set_parallelism(fixed)
        sums = spread.key_by(lambda n: n % 7).sum().uid("sums")
        encoder = Encoder.simple_string_encoder()
        sink = FileSink.for_row_format(str(directory / "out"), encoder).build()
        sums.sink_to(sink).uid("files")
        started: Future[Any] = Future()

        def act(progress: Any) -> None:
            if progress.epochs in changes:
                answers.append(started.result(60).rescale(changes[progress.epochs]))
            if progress.epochs == stop_at:
                started.result(60).stop()

        cluster.listeners.append(act)
        results = sums.execute_and_collect("rescaled")
        started.set_result(results._client)
        got = []
        try:
            got.extend(results)
        except JobCancelledError:
            assert stop_at is not None
        return got, answers, cluster.progress


def lines(directory: Path) -> Counter[int]:
    parts = (directory / "out").rglob("part-*")
    return Counter(int(v) for p in parts for v in p.read_text().split())


@pytest.mark.turns(7)
@pytest.mark.parametrize("seed", range(8))
def test_nothing_is_lost_or_doubled(seed: int, tmp_path: Path) -> None:
    """Up and down, at any time, sinks included; and nothing is read again."""
    chance = random.Random(seed)
    changes = {at: chance.randint(1, 6) for at in chance.sample(range(1, 50), 3)}
    got, answers, progress = run(changes, tmp_path, seed=seed)
    assert Counter(got) == WHOLE
    assert lines(tmp_path) == WHOLE
    assert [answer.result(0) for answer in answers] == [None] * len(changes)
    assert progress[-1].records == NUMBERS
    assert progress[-1].restarts == 0
    check_history(progress[-1], list(dict(sorted(changes.items())).values()))


def check_history(details: JobDetails, wanted: list[int]) -> None:
    """Each change is remembered, with what each stage had before and after it."""
    assert [each.parallelism for each in reversed(details.rescales)] == wanted
    had = 2
    for number, each in enumerate(reversed(details.rescales), 1):
        assert (each.number, each.failure) == (number, None)
        assert each.ended is not None
        assert each.ended >= each.begun
        sums = next(s for uid, s in each.stages.items() if uid == "sums")
        assert (sums.before, sums.after) == (had, each.parallelism)
        same = had == each.parallelism
        assert each.status is (RescaleStatus.IGNORED if same else RescaleStatus.COMPLETED)
        had = each.parallelism


def test_what_the_program_fixed_stays(tmp_path: Path) -> None:
    """Only the default is changed."""
    got, _, progress = run({5: 4}, tmp_path, fixed=3)
    assert Counter(got) == WHOLE
    assert progress[-1].cached["restored"] > 0


def test_a_wrong_one_is_refused_and_the_job_goes_on(tmp_path: Path) -> None:
    got, answers, progress = run({3: 0, 6: 1_000}, tmp_path)
    assert Counter(got) == WHOLE
    refused = {each.failure: each.status for each in progress[-1].rescales}
    assert refused == {str(answer.exception()): RescaleStatus.FAILED for answer in answers}
    for answer, message in zip(answers, ("at least 1", "max parallelism 128"), strict=True):
        with pytest.raises(JobDefinitionError, match=message):
            answer.result(0)


def test_it_can_be_resumed_with_what_the_program_says(tmp_path: Path) -> None:
    """Also when it was stopped before the first epoch of its new parallelism."""
    for number, stop_at in enumerate((6, 7, 12)):
        directory = tmp_path / str(number)
        first, _, _ = run({6: 5}, directory, stop_at=stop_at)
        second, _, _ = run({}, directory, resume=True)
        assert Counter(first) + Counter(second) == WHOLE
        assert lines(directory) == WHOLE


def test_the_answer_tells_whether_the_parallelism_has_changed() -> None:
    """Not so if the input ends with the epoch in which the change is prepared."""
    answers: dict[int, bool] = {}
    for at in range(1, 7):
        with run_local(epoch_records=4) as cluster:
            env = StreamExecutionEnvironment.get_execution_environment()
            env.set_parallelism(1).enable_checkpointing(0)
            env.from_collection(range(20)).rebalance().map(str).print()
            client = env.build_client("rescaled")
            asked: list[CompletableFuture[None]] = []

            def ask(details: JobDetails) -> None:
                if details.epochs == at:  # noqa: B023
                    asked.append(client.rescale(2))  # noqa: B023

            cluster.listeners.append(ask)
            client.run()
        wide = max(s.parallelism for s in client._manager._deployment.program.stages) == 2
        for answer in asked:
            error = answer.exception(0)
            assert (error is None) == wide
            assert error is None or "ended" in str(error)
            answers[at] = wide
            for each in client._manager.details().rescales:
                assert each.status is (RescaleStatus.COMPLETED if wide else RescaleStatus.IGNORED)
    assert set(answers.values()) == {True, False}


@pytest.mark.parametrize("parallelism", [1, 3])
def test_a_source_that_has_ended_stays_at_its_end(parallelism: int) -> None:
    """Its subtasks have no splits any more, and so no watermarks of splits to take over."""
    with run_local(epoch_records=1, epoch_limit=100) as cluster:
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(2)
        no_watermarks = WatermarkStrategy.no_watermarks()
        short, long = (
            env.from_source(NumberSequenceSource(1, last), no_watermarks, "to").uid(f"to-{last}")
            for last in (2, 400)
        )
        sums = short.union(long).key_by(lambda n: n % 3).sum().uid("sums")
        started, answers = Future[Any](), list[Any]()

        def rescale(progress: Any) -> None:
            if progress.epochs == 4:
                answers.append(started.result(60).rescale(parallelism))

        cluster.listeners.append(rescale)
        results = sums.execute_and_collect("ended")
        started.set_result(results._client)
        assert len(list(results)) == 402
        assert [answer.result(0) for answer in answers] == [None]
