"""Batch decoding of the records that one poll returned. It isolates records that cannot be read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from millrace.common.types.batch import Batch, ColumnBatch, RowBatch
from millrace.connectors.errors import ConnectorError

__all__ = ["decode_around", "with_times"]

Raw = TypeVar("Raw")
Decoded = TypeVar("Decoded")


def decode_around(
    raws: Sequence[Raw],
    decode: Callable[[Sequence[Raw]], Decoded],
    give_up: Callable[[Raw, Exception], None],
) -> Iterator[tuple[Sequence[Raw], Decoded]]:
    """Decode all records in one call. After an error, decode them by halves, so that one bad record
    among many is found in few calls.

    Args:
        raws: the polled records, in their order.
        decode: fails as a whole where one cannot be read.
        give_up: called for each unreadable record; if it does not raise, the other records go on.

    Yields:
        What was decoded together, and what it became.

    Raises:
        ConnectorError: of ``decode``: no record is at fault, but a schema registry does not answer.
    """
    if not raws:
        return
    try:
        decoded = decode(raws)
    except ConnectorError:
        raise
    except Exception as error:  # whatever a schema of the user's raises
        if len(raws) == 1:
            give_up(raws[0], error)
            return
        middle = len(raws) // 2
        yield from decode_around(raws[:middle], decode, give_up)
        yield from decode_around(raws[middle:], decode, give_up)
    else:
        yield raws, decoded


def with_times(batch: Batch, times: list[int]) -> Batch:
    """The records with the given timestamps as a batch. Records that are None are left out."""
    if isinstance(batch, ColumnBatch):
        import pyarrow as pa

        return ColumnBatch(batch.data, pa.array(times, pa.int64()), batch.row_kinds, batch.form)
    values = batch.values
    if None not in values:
        return RowBatch(values, times)
    kept = [index for index, value in enumerate(values) if value is not None]
    return RowBatch([values[index] for index in kept], [times[index] for index in kept])
