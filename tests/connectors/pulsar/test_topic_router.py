"""The partitions of messages."""

from __future__ import annotations

from millrace.connectors.pulsar.topic_router import PartitionRouter, TopicRoutingMode


class Client:
    """Answers as a client of Pulsar does."""

    def get_topic_partitions(self, topic: str) -> list[str]:
        return [f"{topic}-partition-{number}" for number in range(3)]


def test_a_round_begins_with_the_first_partition() -> None:
    router = PartitionRouter(Client(), ["t"], None)
    first, second, third = router.partitions()
    route = router.route(TopicRoutingMode.ROUND_ROBIN, 0)
    assert [route(None) for _ in range(4)] == [first, second, third, first]
    # the second subtask begins with the second one, and a round goes on in the next batch
    assert router.route(TopicRoutingMode.ROUND_ROBIN, 1)(None) == second
    assert router.route(TopicRoutingMode.ROUND_ROBIN, 4)(None) == second


def test_messages_without_a_key_go_round() -> None:
    router = PartitionRouter(Client(), ["t"], None)
    route = router.route(TopicRoutingMode.MESSAGE_KEY_HASH, 0)
    assert [route(None), route("")] == router.partitions()[:2]
    assert route("k") == route("k")
