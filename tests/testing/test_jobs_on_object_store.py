"""A whole job without a local path: checkpoints, savepoints, source and sink in one file system."""

from __future__ import annotations

import os
import stat
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from millrace.common import Types
from millrace.common.config import options
from millrace.common.config.configuration import Configuration
from millrace.common.serialization import Encoder
from millrace.common.time.watermark_strategy import WatermarkStrategy
from millrace.connectors.file_sink import FileSink
from millrace.connectors.file_source import FileSource
from millrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from millrace.filesystem.registry import file_system_of
from millrace.formats.stream_format import StreamFormat
from millrace.state.checkpoint.savepoints import find_savepoints
from millrace.state.checkpoint.snapshot import Snapshot, open_snapshot
from millrace.testing.mini_cluster import run_local

WORDS = [f"w{n % 7}" for n in range(500)]


def counted(root: str, out: str, stop_at: int | None = None, **settings: Any) -> str | None:
    """Count words; the savepoint that it was stopped with."""
    configuration = Configuration({"execution.checkpointing.interval": "0 ms", **settings})
    configuration.set(options.SAVEPOINT_DIR, f"{root}/savepoints")
    lines = StreamFormat.text_line_format()
    source = FileSource.for_record_stream_format(lines, f"{root}/in").build()
    sink = FileSink.for_row_format(f"{root}/{out}", Encoder.simple_string_encoder()).build()
    with run_local(epoch_records=50, checkpoint_dir=f"{root}/checkpoints") as cluster:
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        words = env.from_source(source, WatermarkStrategy.no_watermarks(), "in")
        counts = words.map(lambda w: (w, 1)).key_by(lambda p: p[0], Types.STRING())
        counts.reduce(lambda a, b: (a[0], a[1] + b[1])).uid("count").map(str).sink_to(sink)
        started: Future[Any] = Future()
        asked: list[Any] = []

        def watch(progress: Any) -> None:
            if progress.epochs == stop_at:
                asked.append(started.result(60).stop_with_savepoint(False))

        cluster.listeners.append(watch)
        client = env.execute_async("words")
        started.set_result(client)
        client.get_job_execution_result().result()
        return asked[0].result(60) if asked else None


def test_stopped_and_gone_on(store_root: str) -> None:
    files = file_system_of(store_root)
    files.publish(f"{store_root}/in/words", ["\n".join(WORDS).encode()])
    counted(store_root, "whole")
    path = counted(store_root, "out", stop_at=4)
    assert path is not None
    assert path.startswith(f"{store_root}/savepoints/")
    [found] = find_savepoints(store_root)
    assert isinstance(found, Snapshot)
    assert open_snapshot(path).is_canonical
    start = {"execution.state-recovery.path": path}
    counted(store_root, "out", **start)
    assert lines(store_root, "out") == lines(store_root, "whole")


def lines(root: str, directory: str) -> list[str]:
    files = file_system_of(root)
    found = [f.location for f in files.list(f"{root}/{directory}", recursive=True)]
    assert not [path for path in found if "/." in path]
    return sorted(line for p in found for line in files.read(p).decode().splitlines())


def test_nobody_else_can_read_state(tmp_path: Path) -> None:
    """Whatever the umask; the output is for its readers."""
    before = os.umask(0o022)
    try:
        files = file_system_of(tmp_path)
        files.publish(f"{tmp_path}/in/words", ["\n".join(WORDS).encode()])
        counted(str(tmp_path), "out", stop_at=4)
    finally:
        os.umask(before)
    state = [*(tmp_path / "checkpoints").rglob("*"), *(tmp_path / "savepoints").rglob("*")]
    assert {path.name for path in state} > {"_metadata", "lease.json", "shared"}
    # a run that has ended takes its files in "control" away when its thread gets to it
    lasting = [path for path in state if "control" not in path.parts]
    for path in [tmp_path / "checkpoints", tmp_path / "savepoints", *lasting]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
    parts = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert {stat.S_IMODE(path.stat().st_mode) for path in parts} == {0o644}


def read_what_is_there(root: str) -> None:
    """A run of a job that archives what it has read."""
    lines = StreamFormat.text_line_format()
    source = FileSource.for_record_stream_format(lines, f"{root}/in/*")
    source.archive_after_reading(f"{root}/archive")
    sink = FileSink.for_row_format(f"{root}/out", Encoder.simple_string_encoder()).build()
    with run_local(epoch_records=50, checkpoint_dir=f"{root}/checkpoints"):
        settings = Configuration({options.AVAILABLE_NOW.key: "true"})
        env = StreamExecutionEnvironment.get_execution_environment(settings)
        words = env.from_source(source.build(), WatermarkStrategy.no_watermarks(), "in")
        counts = words.map(lambda w: (w, 1)).key_by(lambda p: p[0], Types.STRING())
        counts.reduce(lambda a, b: (a[0], a[1] + b[1])).uid("count").map(str).sink_to(sink)
        env.execute("words")


def test_run_by_run_with_an_archive(store_root: str) -> None:
    """Under the same names, files of other sizes: an object store tells times by the second."""
    files, given = file_system_of(store_root), 0
    for run in range(3):
        for name in "x/one", "y/two":
            words = [*WORDS, *["w0"] * run]
            files.publish(f"{store_root}/in/{name}", ["\n".join(words).encode()])
            given += len(words)
        read_what_is_there(store_root)
        found = lines(store_root, "out")
        assert len(found) == len(set(found)) == given
        archived = files.list(f"{store_root}/archive", recursive=True)
        assert len(list(archived)) == 2 * (run + 1)
        assert not list(files.list(f"{store_root}/in", recursive=True))
