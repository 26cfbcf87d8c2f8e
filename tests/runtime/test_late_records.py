"""Late records go to their side output, or are dropped and counted."""

from __future__ import annotations

from types import SimpleNamespace

from millrace.common.functions.output_tag import OutputTag
from millrace.common.types.batch import RowBatch
from millrace.runtime.late_records import LateRecords
from millrace.runtime.metrics import MetricRegistry

LATE = OutputTag("late")


class Side:
    def __init__(self) -> None:
        self.batches: list[tuple[list[str], list[int]]] = []

    def emit(self, batch: RowBatch) -> None:
        self.batches.append((batch.values, batch.timestamps))


def test_with_a_tag_they_are_emitted_and_without_one_counted() -> None:
    registry, side = MetricRegistry(), Side()
    context = SimpleNamespace(metrics=registry)
    operator = SimpleNamespace(context=context, side_output={LATE: side}.__getitem__)
    late = LateRecords(operator)
    late.take(LATE, [0, 2], ["a", "b", "c"], [1, 2, 3])
    assert side.batches == [(["a", "c"], [1, 3])]
    assert registry.counts() == {"numLateRecordsDropped": 0}
    late.take(None, [1, 2], ["a", "b", "c"], [1, 2, 3])
    assert len(side.batches) == 1
    assert registry.counts() == {"numLateRecordsDropped": 2}
