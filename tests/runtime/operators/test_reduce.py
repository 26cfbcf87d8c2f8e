from __future__ import annotations

from millrace.datastream import ReduceFunction, StreamExecutionEnvironment
from millrace.testing import OperatorHarness, StreamRecord

MAX_WATERMARK = 2**63 - 1


class Add(ReduceFunction):
    def reduce(self, value1, value2):
        return (value1[0], value1[1] + value2[1])


def adding(**settings) -> OperatorHarness:
    return OperatorHarness(Add(), key_by=0, **settings)


def test_every_record_gives_the_new_aggregate() -> None:
    harness = adding()
    harness.process_elements([("a", 1), ("b", 2), ("a", 3)], [10, 20, 30])
    assert harness.records() == [
        StreamRecord(("a", 1), 10), StreamRecord(("b", 2), 20), StreamRecord(("a", 4), 30),
    ]  # fmt: skip


def test_the_first_argument_is_what_was_reduced_so_far() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection([]).key_by(lambda value: 0).reduce(lambda a, b: a + b)
    harness = OperatorHarness(stream)
    harness.process_elements(["a", "b", "c"])
    assert harness.output() == ["a", "ab", "abc"]


def test_aggregates_survive_checkpoints_and_aborts() -> None:
    harness = adding()
    harness.process_element(("a", 1))
    snapshot = harness.snapshot()
    harness.process_element(("a", 10))
    harness.abort()
    harness.process_element(("a", 2))
    assert harness.output() == [("a", 3)]
    restored = harness.restored(snapshot)
    restored.process_element(("a", 5))
    assert restored.output() == [("a", 6)]


def test_batch_mode_emits_the_last_aggregate_of_each_key() -> None:
    harness = adding(batch_mode=True)
    harness.process_elements([("a", 1), ("b", 2), ("a", 3)])
    assert harness.output() == []
    harness.process_watermark(MAX_WATERMARK)
    assert harness.output() == [("a", 4), ("b", 2)]


def test_a_function_that_changes_its_first_argument() -> None:
    class Merge(ReduceFunction):
        def reduce(self, value1, value2):
            value1["n"] += value2["n"]
            return value1

    harness = OperatorHarness(Merge(), key_by=lambda value: 0)
    harness.process_elements([{"n": 1}, {"n": 2}])
    harness.snapshot()
    harness.process_element({"n": 3})
    assert harness.output() == [{"n": 1}, {"n": 3}, {"n": 6}]
    harness.abort()
    harness.process_element({"n": 4})
    assert harness.output() == [{"n": 7}]
