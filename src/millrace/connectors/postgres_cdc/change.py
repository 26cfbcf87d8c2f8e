"""Row changes, the input of a deserialization schema."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

__all__ = ["ChangeOperation", "RowImage", "TableChange"]


class ChangeOperation(Enum):
    """Kinds of changes; the values are Debezium's."""

    READ = "r"
    """It was there when the table was read for the first time."""
    CREATE = "c"
    UPDATE = "u"
    DELETE = "d"


@dataclass(frozen=True)
class RowImage:
    """Layout of a table's rows from some point of the log on.

    Attributes:
        database: name of the table's database.
        schema: database schema of the table.
        table: its name.
        columns: their names.
        key: positions of the columns of the primary key.
        full_identity: whether changes have all of the row before them (``REPLICA IDENTITY FULL``);
            otherwise a delete has its key, and an update nothing.
    """

    database: str
    schema: str
    table: str
    columns: tuple[str, ...]
    key: tuple[int, ...]
    full_identity: bool


class TableChange(NamedTuple):
    """A change of one row.

    Attributes:
        operation: kind of the change. An update of the primary key is a delete and a create.
        image: layout of the table's rows.
        before: the values of the columns before; None where they are not known.
        after: and after; None for a row that was deleted.
        lsn: the position of the change in the log; 0 for what was read from the table.
        commit_time: commit time of its transaction, in ms since 1970; 0 for rows of a table read.
        xid: the id of its transaction; 0 for what was read from the table.
    """

    operation: ChangeOperation
    image: RowImage
    before: tuple[Any, ...] | None
    after: tuple[Any, ...] | None
    lsn: int = 0
    commit_time: int = 0
    xid: int = 0
