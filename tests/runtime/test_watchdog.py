"""Subtasks that run for long are reported, with their stack."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from millrace.datastream import StreamExecutionEnvironment
from millrace.runtime import watchdog as watchdog_module
from millrace.runtime import worker
from millrace.runtime.watchdog import REPORTS, STACK_BYTES, SubtaskReport, Watchdog, reports_in
from millrace.testing import run_local

PATIENCE = 180.0


def eventually(find: Callable[[], Any]) -> Any:
    pause, tries = threading.Event(), 0
    while not (found := find()):
        assert (tries := tries + 1) < PATIENCE / 0.01
        pause.wait(0.01)
    return found


def begin(watchdog: Watchdog, job_dir: Path) -> None:
    watchdog.begin(str(job_dir), "run-1", (12, 0), ((3, 1), (3, 5)), "stage")


def test_what_runs_for_long_is_reported_until_it_ends(tmp_path: Path) -> None:
    watchdog = Watchdog("host:7", first=0.0, period=0.01)
    begin(watchdog, tmp_path)
    [report] = eventually(lambda: list(reports_in(str(tmp_path))))
    assert (report.epoch, report.stage, report.subtask, report.left) == (12, 3, 1, ((3, 1), (3, 5)))
    assert (report.operator, report.worker) == ("stage", "host:7")
    assert "test_what_runs_for_long" in report.stack
    assert (tmp_path / REPORTS).stat().st_mode & 0o777 == 0o700
    watchdog.end()
    eventually(lambda: not list(reports_in(str(tmp_path))))


def test_what_runs_for_a_moment_costs_no_file(tmp_path: Path) -> None:
    watchdog = Watchdog("host:7", first=1000.0, period=0.001)
    begin(watchdog, tmp_path)
    threading.Event().wait(0.05)
    watchdog.end()
    assert not (tmp_path / REPORTS).exists()


def test_an_unforeseen_error_does_not_end_the_thread(tmp_path: Path, monkeypatch) -> None:
    def fails(reports: str, file_name: str) -> None:
        raise UnicodeError("unforeseen")

    monkeypatch.setattr(watchdog_module.previews, "look", fails)
    watchdog = Watchdog("host:7", first=0.0, period=0.01)
    begin(watchdog, tmp_path)
    eventually(lambda: list(reports_in(str(tmp_path))))
    watchdog.end()


def test_stacks_of_files_with_odd_names_are_reported(tmp_path: Path) -> None:
    watchdog = Watchdog("host:7", first=0.0, period=0.01)
    names = {
        "begin": lambda: begin(watchdog, tmp_path),
        "found": lambda: eventually(lambda: list(reports_in(str(tmp_path)))),
    }
    code = "begin()\n[report] = found()"
    exec(compile(code, "/jobs/a\udc80b.py", "exec"), names)
    watchdog.end()
    assert "a\\udc80b.py" in names["report"].stack


def test_a_deep_stack_is_cut(tmp_path: Path) -> None:
    watchdog = Watchdog("host:7", first=0.0, period=0.01)

    def descend(depth: int) -> list[SubtaskReport]:
        if depth:
            return descend(depth - 1)
        begin(watchdog, tmp_path)
        return eventually(lambda: list(reports_in(str(tmp_path))))

    [report] = descend(600)
    watchdog.end()
    assert len(report.stack) <= STACK_BYTES + 10
    assert "eventually" in report.stack


def test_other_files_are_no_reports(tmp_path: Path) -> None:
    (tmp_path / REPORTS).mkdir()
    (tmp_path / REPORTS / "a.json").write_text("{")
    (tmp_path / REPORTS / "b.json").write_text('{"run_id": 1}')
    (tmp_path / REPORTS / "c.json").mkdir()
    assert not list(reports_in(str(tmp_path)))


def test_a_worker_names_the_operator(tmp_path: Path, monkeypatch) -> None:
    """Which is in the middle of a chain."""
    monkeypatch.setattr(worker, "_watchdog", Watchdog("host:7", first=0.0, period=0.01))
    seen: list[SubtaskReport] = []
    monkeypatch.setattr("builtins.seen_reports", seen, raising=False)

    def slow(value: int) -> int:
        import builtins

        found = eventually(
            lambda: [r for d in tmp_path.iterdir() for r in reports_in(str(d)) if "slow" in r.stack]
        )
        builtins.seen_reports.extend(found)  # type: ignore[attr-defined]
        return value

    with run_local(checkpoint_dir=tmp_path):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.from_collection([1]).map(slow).name("Enrich").print()
        env.execute("job")
    assert seen[0].operator == "Enrich"
    assert "run_level" not in seen[0].stack
