"""Sources of one alignment group wait for each other."""

from __future__ import annotations

from typing import Any

from millrace.common import WatermarkStrategy
from millrace.common.source import SourceSplit, SplitSource, StaticEnumerator
from millrace.common.time.watermark_strategy import WatermarkAlignment
from millrace.connectors.collection import CollectionSource
from millrace.datastream import StreamExecutionEnvironment
from millrace.engine.source_coordinator import SourceCoordinator
from millrace.engine.watermark_alignment import WatermarkAlignments
from millrace.job_graph.job_graph import SourceNode
from millrace.runtime.epoch import SplitProgress
from millrace.testing import run_local

MIN = -(2**63)


class Splits(SplitSource[Any]):
    def __init__(self, *names: str) -> None:
        self.names = names

    def create_enumerator(self) -> StaticEnumerator:
        return StaticEnumerator([SourceSplit(name) for name in self.names])

    def create_split_reader(self, split, position, context):
        raise AssertionError("readers live in subtasks")


def coordinator(uid: str, group: str | None, drift: int, *names: str) -> SourceCoordinator:
    alignment = None if group is None else WatermarkAlignment(group, drift)
    made = SourceCoordinator(SourceNode(uid, uid, Splits(*names), 0, 1, alignment))
    made.discover(0)
    return made


def at(uid: str, name: str, watermark: int | None, paused: bool = False) -> SplitProgress:
    return SplitProgress(uid, name, 1, False, 1, watermark, paused)


def test_the_limit_is_the_lowest_watermark_of_the_group_and_the_sources_own_drift() -> None:
    a, b = coordinator("a", "g", 10, "1", "2"), coordinator("b", "g", 30, "3")
    other, free = coordinator("c", "h", 10, "4"), coordinator("d", None, 0, "5")
    groups = WatermarkAlignments([a, b, other, free])
    assert groups.max_watermark(a) == MIN + 10, "nothing was heard of yet"
    a.accept(at("a", "1", 100))
    a.accept(at("a", "2", 200))
    b.accept(at("b", "3", 150))
    assert (groups.max_watermark(a), groups.max_watermark(b)) == (110, 130)
    assert groups.max_watermark(other) == MIN + 10
    assert groups.max_watermark(free) is None


def test_idle_and_finished_splits_hold_nobody_back() -> None:
    a = coordinator("a", "g", 10, "1", "2", "3")
    groups = WatermarkAlignments([a])
    a.accept(at("a", "1", None))
    a.accept(at("a", "2", 500))
    a.accept(SplitProgress("a", "3", None, True, 1))
    assert groups.max_watermark(a) == 510
    a.accept(at("a", "2", None))
    assert groups.max_watermark(a) is None


def test_a_split_that_may_go_on_starts_an_epoch() -> None:
    a, b = coordinator("a", "g", 10, "1"), coordinator("b", "g", 10, "2")
    groups = WatermarkAlignments([a, b])
    a.accept(at("a", "1", 100, paused=True))
    b.accept(at("b", "2", 50))
    assert not groups.resumes()
    b.accept(at("b", "2", 95))
    assert groups.resumes()


def test_watermarks_of_splits_are_in_the_snapshot() -> None:
    a = coordinator("a", "g", 10, "1")
    a.accept(at("a", "1", 100))
    restored = coordinator("a", "g", 10)
    restored.restore(a.snapshot())
    assert restored.lowest_watermark() == 100


def read_ahead(aligned: bool) -> int:
    """How far, in event time, a sparse source was read before a dense one had come to 999; each
    gives 50 records an epoch."""
    seen: list[tuple[str, int]] = []
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda value, _: value[1]
    )
    if aligned:
        strategy = strategy.with_watermark_alignment("both", 200)
    records = {
        "dense": [("dense", n) for n in range(1000)],
        "sparse": [("sparse", n * 100) for n in range(1000)],
    }
    with run_local(epoch_records=50):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(1)
        dense, sparse = (
            env.from_source(CollectionSource(values), strategy, name)
            for name, values in records.items()
        )
        with dense.union(sparse).execute_and_collect() as results:
            seen += results
    assert sorted(seen) == sorted(records["dense"] + records["sparse"])
    return max(time for name, time in seen[: seen.index(("dense", 999))] if name == "sparse")


def test_a_sparse_source_waits_for_a_dense_one() -> None:
    assert read_ahead(aligned=False) > 90_000
    assert read_ahead(aligned=True) <= 999 + 200 + 50 * 100, "a batch shows how far it goes"
