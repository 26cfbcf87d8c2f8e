"""What the sinks have committed is the readers': a later run does not look for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from millrace.common.serialization import Encoder
from millrace.connectors.errors import PartFileError
from millrace.connectors.file_sink import FileSink
from millrace.datastream import StreamExecutionEnvironment
from millrace.engine.job_identity import job_id_of
from millrace.testing import run_local

JOB = "write"


def write(directory: Path, resume: bool = False) -> None:
    """Write ten lines; when resumed after the end, nothing is left to do."""
    with run_local(epoch_records=4, checkpoint_dir=str(directory / "ck"), resume=resume):
        env = StreamExecutionEnvironment.get_execution_environment()
        sink = FileSink.for_row_format(
            str(directory / "out"), Encoder.simple_string_encoder()
        ).build()
        env.from_collection([f"line {n}" for n in range(10)]).sink_to(sink)
        env.execute(JOB)


def newest(directory: Path) -> Path:
    found = (directory / "ck" / job_id_of(JOB)).glob("chk-*")
    return max(found, key=lambda path: int(path.name.partition("-")[2]))


def move_parts_away(directory: Path) -> int:
    parts = [path for path in (directory / "out").rglob("part-*") if path.is_file()]
    for part in parts:
        part.rename(directory / part.name)
    return len(parts)


def test_readers_may_move_parts_away_between_runs(tmp_path: Path) -> None:
    write(tmp_path)
    assert (newest(tmp_path) / "_committed").exists()
    assert move_parts_away(tmp_path) > 0
    write(tmp_path, resume=True)
    assert move_parts_away(tmp_path) == 0


def test_without_the_note_a_missing_part_is_named(tmp_path: Path) -> None:
    """The driver died before it could note that the commit was done."""
    write(tmp_path)
    (newest(tmp_path) / "_committed").unlink()
    write(tmp_path, resume=True)  # the parts are there: committing again changes nothing
    (newest(tmp_path) / "_committed").unlink(missing_ok=True)
    move_parts_away(tmp_path)
    with pytest.raises(PartFileError, match="part-"):
        write(tmp_path, resume=True)


def test_the_note_goes_with_its_checkpoint(tmp_path: Path) -> None:
    write(tmp_path)
    checkpoints = list((tmp_path / "ck" / job_id_of(JOB)).glob("chk-*"))
    assert [path.name for path in checkpoints] == [newest(tmp_path).name]
