"""Tables whose changes are captured, and their lookup in the database's catalog."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from millrace.connectors.postgres_cdc.connection import PostgresCdcError

__all__ = [
    "CapturedTable",
    "columns_in_query",
    "created_again",
    "find_tables",
    "in_query",
    "quoted",
]

_TABLES = """
select c.oid, n.nspname, c.relname, c.relkind = 'p', c.relreplident, i.indrelid is not null,
       array(select a.attname::text from pg_attribute a
             where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
                   and a.attgenerated = '' order by a.attnum),
       array(select a.attname::text from unnest(i.indkey) with ordinality as k(attnum, place)
             join pg_attribute a on a.attrelid = c.oid and a.attnum = k.attnum order by k.place),
       array(select format_type(a.atttypid, a.atttypmod) ||
                    case when a.attcollation in (0, 100) then '' else
                        (select format(' collate %I.%I', s.nspname, l.collname)
                         from pg_collation l join pg_namespace s on s.oid = l.collnamespace
                         where l.oid = a.attcollation) end
             from unnest(i.indkey) with ordinality as k(attnum, place)
             join pg_attribute a on a.attrelid = c.oid and a.attnum = k.attnum order by k.place)
from pg_class c join pg_namespace n on n.oid = c.relnamespace
     left join pg_index i on i.indrelid = c.oid and i.indisprimary
where c.relkind in ('r', 'p') and not c.relispartition and c.relpersistence = 'p'
      and n.nspname not like 'pg\\_%' and n.nspname <> 'information_schema'
order by 2, 3
"""


@dataclass(frozen=True)
class CapturedTable:
    """A table whose changes are captured.

    Attributes:
        schema: its schema in the database.
        name: its name there.
        columns: without generated ones, which are not in the log.
        key: the columns of its primary key.
        key_types: type and collation of each key column, for casts from text.
        partitioned: whether it has partitions.
        oid: object id, which identifies the table even if names change.
    """

    schema: str
    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    key_types: tuple[str, ...]
    partitioned: bool = False
    oid: int = 0

    @property
    def full_name(self) -> str:
        """Schema and name, as in table lists."""
        return f"{self.schema}.{self.name}"

    @property
    def quoted(self) -> str:
        """Quoted schema and name for SQL."""
        return f"{quoted(self.schema)}.{quoted(self.name)}"


def created_again(table: CapturedTable) -> PostgresCdcError:
    """Error about a table that was dropped and created again under the same name."""
    return PostgresCdcError(
        f"table {table.full_name} was dropped and created again, which no change of a row "
        "shows: start without a checkpoint, so that it is read again"
    )


def in_query(table: CapturedTable) -> str:
    """SQL text of the table after FROM, in a query with parameters. Inheriting tables are excluded,
    because the log has their rows under their own names.
    """
    only = "" if table.partitioned else "only "
    return only + table.quoted.replace("%", "%%")


def columns_in_query(names: Iterable[str], prefix: str = "") -> str:
    """Quoted column names, in a query with parameters."""
    return ", ".join(prefix + quoted(name).replace("%", "%%") for name in names)


def quoted(name: str) -> str:
    """Quoted identifier for SQL.

    Example:
        >>> quoted("Orders")
        '"Orders"'
    """
    return '"' + name.replace('"', '""') + '"'


def find_tables(
    connection: Any, schemas: Sequence[str], patterns: Sequence[str], needs_key: bool
) -> list[CapturedTable]:
    """Tables whose ``schema.table`` matches one of the patterns.

    Args:
        connection: connection to the database.
        schemas: patterns of which one must match the schema; none: any schema.
        patterns: regular expressions; none: every table.
        needs_key: whether tables without a primary key are refused.

    Raises:
        PostgresCdcError: a pattern matches nothing, or a table cannot be captured.
    """
    tables, used = [], set()
    for (
        oid,
        schema,
        name,
        partitioned,
        identity,
        has_key,
        columns,
        key,
        types,
    ) in connection.execute(_TABLES):
        if schemas and not _matching(schemas, schema):
            continue
        matching = _matching(patterns, f"{schema}.{name}")
        if patterns and not matching:
            continue
        used.update(matching)
        table = CapturedTable(
            schema, name, tuple(columns), tuple(key) if has_key else (), tuple(types), partitioned,
            oid,
        )  # fmt: skip
        _require_identity(table, identity, needs_key)
        tables.append(table)
    unused = [pattern for pattern in patterns if pattern not in used]
    if unused or not tables:
        raise PostgresCdcError(
            f"no table matches {', '.join(map(repr, unused or schemas)) or 'anything'}; patterns "
            "are regular expressions for schema.table, such as 'public.orders' or 'shop\\..*', and "
            "the user must be allowed to see the table"
        )
    return tables


def _matching(patterns: Iterable[str], name: str) -> list[str]:
    return [pattern for pattern in patterns if re.fullmatch(pattern, name)]


def _require_identity(table: CapturedTable, identity: str, needs_key: bool) -> None:
    if not table.key and needs_key:
        raise PostgresCdcError(
            f"table {table.full_name} has no primary key, which is needed to read its rows; "
            "add one, or start with StartupOptions.latest()"
        )
    if identity == "f" or (identity == "d" and table.key):
        return
    raise PostgresCdcError(
        f"updates and deletes in table {table.full_name} do not identify their row. ALTER "
        f"TABLE {table.quoted} REPLICA IDENTITY FULL (or DEFAULT, if it has a primary key)"
    )
