from __future__ import annotations

import pickle

from millrace.common.sink import CommitRequest, CommitterContext
from millrace.common.types.batch import RowBatch
from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import CollectingSink, Faults, StreamRecord, run_local


def run(sink: CollectingSink[int], count: int) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection(list(range(count))).sink_to(sink)
    env.execute()


def test_values_and_records() -> None:
    sink: CollectingSink[int] = CollectingSink()
    with run_local(epoch_records=2):
        run(sink, 5)
    assert sink.values() == [0, 1, 2, 3, 4]
    assert sink.records()[0] == StreamRecord(0, None)


def test_take_gives_each_value_once() -> None:
    sink: CollectingSink[int] = CollectingSink()
    with run_local():
        run(sink, 2)
        assert sink.take() == [0, 1]
        run(sink, 1)
    assert sink.take() == [0]
    assert sink.values() == []


def test_each_record_once_whatever_fails() -> None:
    sink: CollectingSink[int] = CollectingSink()
    faults = Faults(lost_epochs=0.4, repeated_tasks=0.4, lost_workers=0.4)
    with run_local(workers=2, seed=3, faults=faults, epoch_records=3) as cluster:
        run(sink, 40)
    assert cluster.progress[-1].refused + cluster.progress[-1].epochs > 13
    assert sorted(sink.values()) == list(range(40))


def test_what_is_committed_twice_is_there_once() -> None:
    from millrace.common.sink import WriterContext, WriterEpoch

    sink: CollectingSink[str] = CollectingSink()
    writer = sink.create_writer(WriterContext(0, 1, "run"), None)
    writer.begin_epoch(WriterEpoch(0, "attempt", 0))
    writer.write(RowBatch(["a"], [5]))
    committables = writer.prepare_commit(False)
    for _ in range(2):
        sink.create_committer(CommitterContext()).commit(list(map(CommitRequest, committables)))
    assert sink.records() == [StreamRecord("a", 5)]


def test_workers_get_an_empty_one() -> None:
    sink: CollectingSink[int] = CollectingSink()
    with run_local():
        run(sink, 2)
    assert pickle.loads(pickle.dumps(sink)).values() == []
