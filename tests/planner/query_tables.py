"""Tables that the planner's tests query: a catalog that holds them, and plans as text."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from millrace.common.types.logical.logical_type import (
    LocalZonedTimestampType,
    LogicalType,
)
from millrace.common.types.logical.parser import parse_type
from millrace.common.types.row import ALL_ROW_KINDS
from millrace.expressions import registry
from millrace.expressions.resolved import Call, FieldReference, ValueLiteral
from millrace.planner.binder.query import bind_query
from millrace.planner.catalog_reader import (
    ColumnKind,
    NameKind,
    ResolvedColumn,
    ResolvedTable,
    ResolvedView,
    ResolvedWatermark,
)
from millrace.planner.relational.explain import explained
from millrace.planner.relational.rel_node import RelNode
from millrace.planner.rules.optimizer import optimized
from millrace.sql.parser import parse_query

PATH = ("default_catalog", "default_database")
PROCTIME = Call(registry.function("PROCTIME"), (), LocalZonedTimestampType(3, nullable=False))


def table(name: str, columns: str, rowtime: str | None = None, **more: Any) -> ResolvedTable:
    """A table of columns written like ``id BIGINT, ts TIMESTAMP(3), proc AS PROCTIME()``."""
    made = []
    for field in parse_type(f"ROW<{columns}>").fields:  # type: ignore[attr-defined]
        if field.name == "proc":
            made.append(
                ResolvedColumn("proc", PROCTIME.type, ColumnKind.COMPUTED, expression=PROCTIME)
            )
        else:
            made.append(ResolvedColumn(field.name, field.type))
    watermark = None
    if rowtime is not None:
        index = [column.name for column in made].index(rowtime)
        kind: LogicalType = made[index].type
        from millrace.common.types.logical.logical_type import DayTimeIntervalType

        delay = ValueLiteral(timedelta(seconds=4), DayTimeIntervalType("SECOND", nullable=False))
        field = FieldReference(index, kind, rowtime)
        watermark = ResolvedWatermark(index, Call(registry.function("-"), (field, delay), kind))
    return ResolvedTable((*PATH, name), tuple(made), watermark, **more)


ALL = ALL_ROW_KINDS
TABLES = {
    each.path[-1]: each
    for each in (
        table(
            "bid",
            "auction BIGINT, bidder BIGINT, price DECIMAL(10, 2), item STRING, ts TIMESTAMP(3), "
            "proc TIMESTAMP_LTZ(3) NOT NULL",
            "ts",
        ),
        table("t", "a INT, b STRING, c BIGINT, r ROW<x INT, y ROW<z STRING>>, tags ARRAY<STRING>, "
              "m MAP<STRING, INT>"),
        table("s", "a INT NOT NULL, b STRING, d DOUBLE"),
        table("orders", "id BIGINT NOT NULL, currency STRING, amount INT, ts TIMESTAMP(3), "
              "proc TIMESTAMP_LTZ(3) NOT NULL", "ts"),
        table("shipments", "id BIGINT NOT NULL, order_id BIGINT, ts TIMESTAMP(3)", "ts"),
        table("rates", "currency STRING NOT NULL, rate DECIMAL(10, 4), ts TIMESTAMP(3)", "ts",
              primary_key=("currency",), changes=ALL),
        table("customers", "id BIGINT NOT NULL, name STRING", lookup=True, primary_key=("id",),
              bounded=True),
        table("changing", "id BIGINT NOT NULL, v INT, ts TIMESTAMP(3)", "ts", changes=ALL,
              primary_key=("id",)),
    )
}  # fmt: skip
VIEWS = {"big_bids": ResolvedView((*PATH, "big_bids"), "SELECT auction, price FROM bid")}


class Tables:
    """A catalog of a few tables."""

    current_catalog, current_database = PATH

    def resolve_table(self, name: Sequence[str]) -> ResolvedTable | ResolvedView | None:
        path = (*PATH[: 3 - len(name)], *name)
        if path[:2] != PATH:
            return None
        return TABLES.get(path[2]) or VIEWS.get(path[2])

    def resolve_function(self, name: Sequence[str]) -> Any | None:
        return None

    def resolve_model(self, name: Sequence[str]) -> Any | None:
        return None

    def names(self, kind: NameKind) -> Sequence[str]:
        return [*TABLES, *VIEWS] if kind is NameKind.TABLE else []


def bound(sql: str) -> RelNode:
    """The tree of a query, before any rule."""
    return bind_query(parse_query(sql), Tables(), sql)


def plan(sql: str) -> str:
    """The tree as text, before any rule."""
    return explained(bound(sql))


def snapshots(path: Path) -> list[tuple[str, str]]:
    """Queries and their plans: a query after ``-- ``, its plan below it."""
    blocks = path.read_text(encoding="utf-8").strip().split("\n\n")
    pairs = [block.split("\n", 1) for block in blocks]
    return [(query.removeprefix("-- "), plan) for query, plan in pairs]


def optimized_plan(sql: str) -> str:
    """The tree as text after all rules."""
    return explained(optimized(bound(sql)))
