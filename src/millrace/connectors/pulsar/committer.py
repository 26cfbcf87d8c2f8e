"""Committer of a Pulsar sink: sends the messages of complete checkpoints, each once, by their
sequence ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millrace.common.sink import CommitRequest, Committer
from millrace.connectors.pulsar.client import PulsarError, create_client
from millrace.connectors.pulsar.producers import TOGETHER, Producers, exact_options
from millrace.connectors.pulsar.topic_names import ask_administration
from millrace.connectors.pulsar.writer import PulsarWriting
from millrace.connectors.staged_epoch import StagedEpoch
from millrace.filesystem.crash_points import crash_point

__all__ = ["PulsarCommitter"]

_EPOCH_BITS = 32


class DeduplicationError(PulsarError):
    """The brokers do not have message deduplication enabled."""


class PulsarCommitter(Committer):
    """Commits with a producer for each run and subtask, whose messages are numbered by epoch.

    The brokers keep the last number of each producer with the messages themselves, and accept only
    one producer of a name at a time. A repeated commit asks for that number, and sends the messages
    after it.
    """

    def __init__(self, writing: PulsarWriting) -> None:
        self._writing = writing
        self._client: Any = None
        self._producers: dict[bool, Producers] = {}
        """Producers for batched messages (True) and for single messages (False)."""
        self._checked: set[str] = set()

    def commit(self, requests: Sequence[CommitRequest[Any]]) -> None:
        try:
            for request in requests:
                self._send(StagedEpoch(*request.committable))
            crash_point("before-pulsar-flush")
            for producers in self._producers.values():
                producers.flush()
            crash_point("after-pulsar-flush")
        except DeduplicationError:
            self._give_up()
            raise
        except PulsarError as error:
            self._give_up()
            # an error of millrace's own ends the job: this is tried again, by new producers
            raise ConnectionError(f"the messages were not written: {error}") from error

    def _session(self, together: bool) -> Producers:
        if together not in self._producers:
            properties = self._writing.properties
            self._client = self._client or create_client(properties)
            self._producers[together] = Producers(self._client, exact_options(properties, together))
        return self._producers[together]

    def _send(self, staged: StagedEpoch) -> None:
        """Send the messages that the brokers do not have yet.

        What is sent together has one number: the brokers have all of it or nothing.
        """
        subtask, together, messages = staged.content()
        producers = self._session(together > 1)
        name = f"{self._writing.producer_name}-{staged.run_id}-{subtask}"
        if together > 1:
            name += "-together"  # the numbers of messages that are sent alone are others
        first = (staged.epoch << _EPOCH_BITS) + 1
        for topic, sent in messages.items():
            last = producers.of(topic, name).last_sequence_id()
            self._require_deduplication(topic)
            numbered = (
                {**message, "sequence_id": first + index - index % together}
                for index, message in enumerate(sent)
            )
            fresh = [message for message in numbered if message["sequence_id"] > last]
            if together in (1, TOGETHER):
                producers.send({topic: fresh}, name)
                continue
            for start in range(0, len(fresh), together):
                producers.send({topic: fresh[start : start + together]}, name)
                producers.flush()
        if together > 1:
            producers.flush()  # the next epoch's messages must not get in with the last ones

    def _require_deduplication(self, topic: str) -> None:
        if topic in self._checked:
            return
        stats = ask_administration(self._writing.properties, f"{topic.replace('://', '/')}/stats")
        if stats.get("deduplicationStatus") != "Enabled":
            raise DeduplicationError(
                "exactly-once needs brokers that drop duplicates, and the brokers of "
                f"'{topic}' do not: pulsar-admin namespaces set-deduplication --enable "
                "TENANT/NAMESPACE, or brokerDeduplicationEnabled=true"
            )
        self._checked.add(topic)

    def _give_up(self) -> None:
        for producers in self._producers.values():
            producers.close()
        self._producers.clear()

    def close(self) -> None:
        self._give_up()
        if self._client is not None:
            self._client.close()
            self._client = None
