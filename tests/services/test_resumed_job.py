"""Killed jobs on resident tasks: how many records they read in an epoch, and in a life."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from resumed_job import BATCH, EPOCH, EXECUTOR, lasting, run_resumed

from millrace.common import WatermarkStrategy
from millrace.connectors import NumberSequenceSource
from millrace.datastream import StreamExecutionEnvironment
from millrace.engine.sink_commits import MOST_BEHIND
from millrace.runtime.resident import resident_worker

SHARE = 2 * (EPOCH + 2 * BATCH)
"""Records at most that two sources read in an epoch."""


def test_a_source_reads_no_more_than_its_share_of_an_epoch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(EXECUTOR, "resident")
    monkeypatch.setattr(resident_worker, "ResidentSubtask", resident_worker.ResidentSubtask)
    read = [(0, 0)]

    def build(env: StreamExecutionEnvironment) -> None:
        env.launcher.listeners.append(lambda job: read.append((job.epochs, job.records)))
        source = NumberSequenceSource(0, 5 * SHARE - 1, splits=2)
        numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
        numbers.map(str).print()

    settings = {"execution.checkpointing.dir": str(tmp_path)}
    run_resumed("paced", build, settings)
    for (epochs, before), (later, after) in pairwise(read):
        assert after - before <= SHARE * (later - epochs)
    assert read[-1][1] == 5 * SHARE


def test_input_that_outlasts_traps() -> None:
    """A job that reads its whole share has so many epochs that the last trap is reached, behind as
    many commits as may wait."""
    traps = ["before-sink-commit:1", "after-metadata:7"]
    assert lasting(traps) > SHARE * (1 + 7 + 2 * MOST_BEHIND)
