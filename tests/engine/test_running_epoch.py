"""What is known of an epoch that takes long."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from millrace.common import WatermarkStrategy
from millrace.connectors.number_sequence import NumberSequenceSource
from millrace.datastream import StreamExecutionEnvironment
from millrace.engine.job_details import BusySubtask, EpochAttempt
from millrace.engine.running_epoch import describe_epoch, observed
from millrace.runtime.program import Program
from millrace.runtime.watchdog import REPORTS, SubtaskReport
from millrace.testing import run_local


def program() -> Program:
    """Two stages of three subtasks, one behind the other."""
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(3)
        numbers = env.from_source(
            NumberSequenceSource(1, 9), WatermarkStrategy.no_watermarks(), "numbers"
        )
        numbers.key_by(lambda n: n).sum().print()
        client = env.build_client("job")
    return client._manager._deployment.program


def report(directory: Path, stage: int, *left: int, **changed: object) -> None:
    fields = {
        "run_id": "", "epoch": 12, "attempt": 0, "stage": stage, "subtask": left[0],
        "operator": "Enrich", "worker": f"host:{left[0]}", "seconds": 9.0 - left[0],
        "left": tuple((stage, index) for index in left), "stack": "at work\n",
    }  # fmt: skip
    (directory / REPORTS).mkdir(exist_ok=True)
    data = msgspec.json.encode(SubtaskReport(**{**fields, **changed}))  # type: ignore[arg-type]
    (directory / REPORTS / f"{len(os.listdir(directory / REPORTS))}.json").write_bytes(data)


def test_subtasks_that_are_done(tmp_path: Path) -> None:
    """Those of levels before, and of the tasks of this one that do not report."""
    job = program()
    last = max(job.stages, key=lambda stage: stage.level).id
    running = EpochAttempt(12, 0, 0)
    assert observed(running, str(tmp_path), job).done is None
    report(tmp_path, last, 0, 2, run_id=job.run_id)
    found = observed(running, str(tmp_path), job)
    assert (found.done, found.subtasks, len(found.busy)) == (4, 6, 1)
    assert describe_epoch(found, 41_000) == (
        "epoch 12 running for 41 s in 'Enrich' (subtask 0), 4 of 6 subtasks done"
    )
    report(tmp_path, last, 1, run_id=job.run_id)
    assert observed(running, str(tmp_path), job).done == 3


def test_reports_of_other_epochs_do_not_count(tmp_path: Path) -> None:
    job = program()
    report(tmp_path, 0, 0, run_id="before")
    report(tmp_path, 0, 0, run_id=job.run_id, epoch=11)
    report(tmp_path, 0, 0, run_id=job.run_id, attempt=1)
    assert observed(EpochAttempt(12, 0, 0), str(tmp_path), job).busy == ()


def test_many_operators_and_tries_in_a_line() -> None:
    busy = tuple(BusySubtask(f"op {n % 5}", n, "w", 1.0, "") for n in range(25))
    text = describe_epoch(EpochAttempt(3, 1, 0, busy, 0, 25), 125_000)
    assert text == (
        "epoch 3, attempt 2, running for 2 min 5 s in 'op 0' (subtasks 0, 5, 10 and 2 more), "
        "'op 1' (subtasks 1, 6, 11 and 2 more), 'op 2' (subtasks 2, 7, 12 and 2 more) "
        "and 2 more operators, 0 of 25 subtasks done"
    )
