"""What happens to a checkpoint's state when the job was changed."""

from __future__ import annotations

import pytest

from millrace.common import Configuration
from millrace.common.errors import MillraceError
from millrace.common.serialization import Encoder
from millrace.connectors.file_sink import FileSink
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.job_launcher import JobLauncher
from millrace.testing.local_executor import LocalExecutor


def run(directory, name: str, resume: bool, epochs: int | None) -> None:
    """Run a job into files, stopping it after some epochs."""
    launcher = JobLauncher(executor=lambda c, n, p: LocalExecutor(), resume=resume)
    JobLauncher.install(launcher)
    try:
        settings = {
            "execution.checkpointing.dir": str(directory / "checkpoints"),
            "execution.checkpointing.interval": "0 ms",
            "millrace.epoch.initial-records-per-split": "5",
            "millrace.epoch.max-records-per-split": "5",
        }
        env = StreamExecutionEnvironment.get_execution_environment(Configuration(settings))
        sink = FileSink.for_row_format(
            str(directory / "out"), Encoder.simple_string_encoder()
        ).build()
        env.from_collection(list(range(20))).map(str).name(name).sink_to(sink)
        client = env.build_client("job")
        if epochs is not None:
            env.launcher.listeners.append(lambda p: client.stop() if p.epochs == epochs else None)
        client.run()
        client.result()
    finally:
        JobLauncher.install(None)


def test_writer_state_of_a_sink_that_is_gone_is_refused(tmp_path) -> None:
    """A structural uid follows the names before it: the sink's state would be lost silently."""
    with pytest.raises(MillraceError):
        run(tmp_path, "A", resume=False, epochs=2)
    with pytest.raises(MillraceError, match="does not have"):
        run(tmp_path, "B", resume=True, epochs=None)
    run(tmp_path, "A", resume=True, epochs=None)
    lines = [
        line
        for file in (tmp_path / "out").rglob("*")
        if file.is_file() and not file.name.startswith((".", "_"))
        for line in file.read_text().splitlines()
    ]
    assert sorted(map(int, lines)) == list(range(20))
