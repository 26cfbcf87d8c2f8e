"""A job that has nothing more to do just now."""

from __future__ import annotations

from pathlib import Path
from threading import Event

import pytest

from millrace.common import Duration, Encoder, WatermarkStrategy
from millrace.connectors import BucketAssigner, FileSink, FileSource, RollingPolicy
from millrace.datastream import StreamExecutionEnvironment
from millrace.formats import StreamFormat
from millrace.testing import ManualClock, run_local


class LookingClock(ManualClock):
    """Notes whether there are results whenever the job begins to wait."""

    def __init__(self, results: Path) -> None:
        super().__init__(100)
        self.results = results
        self.seen: list[tuple[int, bool]] = []

    def wait_until(self, at: int | None, interrupted: Event) -> None:
        self.seen.append((self.now(), any(self.results.glob("part-*"))))
        super().wait_until(at, interrupted)


def test_results_do_not_wait_for_the_next_epoch(tmp_path: Path) -> None:
    """Files of the last epoch before silence appeared with the next checkpoint that followed an
    epoch: after 45 s, when an idle job runs an empty one."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "file").write_text("a\n")
    clock = LookingClock(tmp_path / "out")
    with run_local(clock=clock, checkpoint_dir=str(tmp_path / "state"), epoch_limit=2):
        env = StreamExecutionEnvironment.get_execution_environment()
        text = StreamFormat.text_line_format()
        source = FileSource.for_record_stream_format(text, tmp_path / "in")
        watched = source.monitor_continuously(Duration.of_millis(700)).build()
        sink = FileSink.for_row_format(tmp_path / "out", Encoder.simple_string_encoder())
        sink = sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        policy = RollingPolicy.on_checkpoint_rolling_policy()
        lines = env.from_source(watched, WatermarkStrategy.no_watermarks(), "lines")
        lines.sink_to(sink.with_rolling_policy(policy).build())
        with pytest.raises(RuntimeError, match="after 2 epochs"):
            env.execute("idle")
    assert [present for at, present in clock.seen if at < 1_000] == [False, False]
    assert all(present for at, present in clock.seen if at >= 1_000)
