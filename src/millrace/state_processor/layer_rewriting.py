"""Layers in which operators are left out or have other uids.

The values are not looked at: tables are called otherwise, their bytes stay what they are. Only what
operators keep about themselves, which is in one table for all, is decoded.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from millrace.state.layer import Layer
from millrace.state.layer_payload import Content, Loader, contents, framed
from millrace.state.serialization.snapshot_codec import SAFE, TRUSTING, SnapshotCodec
from millrace.state.table_kinds import OPERATOR_TABLE, VALVE
from millrace.state.table_names import owner_of

__all__ = ["rewritten"]

Uids = Mapping[str, str | None]
"""What each operator is called from now on; None: it goes."""


def rewritten(layer: Layer, load: Loader, uids: Uids, codec: SnapshotCodec = TRUSTING) -> Layer:
    """The layer with the operators' new uids. What is of none of them goes, too."""
    pieces = (_content(content, uids, codec) for content in contents(layer, load, SAFE))
    return dataclasses.replace(layer, data=b"".join(framed(SAFE.encode(c)) for c in pieces))


def _content(content: Content, uids: Uids, codec: SnapshotCodec) -> Content:
    return {part: dict(_tables(tables, uids, codec)) for part, tables in content.items()}


def _tables(
    tables: Mapping[str, Any], uids: Uids, codec: SnapshotCodec
) -> Iterator[tuple[str, Any]]:
    for name, (kind, schema, encoded) in tables.items():
        if name == OPERATOR_TABLE:
            delta = _own_values(codec.decode(encoded), lambda key: _value_name(key, uids))
            yield name, (kind, schema, codec.encode(delta))
        elif (renamed := _renamed(name, uids)) is not None:
            yield renamed, (kind, schema, encoded)


def _own_values(delta: dict[str, Any], rename: Callable[[str], str | None]) -> dict[str, Any]:
    put = {rename(key): value for key, value in delta["put"].items()}
    removed = [renamed for key in delta["del"] if (renamed := rename(key)) is not None]
    put.pop(None, None)
    return {"put": put, "del": removed}


def _value_name(key: str, uids: Uids) -> str | None:
    return key if key == VALVE else _renamed(key, uids)


def _renamed(name: str, uids: Uids) -> str | None:
    """A table's or value's name with the new uid; None: its operator goes."""
    owner = owner_of(name, uids)
    if owner is None or uids[owner] is None:
        return None
    return f"{uids[owner]}{name[len(owner) :]}"
