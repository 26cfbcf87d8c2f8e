"""Shards go to the subtasks that an assigner chooses, also after a restart with more of them."""

from __future__ import annotations

from typing import Any

import pytest

from millrace.common import SimpleStringSchema
from millrace.common.errors import JobDefinitionError
from millrace.common.source import AssignedSplit, EnumeratorContext
from millrace.connectors.kinesis import FlinkKinesisConsumer, KinesisError, KinesisShardAssigner
from millrace.connectors.kinesis.shard_split import KinesisShardSplit

SHARDS = 8
WIDTH = (1 << 128) // SHARDS


class Listing:
    """A client that lists shards of equal width."""

    def list_shards(self, **request: Any) -> dict[str, Any]:
        shards = [
            {
                "ShardId": f"shard-{i}",
                "HashKeyRange": {
                    "StartingHashKey": str(i * WIDTH),
                    "EndingHashKey": str((i + 1) * WIDTH - 1),
                },
                "SequenceNumberRange": {},
            }
            for i in range(SHARDS)
        ]
        return {"Shards": shards}


class ByNumber(KinesisShardAssigner):
    """An assigner of the user's own."""

    def assign(self, shard: KinesisShardSplit, num_parallel_subtasks: int) -> int:
        return int(shard.shard_id.removeprefix("shard-"))


class ByText(KinesisShardAssigner):
    """A wrong one."""

    def assign(self, shard: KinesisShardSplit, num_parallel_subtasks: int) -> int:
        return shard.shard_id  # type: ignore[return-value]


def started(assigner: KinesisShardAssigner | None, subtasks: int = 4) -> tuple[Any, Any]:
    properties = {"aws.region": "eu-west-1", "flink.stream.initpos": "TRIM_HORIZON"}
    consumer = FlinkKinesisConsumer("orders", SimpleStringSchema(), properties)
    if assigner is not None:
        consumer.set_shard_assigner(assigner)
    enumerator: Any = consumer.create_enumerator()
    enumerator._client = Listing()
    context = EnumeratorContext(subtasks)
    enumerator.start(context)
    return enumerator, context


def places(context: EnumeratorContext) -> list[int]:
    """The subtask of each shard, by number."""
    found = {a.split.shard_id: subtask for subtask, a in context.assignments}
    return [found[f"shard-{i}"] for i in range(SHARDS)]


def test_without_an_assigner_the_engine_chooses() -> None:
    enumerator, context = started(None)
    assert len(enumerator.discover(0)) == SHARDS
    assert context.assignments == []


def test_subtasks_have_equal_parts_of_the_hash_keys() -> None:
    enumerator, context = started(KinesisShardAssigner.uniform_shard_assigner())
    assert enumerator.discover(0) == ()
    found = places(context)
    first = found[0]
    assert [(subtask - first) % 4 for subtask in found] == [0, 0, 1, 1, 2, 2, 3, 3]


def test_names_choose_the_same_subtask_every_time() -> None:
    found = []
    for _ in range(2):
        enumerator, context = started(KinesisShardAssigner.default_shard_assigner())
        enumerator.discover(0)
        found.append(places(context))
    assert found[0] == found[1]
    assert len(set(found[0])) > 1


def test_an_assigner_of_ones_own_chooses_again_for_what_comes_back() -> None:
    """With its position, and by the number of subtasks that there are now."""
    enumerator, context = started(ByNumber(), 3)
    enumerator.discover(0)
    assert places(context) == [i % 3 for i in range(SHARDS)]
    back = [
        AssignedSplit(a.split, "5") for _, a in context.assignments if a.split.shard_id[-1] > "4"
    ]
    context.assignments.clear()
    context.parallelism = 5
    assert enumerator.add_splits_back(back, 0) == ()
    assert [(s, a.split.shard_id, a.position) for s, a in context.assignments] == [
        (0, "shard-5", "5"),
        (1, "shard-6", "5"),
        (2, "shard-7", "5"),
    ]


def test_what_is_no_assigner() -> None:
    with pytest.raises(JobDefinitionError, match="takes a KinesisShardAssigner such as"):
        started(max)  # type: ignore[arg-type]
    enumerator, _ = started(ByText())
    with pytest.raises(KinesisError, match="ByText gave 'shard-0' for orders:shard-0; assign"):
        enumerator.discover(0)
