"""What a running job is asked for between two epochs."""

from __future__ import annotations

from concurrent.futures import Future
from pathlib import Path

import pytest

from millrace.common.errors import JobExecutionError
from millrace.datastream import StreamExecutionEnvironment
from millrace.engine.embedded_job_client import EmbeddedJobClient
from millrace.testing import run_local

HOUR_MS = 3_600_000


def run(directory: Path, at: dict[int, str]) -> tuple[EmbeddedJobClient, dict[int, object]]:
    """A job whose interval never passes; it is asked for what ``at`` says per epoch."""
    with run_local(workers=2, seed=1, epoch_records=2, checkpoint_dir=str(directory)) as cluster:
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(2).enable_checkpointing(HOUR_MS)
        keyed = env.from_collection(range(40)).key_by(lambda n: n % 5)
        started: Future[EmbeddedJobClient] = Future()
        asked: dict[int, object] = {}

        def ask(details: object) -> None:
            name = at.get(details.epochs)
            if name is not None:
                asked[details.epochs] = getattr(started.result(60), name)()

        cluster.listeners.append(ask)
        results = keyed.sum().execute_and_collect("job")
        client = results._client
        started.set_result(client)
        assert sum(1 for _ in results) == 40
    return client, asked


def test_a_checkpoint_that_was_asked_for_does_not_wait_for_the_interval(tmp_path: Path) -> None:
    client, asked = run(tmp_path, {2: "trigger_checkpoint", 5: "trigger_checkpoint"})
    first, second = (asked[epoch].result(1) for epoch in (2, 5))
    history = client.progress().checkpoints
    assert second == first + 1
    assert [stats.number for stats in history.recent] == [second + 1, second, first]
    assert [stats.epoch for stats in history.recent[1:]] == [6, 3]


def test_one_that_comes_too_late_is_refused(tmp_path: Path) -> None:
    client, _ = run(tmp_path, {})
    with pytest.raises(JobExecutionError, match="so it cannot make a checkpoint"):
        client.trigger_checkpoint().result(1)
