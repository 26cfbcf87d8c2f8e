"""Sweeping what failed attempts left behind."""

import os
from pathlib import Path

from millrace.common.serialization import Encoder
from millrace.connectors import FileSink, sweep_orphans, work_files_in_use

HOUR = 3_600_000


def test_only_old_unused_work_files_go(sink_harness, output) -> None:
    harness = sink_harness(
        FileSink.for_row_format(output.path, Encoder.simple_string_encoder()).build()
    )
    harness.run_epoch(["kept"])
    harness.fail_epoch(["orphan"])
    foreign = output.path / ".bashrc"
    foreign.touch()
    keep = work_files_in_use(harness.states.values(), harness.committables)
    newest = max(path.stat().st_mtime_ns for path in Path(output.path).rglob(".*")) // 1_000_000
    assert len(keep) == 1
    assert sweep_orphans(output.path, HOUR, keep, now=newest) == []
    swept = sweep_orphans(output.path, HOUR, keep, now=newest + HOUR)
    assert len(swept) == 1
    assert foreign.exists()
    harness.run_epoch(["more"], end_of_input=True)
    assert output.lines() == ["kept", "more"]


def test_pending_parts_of_a_checkpoint_are_in_use(sink_harness, output) -> None:
    harness = sink_harness(
        FileSink.for_row_format(output.path, Encoder.simple_string_encoder()).build()
    )
    harness.write_epoch(["a"])
    harness.write_epoch(["b"], end_of_input=True)
    keep = work_files_in_use([], harness.committables)
    assert len(sweep_orphans(output.path, 0, keep)) == 1
    harness.commit()
    assert output.lines() == ["a", "b"]


def test_a_path_that_does_not_exist_has_no_orphans(tmp_path: Path) -> None:
    assert sweep_orphans(tmp_path / "none", 0, set()) == []


def test_only_what_the_named_runs_made(tmp_path: Path) -> None:
    """Another job may write to the same directory."""
    names = [".part-0-7.inprogress.aa-3-0-5-1-0", ".part-1-8.merged.aab-3-0-5-1-0", ".hidden"]
    for name in names:
        (tmp_path / name).touch()
    assert sweep_orphans(tmp_path, 0, set(), run_ids=["bb"]) == []
    assert sweep_orphans(tmp_path, 0, set(), run_ids=["bb", "aa"]) == [str(tmp_path / names[0])]
    assert sweep_orphans(tmp_path, 0, set()) == [str(tmp_path / names[1])]


def test_directories_that_cannot_be_read_are_passed_over(tmp_path: Path, monkeypatch) -> None:
    """lost+found at the root of a disk made every sweep fail."""
    for name in ("a", "lost+found", "z"):
        (tmp_path / name).mkdir()
        (tmp_path / name / ".part-0-7.inprogress.aa-3-0-5-1-0").touch()
    scandir = os.scandir

    def refusing(path: str) -> object:
        if os.fspath(path).endswith("lost+found"):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    swept = sweep_orphans(tmp_path, 0, set(), run_ids=["aa"])
    assert [Path(path).parent.name for path in swept] == ["a", "z"]
