"""Writes the messages of complete checkpoints to Pulsar, each once, by their sequence ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millrace.common.sink import CommitRequest, Committer
from millrace.connectors.pulsar.client import PulsarError, create_client
from millrace.connectors.pulsar.message import Outgoing
from millrace.connectors.pulsar.producers import Producers
from millrace.connectors.pulsar.topic_names import ask_administration
from millrace.connectors.pulsar.writer import PulsarWriting
from millrace.connectors.staged_epoch import StagedEpoch
from millrace.filesystem.crash_points import crash_point

__all__ = ["PulsarCommitter"]

_EPOCH_BITS = 32
_ALONE = {"batching_enabled": False}
"""Of messages that are sent together, the client tells the brokers the first number only."""


class DeduplicationError(PulsarError):
    """The brokers do not drop duplicates."""


class PulsarCommitter(Committer):
    """Commits by a producer for each run and subtask, whose messages are numbered by epoch.

    The brokers keep the last number of each producer with the messages themselves, and let only
    one producer of a name in: whoever repeats a commit asks for that number, and sends what is
    behind it.
    """

    def __init__(self, writing: PulsarWriting) -> None:
        self._writing = writing
        self._client: Any = None
        self._producers: Producers | None = None
        self._checked: set[str] = set()

    def commit(self, requests: Sequence[CommitRequest[Any]]) -> None:
        try:
            producers = self._session()
            for request in requests:
                self._send(producers, StagedEpoch(*request.committable))
            crash_point("before-pulsar-flush")
            producers.flush()
            crash_point("after-pulsar-flush")
        except DeduplicationError:
            self._give_up()
            raise
        except PulsarError as error:
            self._give_up()
            # an error of millrace's own ends the job: this is tried again, by new producers
            raise ConnectionError(f"the messages were not written: {error}") from error

    def _session(self) -> Producers:
        if self._producers is None:
            self._client = self._client or create_client(self._writing.properties)
            self._producers = Producers(self._client, _ALONE)
        return self._producers

    def _send(self, producers: Producers, staged: StagedEpoch) -> None:
        subtask, messages = staged.content()
        name = f"{self._writing.producer_name}-{staged.run_id}-{subtask}"
        fresh: Outgoing = {}
        for topic, sent in messages.items():
            last = producers.of(topic, name).last_sequence_id()
            self._require_deduplication(topic)
            first = (staged.epoch << _EPOCH_BITS) + 1
            numbered = (
                {**message, "sequence_id": number} for number, message in enumerate(sent, first)
            )
            fresh[topic] = [message for message in numbered if message["sequence_id"] > last]
        producers.send(fresh, name)

    def _require_deduplication(self, topic: str) -> None:
        if topic in self._checked:
            return
        stats = ask_administration(self._writing.properties, f"{topic.replace('://', '/')}/stats")
        if stats.get("deduplicationStatus") != "Enabled":
            raise DeduplicationError(
                f"exactly once needs brokers that drop duplicates, and those of '{topic}' do not: "
                "pulsar-admin namespaces set-deduplication --enable TENANT/NAMESPACE, or "
                "brokerDeduplicationEnabled=true"
            )
        self._checked.add(topic)

    def _give_up(self) -> None:
        if self._producers is not None:
            self._producers.close()
            self._producers = None

    def close(self) -> None:
        self._give_up()
        if self._client is not None:
            self._client.close()
            self._client = None
