"""No scheme without a file system is taken for a local directory, wherever a location enters."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from millrace.cli.main import main
from millrace.common.config.configuration import Configuration
from millrace.common.errors import UnsupportedFileSystemSchemeError
from millrace.common.serialization import Encoder
from millrace.common.time.watermark_strategy import WatermarkStrategy
from millrace.connectors.file_sink import FileSink
from millrace.connectors.file_source import FileSource
from millrace.connectors.orphans import sweep_orphans
from millrace.datastream import StreamExecutionEnvironment
from millrace.engine.checkpoint_coordinator import CheckpointCoordinator
from millrace.engine.job_config import JobConfig
from millrace.formats.stream_format import StreamFormat
from millrace.spark.connector import CopiedDataFrameSource
from millrace.state.checkpoint.savepoints import dispose_savepoint, find_savepoints
from millrace.state.checkpoint.snapshot import open_snapshot
from millrace.state_processor import SavepointWriter
from millrace.state_processor.state_changes_source import StateChangesSource
from millrace.testing import run_local

URI = "ftp://host/dir"
LINES = StreamFormat.text_line_format()


@pytest.fixture(autouse=True)
def _in_an_empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Whatever is taken for a local path makes a directory ``ftp:`` here."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    yield
    assert not (tmp_path / "ftp:").exists()


def job(settings: dict[str, Any]) -> None:
    env = StreamExecutionEnvironment.get_execution_environment(Configuration(settings))
    env.from_collection([1]).print()
    with run_local():
        env.execute()


ENTRIES: dict[str, Callable[[], object]] = {
    "checkpoints": lambda: job({"execution.checkpointing.dir": URI}),
    "default savepoint directory": lambda: job({"execution.checkpointing.savepoint-dir": URI}),
    "savepoint to start from": lambda: job({"execution.state-recovery.path": URI}),
    "coordinator": lambda: CheckpointCoordinator(JobConfig(checkpoint_dir=URI), "job", "run"),
    "snapshot": lambda: open_snapshot(URI),
    "list of savepoints": lambda: list(find_savepoints(URI)),
    "disposal": lambda: dispose_savepoint(URI),
    "state processor": lambda: SavepointWriter.new_savepoint(None).write(URI),
    "state processor's base": lambda: SavepointWriter.from_existing_savepoint(None, URI),
    "file source": lambda: FileSource.for_record_stream_format(LINES, URI),
    "file sink": lambda: FileSink.for_row_format(URI, Encoder.simple_string_encoder()),
    "sweep": lambda: sweep_orphans(URI, 0, ()),
    "followed state": lambda: StateChangesSource(URI, "count", "clicks"),
    "dataframe": lambda: CopiedDataFrameSource(None, URI),
}


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)
def test_another_scheme_is_refused(entry: Callable[[], object]) -> None:
    with pytest.raises(UnsupportedFileSystemSchemeError, match="'ftp' is not supported"):
        entry()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["run", "--checkpoint-dir", URI, "job.py"], 2),
        (["run", "--conf", f"execution.checkpointing.savepoint-dir={URI}", "job.py"], 2),
        (["run", "-s", URI, "job.py"], 2),
        (["run", "--py-files", URI, "job.py"], 2),
        (["run", URI], 2),
        (["list", "--checkpoint-dir", URI], 2),
        (["status", "--checkpoint-dir", URI, "job"], 2),
        (["status", URI], 1),
        (["stop", "job", "--savepoint", URI], 2),
        (["savepoint", "take", "job", URI], 2),
        (["savepoint", "list", URI], 2),
        (["savepoint", "tree", URI], 2),
        (["savepoint", "show", URI], 1),
        (["savepoint", "diff", URI, URI], 1),
        (["savepoint", "sql", URI, "select 1"], 1),
        (["savepoint", "dispose", URI], 1),
    ],
    ids=lambda word: " ".join(word) if isinstance(word, list) else str(word),
)
def test_another_scheme_is_refused_on_command_lines(
    words: list[str], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("job.py").write_text("")
    try:
        found = main(words)
    except SystemExit as exit_:
        found = int(exit_.code or 0)
    assert found == code
    assert "'ftp' is not supported" in capsys.readouterr().err


def test_file_uris_work_from_source_through_checkpoints_to_sink(tmp_path: Path) -> None:
    (tmp_path / "in put").mkdir()
    (tmp_path / "in put" / "a").write_text("x\ny\n")
    uri = tmp_path.as_uri()
    source = FileSource.for_record_stream_format(LINES, f"{uri}/in%20put").build()
    sink = FileSink.for_row_format(f"{uri}/out", Encoder.simple_string_encoder()).build()
    with run_local(checkpoint_dir=f"{uri}/checkpoints"):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.from_source(source, WatermarkStrategy.no_watermarks(), "in").sink_to(sink)
        env.execute("copy")
    parts = [p for p in (tmp_path / "out").rglob("part-*") if p.is_file()]
    assert sorted(line for part in parts for line in part.read_text().split()) == ["x", "y"]
    assert list((tmp_path / "checkpoints").glob("*/chk-*/_metadata"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoints", "in put", "out"]
    [job_dir] = (tmp_path / "checkpoints").iterdir()
    assert open_snapshot(f"{uri}/checkpoints/{job_dir.name}").manifest.job_name == "copy"
    assert main(["list", "--checkpoint-dir", f"{uri}/checkpoints"]) == 0
