"""Detection of topics that were deleted and created again, in which old offsets are meaningless."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from importlib import import_module
from typing import Any

from millrace.connectors.kafka.client import PATIENCE_S, KafkaError, create_admin

__all__ = ["RecreatedTopicError", "require_same_topics", "topic_ids"]

_NONE = "AAAAAAAAAAAAAAAAAAAAAA"
"""The id that brokers give who do not know of ids."""


class RecreatedTopicError(KafkaError):
    """A topic was deleted and created again while a job has offsets in it."""


def topic_ids(config: Mapping[str, Any], topics: Collection[str]) -> dict[str, str]:
    """Ids of topics, as far as the brokers know them.

    Args:
        config: configuration of a client.

    Raises:
        KafkaException: the brokers do not answer.
    """
    if not topics:
        return {}
    kafka: Any = import_module("confluent_kafka")
    admin = create_admin(config)
    asked = admin.describe_topics(kafka.TopicCollection(sorted(topics)), request_timeout=PATIENCE_S)
    ids = {}
    for name, answer in asked.items():
        try:
            ids[name] = str(answer.result(PATIENCE_S).topic_id)
        except kafka.KafkaException as error:
            if error.args[0].code() != kafka.KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise
    return {name: identity for name, identity in ids.items() if identity != _NONE}


def require_same_topics(known: Mapping[str, str], now: Mapping[str, str]) -> None:
    """Check that no topic has another id than the known one.

    Raises:
        RecreatedTopicError: the id of a topic has changed.
    """
    for topic, identity in now.items():
        if known.get(topic, identity) != identity:
            raise RecreatedTopicError(
                f"topic '{topic}' was deleted and created again: the job has positions in "
                "the old topic, whose records are gone, and would skip or repeat records of "
                "the new topic. Start the job without its checkpoint, or give the source "
                "another uid() and allow non-restored state"
            )
