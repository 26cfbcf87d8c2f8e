"""A source of the elements of a Python collection. Flink docs: "Data Sources", collection based."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from millrace.common.source import ReaderContext, SplitEnumerator, SplitSource, StaticEnumerator
from millrace.connectors.index_range import (
    IndexRangeReader,
    IndexRangeSplit,
    index_range_splits,
    require_at_least,
)

__all__ = ["CollectionSource"]

T = TypeVar("T")


class CollectionSource(SplitSource[T]):
    """A bounded source of the elements of a collection, which is part of the program.

    Args:
        collection: the elements; must be picklable. Larger inputs belong into files.
        splits: maximum number of subtasks that read. With one split (the default, as Flink's
            ``from_collection``) the order of the collection is kept.

    Raises:
        JobDefinitionError: ``splits`` is not at least 1.

    >>> from millrace.common.source import ReaderContext
    >>> source = CollectionSource(["a", "b", "c"])
    >>> [split] = source.create_enumerator().discover(now=0)
    >>> reader = source.create_split_reader(split, None, ReaderContext(0, 1, lambda: 0))
    >>> reader.read(2).values, reader.position(), reader.finished()
    (['a', 'b'], 2, False)
    """

    def __init__(self, collection: Iterable[T], splits: int = 1) -> None:
        require_at_least(1, splits=splits)
        self._elements = list(collection)
        self._splits = splits

    def create_enumerator(self) -> SplitEnumerator:
        return StaticEnumerator(index_range_splits(0, len(self._elements), self._splits))

    def create_split_reader(
        self, split: IndexRangeSplit, position: Any, context: ReaderContext
    ) -> IndexRangeReader[T]:
        return IndexRangeReader(split, position, lambda start, end: self._elements[start:end])
