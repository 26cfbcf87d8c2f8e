"""People watch records that operators emit: only where the job allows it, and only a few."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from millrace.common import Configuration
from millrace.common.types.batch import RowBatch
from millrace.datastream import StreamExecutionEnvironment
from millrace.engine.archived_job import read_archive
from millrace.runtime import previews as module
from millrace.runtime import worker
from millrace.runtime.chain import OperatorChain
from millrace.runtime.previews import (
    KEPT,
    LONGEST,
    MOST_RECORDS,
    Preview,
    PreviewRequest,
    Previews,
    PreviewTap,
    records_in,
    request_preview,
)
from millrace.runtime.watchdog import REPORTS, Watchdog
from millrace.testing import run_local

PATIENCE = 180.0
REQUEST = PreviewRequest("run-1", {"map": 1e12})


class Taken:
    """Output that keeps its batches."""

    def __init__(self) -> None:
        self.batches: list[object] = []
        self.watermarks: list[int] = []

    def emit(self, batch: object) -> None:
        self.batches.append(batch)

    def emit_watermark(self, timestamp: int) -> None:
        self.watermarks.append(timestamp)


@pytest.fixture
def watched(monkeypatch) -> Previews:
    """The previews of this process, of which there are none yet."""
    found = Previews()
    monkeypatch.setattr(module, "previews", found)
    return found


def texts(reports: Path, operator: str = "map") -> list[str]:
    return [record.text for record in records_in(str(reports), operator)]


def test_a_second_has_only_so_many_records() -> None:
    preview = Preview()
    for _ in range(3):
        preview.add(RowBatch(list(range(15))), 0)
    assert len(preview.taken()) == MOST_RECORDS
    for number in range(9):
        preview.add(RowBatch([number] * 50), 0)
        preview.taken()
    assert len(preview.taken()) == KEPT
    assert not preview.is_new


def test_a_record_is_shortened_and_may_have_no_repr() -> None:
    class Wrong:
        def __repr__(self) -> str:
            raise ValueError("not today")

    preview = Preview()
    preview.add(RowBatch(["x" * 5_000, [["y" * 300] * 100] * 100, Wrong()]), 2)
    long, nested, wrong = preview.taken()
    assert len(long.text) < 300
    assert len(nested.text) == LONGEST
    assert "Wrong" in wrong.text
    assert wrong.subtask == 2


class Named:
    """A record whose repr is its name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


class MuteError(Exception):
    """An error that has no text."""

    def __str__(self) -> str:
        raise RuntimeError


def _fails(self: object) -> int:
    raise MuteError


# what is called list is shown like a list
Mute = type("list", (), {"__len__": _fails})


def test_a_record_with_a_lone_surrogate_is_shown(watched, tmp_path: Path) -> None:
    tap, reports = PreviewTap(Taken(), "run-1", "map", 0), tmp_path / REPORTS
    request_preview(str(reports), REQUEST)
    watched.look(str(reports), "host-7")
    tap.emit(RowBatch([Named("a\udc80b")]))
    watched.look(str(reports), "host-7")
    assert texts(reports) == ["a\\udc80b"]


def test_a_job_does_not_fail_because_somebody_looks(watched, tmp_path: Path) -> None:
    output = Taken()
    tap, reports = PreviewTap(output, "run-1", "map", 0), tmp_path / REPORTS
    request_preview(str(reports), REQUEST)
    watched.look(str(reports), "host-7")

    class Damaged(RowBatch):
        def slice(self, start: int, stop: int) -> RowBatch:
            raise KeyError("damaged")

    tap.emit(RowBatch([Mute()]))
    tap.emit(Damaged([1]))
    watched.look(str(reports), "host-7")
    assert texts(reports) == [
        "<list, whose repr fails: MuteError>",
        "<Damaged, which cannot be shown: KeyError>",
    ]
    assert len(output.batches) == 2


def test_a_large_record_is_not_looked_at_as_a_whole() -> None:
    seen: list[int] = []

    class Counted:
        def __repr__(self) -> str:
            seen.append(1)
            return ""

        def __lt__(self, other: object) -> bool:
            seen.append(1)
            return False

    nested: object = Counted()
    for _ in range(5):
        nested = [nested] * 40
    preview = Preview()
    preview.add(RowBatch([nested]), 0)
    preview.add(RowBatch([{Counted(): 1 for _ in range(10_000)}]), 0)
    preview.add(RowBatch([bytes(50_000), bytearray(50_000)]), 0)
    assert len(seen) < 1_000
    assert [len(record.text) < 1_000 for record in preview.taken()[2:]] == [True, True]
    assert "50,000 bytes" in preview.taken()[2].text


def test_a_slow_repr_ends_the_second(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LONGEST_S", -1.0)
    preview = Preview()
    preview.add(RowBatch([1, 2, 3]), 0)
    preview.add(RowBatch([4]), 0)
    assert [record.text for record in preview.taken()] == ["1"]
    preview.add(RowBatch([5]), 0)
    assert [record.text for record in preview.taken()] == ["1", "5"]


def test_two_operators_are_watched_at_once(watched, tmp_path: Path) -> None:
    reports = tmp_path / REPORTS
    taps = [PreviewTap(Taken(), "run-1", operator, 0) for operator in ("map", "sum")]
    request_preview(str(reports), REQUEST)
    watched.look(str(reports), "host-7")
    taps[0].emit(RowBatch(["a"]))
    request_preview(str(reports), PreviewRequest("run-1", {"sum": 1e12, "map": 1e12}))
    watched.look(str(reports), "host-7")
    taps[1].emit(RowBatch(["b"]))
    watched.look(str(reports), "host-7")
    assert (texts(reports), texts(reports, "sum")) == (["'a'"], ["'b'"])


def test_a_job_that_is_forgotten_leaves_no_records(watched, tmp_path: Path) -> None:
    reports = tmp_path / REPORTS
    request_preview(str(reports), REQUEST)
    watched.look(str(reports), "host-7")
    watched.forget(str(reports), "host-7")
    assert watched.watched == {}
    assert not (reports / "host-7.preview").exists()


def test_a_tap_shows_what_it_passes_on(watched, tmp_path: Path) -> None:
    output = Taken()
    tap = PreviewTap(output, "run-1.2", "map", 3)  # the job has been rescaled
    reports = tmp_path / REPORTS
    tap.emit(RowBatch(["before"]))
    request_preview(str(reports), REQUEST)
    watched.look(str(reports), "host-7")
    assert texts(reports) == []
    tap.emit(RowBatch(["a", "b"]))
    tap.emit_watermark(7)
    watched.look(str(reports), "host-7")
    assert texts(reports) == ["'a'", "'b'"]
    assert os.stat(reports / "host-7.preview").st_mode & 0o777 == 0o600
    assert (len(output.batches), output.watermarks) == (2, [7])


def test_another_operator_and_the_end_of_watching(watched, tmp_path: Path) -> None:
    tap, reports = PreviewTap(Taken(), "run-1", "map", 0), tmp_path / REPORTS
    request_preview(str(reports), REQUEST)
    watched.look(str(reports), "host-7")
    tap.emit(RowBatch(["secret"]))
    request_preview(str(reports), PreviewRequest("run-1", {"sum": 1e12}))
    watched.look(str(reports), "host-7")
    assert texts(reports) == []
    assert list(watched.watched) == [("run-1", "sum")]
    request_preview(str(reports), PreviewRequest("run-1", {"sum": 1.0}))
    watched.look(str(reports), "host-7")
    assert watched.watched == {}
    assert not (reports / "host-7.preview").exists()


def test_without_the_option_nothing_is_tapped(monkeypatch) -> None:
    made: list[PreviewTap] = []

    class Counted(PreviewTap):
        def __init__(self, *arguments) -> None:
            super().__init__(*arguments)
            made.append(self)

    monkeypatch.setitem(OperatorChain._setup.__globals__, "PreviewTap", Counted)
    for settings, taps in (({}, 0), ({"millrace.preview.enabled": "true"}, 3)):
        with run_local():
            env = StreamExecutionEnvironment.get_execution_environment(Configuration(settings))
            env.from_collection([1]).map(lambda v: v).print()
            env.execute()
        assert len(made) == taps


def test_a_job_that_runs_is_watched(tmp_path: Path, monkeypatch, watched) -> None:
    """A function asks for the records of its own operator, and the next one sees them."""
    monkeypatch.setattr("millrace.runtime.watchdog.previews", watched)
    monkeypatch.setattr(worker, "_watchdog", Watchdog("host:7", first=1e9, period=0.01))
    monkeypatch.setattr("builtins.previewed", seen := [], raising=False)

    def reports() -> str:
        [job_dir] = tmp_path.iterdir()
        return str(job_dir / REPORTS)

    def eventually(condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline
            time.sleep(0.005)

    class Ask:
        def __call__(self, value: str) -> str:
            if value == "first":
                archive = read_archive(os.path.dirname(reports()))
                request_preview(reports(), PreviewRequest(archive.run_id, {"words": 1e12}))
                eventually(lambda: bool(watched.watched))
            return value

    class Look:
        def __call__(self, value: str) -> str:
            if value == "first":
                eventually(lambda: bool(list(records_in(reports(), "words"))))
                seen.extend(records_in(reports(), "words"))
            return value

    # functions are pickled, and find in builtins what must not be copied
    monkeypatch.setattr("builtins.ask_for_records", Ask(), raising=False)
    monkeypatch.setattr("builtins.look_at_records", Look(), raising=False)
    with run_local(checkpoint_dir=str(tmp_path)):
        settings = Configuration({"millrace.preview.enabled": "true"})
        env = StreamExecutionEnvironment.get_execution_environment(settings)
        words = env.from_collection(["first", "second"])
        asked = words.map(lambda value: ask_for_records(value)).uid("words")  # noqa: F821, PLW0108
        asked.map(lambda value: look_at_records(value)).print()  # noqa: F821, PLW0108
        env.execute()
    assert [record.text for record in seen] == ["'first'", "'second'"]
