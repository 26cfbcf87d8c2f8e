"""What is staged, and the mark of what was committed."""

from __future__ import annotations

from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.sink import CommitRequest
from millrace.connectors.staged_epoch import CommittedEpochs, StagedEpoch, whole_epochs


def test_what_is_packed_comes_out() -> None:
    content = {"topic": [{"key": b"\x00\xff", "value": None, "headers": [["a", b"b"]], "n": 1.5}]}
    staged = StagedEpoch.pack("run", 7, content)
    assert StagedEpoch(*tuple(staged)).content() == content
    assert len(StagedEpoch.pack("run", 7, ["same"] * 10_000).packed) < 1_000


def test_a_mark_is_of_each_run() -> None:
    mark = CommittedEpochs.decode(None)
    mark = mark.with_epochs([StagedEpoch.pack("A", 5, []), StagedEpoch.pack("B", 2, [])])
    mark = CommittedEpochs.decode(mark.encode())
    covered = {(run, n): mark.cover(StagedEpoch.pack(run, n, [])) for run in "AB" for n in (2, 5)}
    assert covered == {("A", 2): True, ("A", 5): True, ("B", 2): True, ("B", 5): False}


def test_old_runs_are_forgotten_first() -> None:
    mark = CommittedEpochs({})
    first = StagedEpoch.pack("first", 1, [])
    for number in range(60):
        mark = mark.with_epochs([StagedEpoch.pack(str(number), 1, []), first])
    assert mark.cover(first)
    assert not mark.cover(StagedEpoch.pack("0", 1, []))
    assert mark.cover(StagedEpoch.pack("59", 1, []))


@pytest.mark.parametrize("mark", [b"", b"7", b"hello", b'{"A": "x"}'])
def test_what_is_no_mark_is_told_of(mark: bytes) -> None:
    with pytest.raises(ValueError, match="not a mark"):
        CommittedEpochs.decode(mark)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 20))), st.integers(1, 30))
def test_an_epoch_is_never_parted(epochs: list[tuple[int, int]], size: int) -> None:
    """By (epoch, bytes): groups are as small as they can be, if none may end within an epoch."""
    staged = [StagedEpoch("run", epoch, n, b"") for epoch, n in sorted(epochs)]
    groups = list(whole_epochs([CommitRequest(tuple(one)) for one in staged], size))
    assert [one for group in groups for _, one in group] == staged
    held = [{one.epoch for _, one in group} for group in groups]
    assert len(set().union(*held)) == sum(map(len, held))
    for group in groups[:-1]:
        sizes = [
            sum(one.size for _, one in part)
            for _, part in groupby(group, key=lambda pair: pair[1].epoch)
        ]
        assert sum(sizes) >= size > sum(sizes[:-1])
