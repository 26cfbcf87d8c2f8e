"""Projections of bipartite graphs as joins."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

__all__ = ["full_projection", "simple_projection"]


def simple_projection(edges: DataFrame, kept: str, through: str) -> DataFrame:
    """Edges between vertices of one kind, ``kept``, that have edges to the same vertex of the other
    kind, ``through``.
    """
    first = edges.select(F.col(through).alias("t"), F.col(kept).alias("source"), _as("value", "f0"))
    second = edges.select(
        F.col(through).alias("t"), F.col(kept).alias("target"), _as("value", "f1")
    )
    pairs = first.join(second, on="t").where(F.col("source") != F.col("target"))
    return pairs.select("source", "target", F.struct("f0", "f1").alias("value"))


def full_projection(
    vertices: DataFrame, others: DataFrame, edges: DataFrame, kept: str, through: str
) -> DataFrame:
    """The edges of `simple_projection`. The column ``value`` has the connecting vertex, and the
    values of the vertices and edges.
    """
    of_kept = vertices.select(_as("id", kept), _as("value", "vertex_value"))
    of_others = others.select(_as("id", through), _as("value", "connecting_value"))
    whole = edges.join(of_kept, on=kept)
    first = whole.join(of_others, on=through).select(
        _as(through, "connecting_id"),
        "connecting_value",
        _as(kept, "source"),
        _as("vertex_value", "source_value"),
        _as("value", "source_edge_value"),
    )
    second = whole.select(
        _as(through, "connecting_id"),
        _as(kept, "target"),
        _as("vertex_value", "target_value"),
        _as("value", "target_edge_value"),
    )
    pairs = first.join(second, on="connecting_id").where(F.col("source") != F.col("target"))
    value = F.struct(
        "connecting_id",
        "connecting_value",
        "source_value",
        "target_value",
        "source_edge_value",
        "target_edge_value",
    )
    return pairs.select("source", "target", value.alias("value"))


def _as(name: str, other: str) -> Column:
    return F.col(name).alias(other)
