"""Decoder of the messages that one poll returned for one partition. It isolates records that cannot
be read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any

from millrace.common.error_policy import ErrorPolicy
from millrace.common.source import ReaderContext
from millrace.common.types.batch import Batch
from millrace.connectors.kafka.client import KafkaError
from millrace.connectors.kafka.record_deserializer import (
    KafkaRecordDeserializationSchema,
    require_one_each,
)
from millrace.connectors.malformed_records import MalformedRecords
from millrace.connectors.record_decoding import decode_around, with_times
from millrace.formats.malformed_record import MalformedRecordError, as_malformed, shown_bytes

__all__ = ["ValueDecoder"]


_REMEDY = "to skip such records, use set_error_policy(ErrorPolicy.skip()) or side_output()"


class ValueDecoder:
    """Reads the messages of one partition with their timestamps.

    Args:
        place: name of the partition, for messages.
    """

    def __init__(
        self,
        schema: KafkaRecordDeserializationSchema[Any],
        policy: ErrorPolicy,
        context: ReaderContext,
        place: str,
    ) -> None:
        self._schema = schema
        self._place = place
        self._malformed = None if policy.fails else MalformedRecords(policy, context, place)

    def decode(self, messages: Sequence[Any]) -> Iterator[Batch]:
        """Records in order, in one batch, or in several batches around unreadable records.

        Raises:
            KafkaError: one cannot be read, and the error policy is to fail.
        """
        flat = self._schema.deserialize_flat
        for read, (batch, origins) in decode_around(messages, flat, self._give_up):
            stamps = map(type(read[0]).timestamp, read)
            times = list(map(itemgetter(1), stamps))
            if origins is None:
                require_one_each(batch, read)
            else:
                times = [times[origin] for origin in origins]
            yield with_times(batch, times)

    def _give_up(self, message: Any, error: Exception) -> None:
        malformed, raw = as_malformed(error), message.value() or b""
        if self._malformed is None:
            remedy = "" if malformed.tells_remedy else f"; {_REMEDY}"
            raise KafkaError(
                f"the record at offset {message.offset()} of {self._place} cannot be read: "
                f"{malformed.reason}: {shown_bytes(raw)}{remedy}"
            ) from error
        place = message.offset(), None, malformed.column
        self._malformed.take(MalformedRecordError(malformed.reason, raw, *place))
