"""Detached records: copies that user code cannot change after it has emitted them.

Records wait in batches where Flink would already have serialized them. As long as they are
immutable that cannot be seen; the others are copied where an object may have two owners.
"""

from __future__ import annotations

import pickle
from itertools import chain
from typing import Any

from millrace.common.types.batch import Batch, ColumnBatch, RowBatch
from millrace.state.frozen import IMMUTABLE, is_immutable
from millrace.state.serialization.pickles import dump_pickle


def detached(value: Any) -> Any:
    """The value itself or, if it can be changed in place, a copy."""
    return value if is_immutable(value) else pickle.loads(dump_pickle(value))


def detached_batch(batch: Batch) -> Batch:
    """The batch itself or, if its records can be changed in place, a copy."""
    if isinstance(batch, ColumnBatch) or are_immutable(batch.values):
        return batch
    return RowBatch(pickle.loads(dump_pickle(batch.values)), batch.timestamps)


def are_immutable(values: list[Any]) -> bool:
    """Whether none of the values can be changed in place. The check is fast for values without
    nested values."""
    kinds = set(map(type, values))
    if kinds == {tuple}:
        kinds = set(map(type, chain.from_iterable(values)))
    return kinds <= IMMUTABLE or all(map(is_immutable, values))
