"""Enumerator of a MongoDB source: cuts the collection into ranges of ``_id``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from millrace.common.source import SourceSplit, SplitEnumerator
from millrace.connectors.mongodb.client import MongoError, connected, telling
from millrace.connectors.mongodb.documents import codec
from millrace.connectors.mongodb.id_range import Bound, id_range
from millrace.connectors.mongodb.partition_strategy import PartitionStrategy
from millrace.connectors.mongodb.reading import MongoReading

__all__ = ["MongoEnumerator", "MongoSplit"]


@dataclass(frozen=True)
class MongoSplit(SourceSplit):
    """A range of ``_id`` as a split."""

    lower: Bound = ()
    """Lower bound, included."""
    upper: Bound = ()
    """Upper bound, excluded."""


class MongoEnumerator(SplitEnumerator):
    """Finds the parts once; each subtask reads one part at a time."""

    def __init__(self, reading: MongoReading) -> None:
        self._reading = reading
        self._found = False

    def discover(self, now: int) -> Sequence[SourceSplit]:
        """All parts at the first call, nothing later.

        Raises:
            MongoError: there is no such collection, or it cannot be read.
        """
        if self._found:
            return ()
        place = self._reading.connection
        client = connected(place)
        try:
            with telling(place):
                database = client.get_database(place.database)
                if place.collection not in database.list_collection_names(
                    filter={"name": place.collection}, authorizedCollections=True, nameOnly=True
                ):
                    raise MongoError(
                        f"there is no {place}: see set_database() and set_collection(); their "
                        "names are case-sensitive"
                    )
                bounds = self._bounds(database)
        finally:
            client.close()
        self._found = True
        cuts: list[Bound] = [(), *bounds, ()]
        return [MongoSplit(f"range-{i}", *cut) for i, cut in enumerate(pairwise(cuts))]

    def _bounds(self, database: Any) -> list[Bound]:
        """Every n-th ``_id``."""
        reading = self._reading
        if reading.strategy is PartitionStrategy.SINGLE or reading.limit is not None:
            return []
        name = reading.connection.collection
        records = reading.partition_records
        if records is None:
            size = database.command("collStats", name).get("avgObjSize", 0)
            records = max(1, int(reading.partition_bytes // max(1, size)))
        collection = database.get_collection(name, codec_options=codec())
        bounds: list[Bound] = []
        while True:
            rest = collection.find(id_range(bounds[-1] if bounds else (), ()), {"_id": 1})
            documents = list(rest.sort("_id", 1).skip(records).limit(1))
            if not documents:
                return bounds
            bounds.append((documents[0]["_id"],))

    def max_active_splits(self) -> int | None:
        return 1

    def no_more_splits(self) -> bool:
        return self._found

    def snapshot_state(self) -> Any:
        return self._found

    def restore_state(self, state: Any) -> None:
        self._found = bool(state)
