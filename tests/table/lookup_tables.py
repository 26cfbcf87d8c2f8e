"""A table that can be looked up, for tests of look-up joins: `LookupFactory`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from millrace.common.config.config_options import ConfigOptions
from millrace.common.functions.lookup_functions import (
    AsyncLookupFunction,
    Key,
    LookupFunction,
    Rows,
    ScanningLookupFunction,
)
from millrace.common.types.row import INSERT_ONLY, RowKind
from millrace.planner.catalog_reader import ResolvedTable
from millrace.planner.execution.table_factory import LookupRequest, OptionValues, TableFactory

MODE = ConfigOptions.key("mode").string_type().default_value("sync")
CALLS: list[list[Key]] = []
"""The keys of each call."""
ROWS: list[dict[str, Any]] = []


def found(request: tuple[tuple[str, ...], tuple[str, ...]], keys: Sequence[Key]) -> Rows:
    names, columns = request
    CALLS.append(list(keys))
    rows: dict[Key, list[Sequence[Any]]] = {}
    for row in ROWS:
        key = tuple(row[name] for name in names)
        if key in set(keys):
            rows.setdefault(key, []).append([row[name] for name in columns])
    return rows


class Lookup(LookupFunction):
    """Looks keys up in `ROWS`."""

    batch_size = 10

    def __init__(self, keys: tuple[str, ...], columns: tuple[str, ...]) -> None:
        self._request = (keys, columns)

    def lookup(self, keys: Sequence[Key]) -> Rows:
        return found(self._request, keys)


class AsyncLookup(AsyncLookupFunction):
    """The same in an event loop."""

    batch_size = 2

    def __init__(self, keys: tuple[str, ...], columns: tuple[str, ...]) -> None:
        self._request = (keys, columns)

    async def lookup(self, keys: Sequence[Key]) -> Rows:
        return found(self._request, keys)


class ScanningLookup(Lookup, ScanningLookupFunction):
    """Gives all of `ROWS` too."""

    def lookup(self, keys: Sequence[Key]) -> Rows:
        raise AssertionError("all rows are kept")

    def scan(self) -> Iterable[tuple[Key, Sequence[Any]]]:
        names, columns = self._request
        CALLS.append([])
        for row in ROWS:
            yield tuple(row[name] for name in names), [row[name] for name in columns]


class LookupFactory(TableFactory):
    """``'connector' = 'looked-up'``."""

    identifier = "looked-up"
    optional = (MODE,)
    lookup = True

    def create_lookup(
        self, request: LookupRequest, options: OptionValues
    ) -> LookupFunction | AsyncLookupFunction:
        kind = {"sync": Lookup, "async": AsyncLookup, "scan": ScanningLookup}[options.get(MODE)]
        return kind(request.keys, request.columns.names)

    def changes(self, table: ResolvedTable, options: Mapping[str, str]) -> frozenset[RowKind]:
        return INSERT_ONLY
