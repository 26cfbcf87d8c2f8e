"""Files that have been read are archived or deleted, and none is lost."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from object_store import ObjectStore

from millrace.common import Configuration, Duration, Encoder, ErrorPolicy, Types, WatermarkStrategy
from millrace.common.errors import JobDefinitionError
from millrace.connectors import BucketAssigner, FileSink, FileSource
from millrace.connectors.source_file_cleaner import CleanUp, SourceFileCleaner
from millrace.datastream import StreamExecutionEnvironment
from millrace.engine.job_details import JobDetails
from millrace.filesystem.registry import file_system_of
from millrace.formats import StreamFormat
from millrace.testing import ManualClock, run_local

TEXT = StreamFormat.text_line_format()
AVAILABLE_NOW = Configuration({"millrace.available-now": "true"})


def tree(directory: Path) -> dict[str, str]:
    files = (path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): path.read_text() for path in files}


def names(directory: Path) -> set[str]:
    return {str(p.relative_to(directory)) for p in directory.rglob("*") if p.is_file()}


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def version(path: Path) -> tuple[int, float]:
    status = file_system_of(str(path)).status(str(path))
    assert status is not None
    return status.length, status.modified


def cleaned(clean_up: CleanUp, *paths: Path) -> list[str]:
    cleaner = SourceFileCleaner(clean_up)
    for path in paths:
        cleaner.add(str(path), version(path))
    cleaner.clean()
    assert cleaner._pool is not None
    cleaner._pool.shutdown(wait=True)
    return cleaner.cleaned()


# -- one file -----------------------------------------------------------------------------------


def test_the_archive_keeps_relative_paths(tmp_path: Path) -> None:
    clean_up = CleanUp.create([str(tmp_path / "in")], str(tmp_path / "archive"))
    files = [put(tmp_path / "in" / name, name) for name in ("a.txt", "x/b.txt", "x/y/c.csv.gz")]
    assert cleaned(clean_up, *files) == list(map(str, files))
    assert tree(tmp_path / "archive") == {n: n for n in ("a.txt", "x/b.txt", "x/y/c.csv.gz")}
    assert tree(tmp_path / "in") == {}


def test_relative_to_where_wildcards_begin(tmp_path: Path) -> None:
    clean_up = CleanUp.create([str(tmp_path / "in/2026-*/*.txt")], str(tmp_path / "archive"))
    assert cleaned(clean_up, put(tmp_path / "in/2026-01/a.txt", "a"))
    assert tree(tmp_path / "archive") == {"2026-01/a.txt": "a"}


def test_nothing_in_the_archive_is_replaced(tmp_path: Path) -> None:
    clean_up = CleanUp.create([str(tmp_path / "in")], str(tmp_path / "archive"))
    for text in "one", "two", "three":
        cleaned(clean_up, put(tmp_path / "in/a.csv.gz", text))
    assert tree(tmp_path / "archive") == {
        "a.csv.gz": "one",
        "a-1.csv.gz": "two",
        "a-2.csv.gz": "three",
    }


def test_a_move_that_a_crash_interrupted_is_completed(tmp_path: Path) -> None:
    """Copied and not yet deleted; moved and not yet noted."""
    clean_up = CleanUp.create([str(tmp_path / "in")], str(tmp_path / "archive"))
    put(tmp_path / "archive/a.txt", "a")
    original = put(tmp_path / "in/a.txt", "a")
    assert cleaned(clean_up, original) == [str(original)]
    assert tree(tmp_path) == {"archive/a.txt": "a"}
    cleaner = SourceFileCleaner(clean_up)
    cleaner.add(str(original), (1, 1.0))
    cleaner.clean()
    cleaner.close()
    assert cleaner.waiting() == {}
    assert tree(tmp_path) == {"archive/a.txt": "a"}


def test_a_file_that_was_replaced_stays(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    cleaner = SourceFileCleaner(CleanUp.create([str(tmp_path / "in")], None))
    path = put(tmp_path / "in/a.txt", "a")
    cleaner.add(str(path), version(path))
    put(path, "another")
    cleaner.clean()
    cleaner.close()
    assert tree(tmp_path / "in") == {"a.txt": "another"}
    assert "it is a new file" in caplog.text


def test_what_cannot_be_moved_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clean_up = CleanUp.create([str(tmp_path / "in")], str(tmp_path / "archive"))
    path = put(tmp_path / "in/a.txt", "a")
    cleaner = SourceFileCleaner(clean_up)
    cleaner.add(str(path), version(path))
    files = file_system_of(str(path))
    with monkeypatch.context() as patched:
        patched.setattr(
            files, "commit", lambda uploads: (_ for _ in ()).throw(OSError(28, "disk full"))
        )
        cleaner.clean()
        cleaner.close()
    assert str(path) in cleaner.waiting()
    assert "disk full" in caplog.text
    again = SourceFileCleaner(clean_up)
    for waiting, at in cleaner.waiting().items():
        again.add(waiting, at)
    again.clean()
    again.close()
    assert tree(tmp_path / "archive") == {"a.txt": "a"}


def test_an_archive_on_another_disk_is_copied_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clean_up = CleanUp.create([str(tmp_path / "in")], str(tmp_path / "archive"))
    path = put(tmp_path / "in/a.txt", "a" * 3_000_000)

    def refuse(*_: Any) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(file_system_of(str(path)), "commit", refuse)
    assert cleaned(clean_up, path) == [str(path)]
    assert tree(tmp_path) == {"archive/a.txt": "a" * 3_000_000}


@pytest.mark.parametrize("archive", ["in", "in/done", "in/.done", ".", "link/done"])
def test_an_archive_within_what_is_read_is_refused(tmp_path: Path, archive: str) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "in")
    builder = FileSource.for_record_stream_format(TEXT, tmp_path / "in")
    with pytest.raises(JobDefinitionError, match="choose an archive outside"):
        builder.archive_after_reading(tmp_path / archive).build()


def test_an_object_store_copies_and_deletes(object_store: ObjectStore) -> None:
    object_store.put("memory://b/in/x/a.txt", b"a")
    object_store.put("memory://b/in/b.txt", b"b")
    cleaner = SourceFileCleaner(CleanUp.create(["memory://b/in"], "memory://b/archive"))
    for name in "x/a.txt", "b.txt":
        status = object_store.status(f"memory://b/in/{name}")
        assert status is not None
        cleaner.add(status.location, (status.length, status.modified))
    cleaner.clean()
    cleaner.close()
    assert object_store.keys("memory://b/") == ["archive/b.txt", "archive/x/a.txt"]


# -- in jobs ------------------------------------------------------------------------------------


class Job:
    """A job that is run time after time on what is there."""

    def __init__(self, directory: Path, archive: bool = True) -> None:
        self.directory, self._archives = directory, archive
        self.policy = ErrorPolicy.fail()
        self.interval = 0
        (directory / "in").mkdir()

    def run(
        self,
        listener: Callable[[JobDetails], None] = lambda _: None,
        split_size: int = 8,
        settings: Configuration = AVAILABLE_NOW,
    ) -> list[str]:
        builder = FileSource.for_record_stream_format(TEXT, self.directory / "in")
        builder.set_split_size(split_size).monitor_continuously(Duration.of_seconds(1))
        builder.set_error_policy(self.policy)
        if self._archives:
            builder.archive_after_reading(self.directory / "archive")
        else:
            builder.delete_after_reading()
        checkpoints = str(self.directory / "checkpoints")
        with run_local(
            clock=ManualClock(5), epoch_records=1, checkpoint_dir=checkpoints
        ) as cluster:
            cluster.listeners.append(listener)
            env = StreamExecutionEnvironment.get_execution_environment(Configuration(settings))
            env.enable_checkpointing(self.interval).set_parallelism(2)
            lines = env.from_source(builder.build(), WatermarkStrategy.no_watermarks(), "lines")
            sink = FileSink.for_row_format(
                str(self.directory / "out"), Encoder.simple_string_encoder()
            )
            lines.map(str, Types.STRING()).sink_to(
                sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build()
            )
            env.execute("job")
        parts = (self.directory / "out").glob("part-*")
        return sorted(line for part in parts for line in part.read_text().splitlines())


@pytest.mark.parametrize("archive", [True, False], ids=["archived", "deleted"])
def test_files_are_gone_when_a_run_has_ended(tmp_path: Path, archive: bool) -> None:
    job = Job(tmp_path, archive)
    files = {"a.txt": "1\n2\n3\n", "x/b.txt": "4\n5\n6\n7\n8\n9\n", "empty": ""}
    for name, text in files.items():
        put(tmp_path / "in" / name, text)
    assert job.run() == list("123456789")
    assert tree(tmp_path / "in") == {}
    assert tree(tmp_path / "archive") == (files if archive else {})
    put(tmp_path / "in/a.txt", "again\n")
    assert job.run() == [*"123456789", "again"], "a new file of the same name is a new file"
    assert tree(tmp_path / "in") == {}


def test_a_file_stays_until_a_checkpoint_has_its_end(tmp_path: Path) -> None:
    """Seen after each epoch, in which one line of each split is read; no checkpoint is due."""
    job, seen = Job(tmp_path), list[int]()
    job.interval = 3_600_000
    put(tmp_path / "in/a.txt", "1\n2\n3\n")
    assert job.run(lambda _: seen.append(len(tree(tmp_path / "in")))) == ["1", "2", "3"]
    assert len(seen) > 3
    assert set(seen[:-1]) == {1}
    assert tree(tmp_path / "archive") == {"a.txt": "1\n2\n3\n"}


class KilledError(Exception):
    """What ends a run in the middle."""


@pytest.mark.parametrize("seed", range(6))
def test_runs_that_break_off_lose_no_file_and_no_line(tmp_path: Path, seed: int) -> None:
    """A file is always in one of the two places; each line is in the sink once."""
    rng, job, wanted = random.Random(seed), Job(tmp_path), dict[str, str]()
    job.interval = rng.choice([0, 3_600_000])

    def break_off(_: JobDetails) -> None:
        assert names(tmp_path / "in") | names(tmp_path / "archive") == set(wanted)
        if rng.random() < 0.3:
            raise KilledError

    lines: list[str] = []
    for number in range(8):
        name = f"{rng.choice('xyz')}/{number}.txt"
        wanted[name] = "".join(f"{number}-{line}\n" for line in range(rng.randint(0, 5)))
        put(tmp_path / "in" / name, wanted[name])
        try:
            lines = job.run(break_off if number < 7 else lambda _: None, rng.randint(1, 12))
        except KilledError:
            continue
    assert lines == sorted(line for text in wanted.values() for line in text.splitlines())
    assert tree(tmp_path / "archive") == wanted
    assert tree(tmp_path / "in") == {}


def test_a_file_that_is_given_up_is_moved_too(tmp_path: Path) -> None:
    job = Job(tmp_path)
    job.policy = ErrorPolicy.skip()
    (tmp_path / "in/bad.gz").write_bytes(b"\x1f\x8bno gzip")
    put(tmp_path / "in/good.txt", "1\n")
    assert job.run() == ["1"]
    assert sorted(os.listdir(tmp_path / "archive")) == ["bad.gz", "good.txt"]


@pytest.mark.parametrize("archive", [True, False])
def test_without_a_directory_for_checkpoints_nothing_is_taken_away(
    tmp_path: Path, archive: bool
) -> None:
    """A crash would leave neither the files nor a checkpoint that contains them."""
    put(tmp_path / "in/a.txt", "a")
    builder = FileSource.for_record_stream_format(TEXT, str(tmp_path / "in"))
    if archive:
        builder.archive_after_reading(tmp_path / "archive")
    else:
        builder.delete_after_reading()
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        no_time = WatermarkStrategy.no_watermarks()
        env.from_source(builder.build(), no_time, "orders").print()
        with pytest.raises(JobDefinitionError, match=r"'orders' .* set execution\.checkpointing"):
            env.execute("job")
    assert tree(tmp_path / "in") == {"a.txt": "a"}
