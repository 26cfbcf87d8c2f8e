from __future__ import annotations

from millrace.common.types.batch import RowBatch
from millrace.runtime.output import Discard, combined


class Greedy:
    """Changes every record it gets."""

    def __init__(self) -> None:
        self.got = []
        self.marks = []

    def emit(self, batch) -> None:
        for value in batch.values:
            value.append("seen")
        self.got += batch.values

    def emit_watermark(self, timestamp) -> None:
        self.marks.append(timestamp)


def test_one_output_stands_for_itself() -> None:
    output = Greedy()
    assert combined([output]) is output
    assert isinstance(combined([]), Discard)


def test_branches_do_not_see_each_others_changes() -> None:
    branches = [Greedy(), Greedy(), Greedy()]
    fan_out = combined(branches)
    fan_out.emit(RowBatch([["a"], ["b"]]))
    fan_out.emit_watermark(5)
    for branch in branches:
        assert branch.got == [["a", "seen"], ["b", "seen"]]
        assert branch.marks == [5]
