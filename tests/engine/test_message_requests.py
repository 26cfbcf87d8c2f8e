"""Messages to operators of a running job: what happens to one that an operator cannot take."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeAlias

import pytest

from millrace.common import Configuration
from millrace.common.errors import JobControlError, JobExecutionError, StateError
from millrace.common.time.watermark_strategy import WatermarkStrategy
from millrace.common.types.batch import RowBatch
from millrace.connectors.data_generator import DataGeneratorSource, RateLimiterStrategy
from millrace.datastream import StreamExecutionEnvironment
from millrace.engine.resident.tasks import ResidentSettings
from millrace.runtime.epoch import EpochContext
from millrace.runtime.operator import Operator
from millrace.testing import CollectingSink, MiniCluster, run_local
from millrace.testing.resident_tasks import local_resident_executor

Running: TypeAlias = Callable[[], AbstractContextManager[MiniCluster]]
PATIENCE = 60.0
SLOWLY = RateLimiterStrategy.per_second(100)
RESTARTS = {
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "1000",
    "restart-strategy.fixed-delay.delay": "1 ms",
}


def checked(message: bytes) -> None:
    if message == b"malformed":
        raise StateError("this is no message")


class Listener(Operator):
    """Hands records on, and raises if it is told to."""

    message_check = staticmethod(checked)

    def begin_epoch(self, epoch: EpochContext) -> None:
        message = epoch.messages.get(self.context.uid)
        if message == b"raise":
            raise ValueError("on purpose")
        if message is not None:
            RECEIVED.append(message)

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        self.output.emit(RowBatch(values, timestamps))


RECEIVED: list[bytes] = []
"""Messages that the operators of this process got."""


@pytest.fixture(params=["epochs", "resident"])
def running(request: pytest.FixtureRequest) -> Running:
    if request.param == "epochs":
        return lambda: run_local(workers=2, seed=3, epoch_records=1)
    settings = ResidentSettings(barrier_interval=20)
    return lambda: run_local(executor=lambda: local_resident_executor(2, settings))


def started(settings: dict[str, str]) -> Any:
    """Client of a job that does not end by itself."""
    RECEIVED.clear()
    env = StreamExecutionEnvironment.get_execution_environment(Configuration(settings))
    source = DataGeneratorSource(lambda number: number, rate_limiter_strategy=SLOWLY)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    listening = numbers._then("listener", Listener, None)
    listening.uid("listener").sink_to(CollectingSink())
    return env.execute_async("job")


def test_a_message_with_which_an_epoch_fails_is_refused_and_others_are_taken(
    running: Running,
) -> None:
    with running():
        client = started(RESTARTS)
        with pytest.raises(JobControlError, match=r"(?s)'listener' has no effect.*on purpose"):
            client.send_message("listener", b"raise").result(PATIENCE)
        checkpoint = client.trigger_checkpoint().result(PATIENCE)
        assert client.send_message("listener", b"good").result(PATIENCE) > checkpoint
        assert set(RECEIVED) == {b"good"}
        assert client.progress().restarts == 1
        client.cancel().result(PATIENCE)


def test_a_message_ends_a_job_that_does_not_restart(running: Running) -> None:
    with running():
        client = started({"restart-strategy.type": "none"})
        with pytest.raises(JobExecutionError, match=r"(?s)ended before it could pass on.*on purp"):
            client.send_message("listener", b"raise").result(PATIENCE)
        with pytest.raises(JobExecutionError, match="on purpose"):
            client.result(PATIENCE)


def test_a_malformed_message_reaches_no_operator(running: Running) -> None:
    with running():
        client = started({"restart-strategy.type": "none"})
        with pytest.raises(StateError, match="this is no message"):
            client.send_message("listener", b"malformed").result(PATIENCE)
        client.send_message("listener", b"good").result(PATIENCE)
        assert set(RECEIVED) == {b"good"}
        client.cancel().result(PATIENCE)
