"""What a sink does that overrides nothing but its writer."""

from __future__ import annotations

import pytest

from millrace.common.errors import StateError
from millrace.common.sink import CommitMode, CommitterContext, Sink, SinkWriter
from millrace.common.types.batch import BatchForm, RowBatch


class Counting(Sink):
    def create_writer(self, context, state):
        return CountingWriter()


class CountingWriter(SinkWriter):
    def write(self, batch):
        pass


def test_a_writer_gets_rows_and_only_rows():
    assert Counting().takes is BatchForm.ROWS
    with pytest.raises(NotImplementedError):
        CountingWriter().write_columns(None)
    with pytest.raises(NotImplementedError):
        SinkWriter().write(RowBatch([1]))


def test_nothing_needs_a_commit():
    assert Counting().create_committer(CommitterContext()) is None
    assert Counting().commit_mode is CommitMode.BEFORE_NEXT_EPOCH
    assert list(CountingWriter().prepare_commit(end_of_input=True)) == []


def test_one_state_needs_no_merging():
    assert Counting().merge_writer_states(["state"]) == "state"


def test_several_states_are_refused_by_the_name_of_the_sink():
    with pytest.raises(StateError, match="Counting .*merge_writer_states"):
        Counting().merge_writer_states([1, 2])
