"""``millrace run --available-now`` as cron would start it, on Spark, killed in between."""

from __future__ import annotations

import os
import signal
import subprocess
import textwrap
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.fault]

Start = Callable[..., "subprocess.Popen[str]"]
PATIENCE = 180
"""Seconds until a run counts as hanging."""

JOB = """
    from millrace.common import (
        Duration, Encoder, ErrorPolicy, OutputTag, Types, WatermarkStrategy
    )
    from millrace.connectors import BucketAssigner, FileSink, FileSource
    from millrace.datastream import StreamExecutionEnvironment
    from millrace.formats import CsvReaderFormat, CsvSchema

    def to_files(stream, directory):
        sink = FileSink.for_row_format(directory, Encoder.simple_string_encoder())
        base_path = BucketAssigner.base_path_bucket_assigner()
        stream.sink_to(sink.with_bucket_assigner(base_path).build())

    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2).enable_checkpointing(0)
    schema = CsvSchema.builder().add_string_column("word").add_number_column("n").build()
    bad = OutputTag("bad lines")
    lines = FileSource.for_record_stream_format(CsvReaderFormat.for_schema(schema), "in")
    words = env.from_source(
        lines.monitor_continuously(Duration.of_seconds(1))
        .set_error_policy(ErrorPolicy.side_output(bad))
        .archive_after_reading("read")
        .build(),
        WatermarkStrategy.no_watermarks(), "words",
    )
    counts = words.map(lambda row: (row.word, row.n)).key_by(lambda pair: pair[0]).sum(1)
    to_files(counts.map(lambda pair: f"{pair[0]} {pair[1]}", Types.STRING()), "out")
    letters = words.get_side_output(bad)
    to_files(letters.map(lambda letter: letter.raw.decode().strip(), Types.STRING()), "dead")
    env.execute("words")
"""
SETTINGS = "--conf", "millrace.epoch.max-records-per-split=20"


def put(directory: Path, name: str, lines: list[str]) -> None:
    hidden = directory / f".{name}"
    hidden.write_text("".join(f"{line}\n" for line in lines))
    os.rename(hidden, directory / name)


def output(directory: Path) -> Counter[str]:
    parts = directory.glob("part-*")
    return Counter(line for part in parts for line in part.read_text().splitlines())


def checkpoints(directory: Path) -> set[str]:
    while True:
        with suppress(FileNotFoundError):  # an old checkpoint is deleted meanwhile
            return {path.parent.name for path in (directory / "state").rglob("chk-*/_metadata")}


def kill_after_checkpoint(process: subprocess.Popen[str], directory: Path) -> None:
    """kill -9 of the driver as soon as it has made a few checkpoints of its own."""
    before, deadline = checkpoints(directory), time.monotonic() + PATIENCE
    while len(checkpoints(directory) - before) < 2 and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL, "it was done before it could be killed"


@pytest.mark.turns(7)
@pytest.mark.parametrize("kills", [1, pytest.param(12, marks=pytest.mark.torture)])
def test_runs_that_are_killed_are_made_good_by_the_next(
    start: Start, tmp_path: Path, kills: int
) -> None:
    """Every count and every dead letter is there once, and every file in the archive."""
    (tmp_path / "job.py").write_text(textwrap.dedent(JOB))
    (tmp_path / "in").mkdir()
    lines = [f"bad-{n}" if n % 10 == 3 else f"w{n % 7},1" for n in range(400 * (kills + 1))]
    run = "run", "--available-now", *SETTINGS, "job.py"
    for kill in range(kills):
        put(tmp_path / "in", f"{kill}.csv", lines[400 * kill : 400 * kill + 400])
        kill_after_checkpoint(start(*run), tmp_path)

    def finish(files: int) -> None:
        process = start(*run)
        _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, err
        assert "resuming from checkpoint" in err
        expected = lines[: 400 * files]
        totals = Counter(line.split(",")[0] for line in expected if "," in line)
        assert output(tmp_path / "out") == Counter(
            f"{word} {count}" for word in totals for count in range(1, totals[word] + 1)
        )
        assert output(tmp_path / "dead") == Counter(n for n in expected if "," not in n)
        assert set(os.listdir(tmp_path / "read")) == {f"{n}.csv" for n in range(files)}
        assert os.listdir(tmp_path / "in") == []

    if kills > 1:  # else the run that follows the kill has new lines at once
        finish(kills)
    put(tmp_path / "in", f"{kills}.csv", lines[400 * kills :])
    finish(kills + 1)
