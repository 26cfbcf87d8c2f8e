"""`millrace.resume`: `millrace run --resume` as a setting of the program."""

from __future__ import annotations

from pathlib import Path

import pytest

from millrace.common import Configuration
from millrace.common.errors import JobCancelledError
from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import run_local


def printed(
    directory: Path, capsys: pytest.CaptureFixture[str], cancel: bool = False, **settings: str
) -> list[int]:
    """Run a job with a checkpoint after each epoch; with ``cancel``, cancel it after the third."""
    configuration = Configuration({key.replace("_", "."): text for key, text in settings.items()})
    with run_local(epoch_records=2, checkpoint_dir=directory) as cluster:
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        env.set_parallelism(1).enable_checkpointing(0)
        env.from_collection(range(20)).print()
        client = env.build_client("job")
        cluster.listeners.append(lambda p: client.cancel() if cancel and p.epochs == 3 else None)
        client.run()
        if cancel:
            with pytest.raises(JobCancelledError):
                client.result()
        else:
            client.result()
    return [int(line) for line in capsys.readouterr().out.split()]


def test_goes_on_only_if_it_is_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = printed(tmp_path, capsys, cancel=True)
    assert first == list(range(6))
    assert printed(tmp_path, capsys, cancel=True) == first
    assert printed(tmp_path, capsys, millrace_resume="true") == list(range(6, 20))


def test_starts_afresh_without_a_checkpoint(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert printed(tmp_path, capsys, millrace_resume="true") == list(range(20))
