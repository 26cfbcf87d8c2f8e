"""Handling of offsets that the brokers do not have, or no longer have.

The client is told to say so, instead of going on elsewhere in silence (``auto.offset.reset``): it
would skip records that retention has deleted before a slow reader came to them.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from millrace.connectors.kafka.client import KafkaError
from millrace.connectors.kafka.topic_partition import KafkaTopicPartition

__all__ = ["RESET_OPTION", "OffsetReset"]

RESET_OPTION = "auto.offset.reset"
_EARLIEST, _LATEST, _ERROR = "earliest", "latest", "error"
_POLICIES = {
    **dict.fromkeys((_EARLIEST, "smallest", "beginning"), _EARLIEST),
    **dict.fromkeys((_LATEST, "largest", "end"), _LATEST),
    **dict.fromkeys((_ERROR, "none"), _ERROR),
}
"""Resets by the words of librdkafka and of Kafka's Java clients."""


@dataclass(frozen=True, slots=True)
class OffsetReset:
    """Policy that chooses the next offset of a reader whose offset does not exist.

    Attributes:
        policy: ``earliest``, ``latest`` or ``error``.
        is_asked_for: whether the user has said so; else it is for where a job begins only.
    """

    policy: str
    is_asked_for: bool

    @staticmethod
    def of(value: str, is_asked_for: bool) -> OffsetReset | None:
        """Policy for a value of ``auto.offset.reset``; None if the value is unknown."""
        policy = _POLICIES.get(value.lower())
        return None if policy is None else OffsetReset(policy, is_asked_for)

    def next_offset(
        self,
        place: KafkaTopicPartition,
        position: int,
        bounds: tuple[int, int],
        has_been: bool,
        log: logging.Logger,
    ) -> int:
        """Next offset of a reader whose position is out of range.

        Args:
            position: position that the brokers do not have.
            bounds: the brokers' first offset, and the offset after their last record.
            has_been: whether the job has read up to the position; else the position is a start
                offset.

        Raises:
            KafkaError: there is no next offset.
        """
        first, end = bounds
        if not has_been and self.policy == _ERROR:
            raise KafkaError(
                f"cannot read {place} from Kafka: the offset {position} is out of range, "
                f"because the brokers have offsets from {first} to below {end}"
            )
        told = _gone(place, position, first) if position < first else _back(place, position, end)
        if has_been and (self.policy == _ERROR or not self.is_asked_for):
            raise KafkaError(
                f"{told}. To continue without them, set the source's property "
                f"'{RESET_OPTION}' to '{_EARLIEST}' (the records that are left) or "
                f"'{_LATEST}' (new records only)"
                if position < first
                else (
                    f"{told}. Start the job without its checkpoint, or set the source's "
                    f"property '{RESET_OPTION}' to continue there"
                )
            )
        offset = first if self.policy == _EARLIEST else end
        if has_been:
            log.warning("%s; it continues at %d, as '%s' says", told, offset, RESET_OPTION)
        return offset


def _gone(place: KafkaTopicPartition, position: int, first: int) -> str:
    return (
        f"the job has read {place} of Kafka up to offset {position}, and the brokers have "
        f"deleted the following records (retention): the {first - position} offsets before "
        f"{first}, the first remaining one, cannot be read any more"
    )


def _back(place: KafkaTopicPartition, position: int, end: int) -> str:
    return (
        f"cannot read {place} from Kafka: the job has read up to offset {position}, and the "
        f"partition now ends at {end}. Its topic was deleted and created again, or the "
        "brokers have lost records"
    )
