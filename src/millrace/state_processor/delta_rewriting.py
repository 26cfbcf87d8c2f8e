"""Deltas without some operators, or with other uids.

The values are not looked at: tables are called otherwise, their bytes stay what they are. Only what
operators keep about themselves, which is in one table for all, is decoded.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from millrace.state.delta_payload import Content, Loader, Written, contents, framed
from millrace.state.serialization.payload import decode, encode
from millrace.state.state_delta import StateDelta
from millrace.state.table_id import OPERATOR_TABLE, VALVE, TableId

__all__ = ["rewritten"]

Uids = Mapping[str, str | None]
"""New uid of each operator; None if the operator is removed."""


def rewritten(delta: StateDelta, load: Loader, uids: Uids) -> StateDelta:
    """The delta with the operators' new uids; state of other operators is removed."""
    native = dataclasses.replace(delta, data=load(delta))
    pieces = (_content(content, uids) for content in contents(native, load))
    return dataclasses.replace(delta, data=b"".join(chain.from_iterable(map(framed, pieces))))


def _content(content: Content, uids: Uids) -> Written:
    return {part: dict(_tables(tables, uids)) for part, tables in content.items()}


def _tables(
    tables: Mapping[tuple[str, str], Any], uids: Uids
) -> Iterator[tuple[tuple[str, str], Any]]:
    for name, (kind, schema, encoded) in tables.items():
        table = TableId(*name)
        if table == OPERATOR_TABLE:
            yield name, (kind, schema, [encode(_own_values(decode(encoded), uids))])
        elif (uid := uids.get(table.uid)) is not None:
            yield (uid, table.name), (kind, schema, [encoded])


def _own_values(table_delta: dict[str, Any], uids: Uids) -> dict[str, Any]:
    names = {key: _renamed(key, uids) for part in table_delta.values() for key in part}
    put = {names[key]: value for key, value in table_delta["put"].items() if names[key] is not None}
    removed = [names[key] for key in table_delta["del"] if names[key] is not None]
    return {"put": put, "del": removed}


def _renamed(key: tuple[str, ...], uids: Uids) -> tuple[str, ...] | None:
    """The key of an operator's own value with the new uid; None if the operator is removed."""
    if key == VALVE:
        return key
    uid = uids.get(key[0])
    return None if uid is None else (uid, *key[1:])
