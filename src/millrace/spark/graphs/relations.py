"""Algebra of the DataFrames of a graph: joins, unions and aggregates that Catalyst plans.

Vertices have the columns ``id`` and ``value``, edges ``source``, ``target`` and ``value``.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

__all__ = [
    "adjacent",
    "common_edges",
    "degrees",
    "edges_within",
    "ids_of_edges",
    "missing_ids",
    "neighbors",
    "renamed",
    "reversed_edges",
    "selected",
    "triplets",
    "with_reversed",
    "without_edges",
    "without_vertices",
]


def renamed(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    """The DataFrame with other names for its columns."""
    return frame if frame.columns == list(names) else frame.toDF(*names)


def selected(frame: DataFrame, columns: dict[str, str | Column]) -> DataFrame:
    """Columns of a DataFrame by their new names; a text is an expression of SQL."""
    made = [
        (F.expr(given) if isinstance(given, str) else given).alias(name)
        for name, given in columns.items()
    ]
    return frame.select(*made)


def filtered(frame: DataFrame, condition: str | Column) -> DataFrame:
    """Rows for which a condition holds; a text is an expression of SQL."""
    return frame.where(F.expr(condition) if isinstance(condition, str) else condition)


def ids_of_edges(edges: DataFrame) -> DataFrame:
    """The distinct ends of edges, as ``id``."""
    ends = F.explode(F.array("source", "target")).alias("id")
    return edges.select(ends).distinct()


def with_nulls(frame: DataFrame) -> DataFrame:
    """The DataFrame with a column ``value`` added that is NULL in each row."""
    return frame.withColumn("value", F.lit(None))


def reversed_edges(edges: DataFrame) -> DataFrame:
    """Each edge from its target to its source."""
    return edges.select(
        F.col("target").alias("source"), F.col("source").alias("target"), F.col("value")
    )


def with_reversed(edges: DataFrame) -> DataFrame:
    """Each edge in both directions, in one pass over the edges."""
    both = F.array(
        F.struct(F.col("source").alias("s"), F.col("target").alias("t")),
        F.struct(F.col("target").alias("s"), F.col("source").alias("t")),
    )
    turned = edges.select(F.explode(both).alias("ends"), "value")
    return turned.select(
        F.col("ends.s").alias("source"), F.col("ends.t").alias("target"), F.col("value")
    )


def edges_within(edges: DataFrame, vertices: DataFrame) -> DataFrame:
    """Edges whose source and target are both among the vertices."""
    kept = vertices.select("id")
    inside = edges.join(kept, edges["source"] == kept["id"], "left_semi")
    return inside.join(kept, inside["target"] == kept["id"], "left_semi")


def without_vertices(frame: DataFrame, removed: DataFrame) -> DataFrame:
    """Vertices whose ids are not among the removed ones."""
    gone = removed.select(F.col("id").alias("gone"))
    return frame.join(gone, frame["id"] == gone["gone"], "left_anti")


def without_edges(edges: DataFrame, removed: DataFrame) -> DataFrame:
    """All edges except those with the source and target of a removed edge; values are not
    compared."""
    gone = removed.select(F.col("source").alias("gone_s"), F.col("target").alias("gone_t"))
    same = (edges["source"] == gone["gone_s"]) & (edges["target"] == gone["gone_t"])
    return edges.join(gone, same, "left_anti")


def common_edges(edges: DataFrame, others: DataFrame, distinct: bool) -> DataFrame:
    """Edges that both graphs have with the same value. With ``distinct``, each such edge is
    returned once, otherwise twice per match: once for each graph.
    """
    if distinct:
        return edges.intersect(others)
    twice = F.explode(F.array(F.lit(0), F.lit(1)))
    return edges.intersectAll(others).select("*", twice.alias("copy")).drop("copy")


def missing_ids(vertices: DataFrame, edges: DataFrame) -> DataFrame:
    """Ends of edges that are not among the vertices, as ``id``."""
    return without_vertices(ids_of_edges(edges), vertices)


def triplets(vertices: DataFrame, edges: DataFrame) -> DataFrame:
    """Edges with the values of both ends."""
    return _with_end(_with_end(edges, vertices, "source"), vertices, "target").select(
        "source", "target", "source_value", "target_value", "value"
    )


def _with_end(edges: DataFrame, vertices: DataFrame, end: str) -> DataFrame:
    ends = vertices.select(F.col("id").alias(end), F.col("value").alias(f"{end}_value"))
    return edges.join(ends, on=end, how="inner")


def adjacent(edges: DataFrame, direction: str) -> DataFrame:
    """Each edge, once for each vertex to whose neighbourhood it belongs. Columns: ``id``,
    ``neighbor``, and ``source``, ``target``, ``value``.
    """
    if direction == "OUT":
        return edges.select(F.col("source").alias("id"), F.col("target").alias("neighbor"), "*")
    if direction == "IN":
        return edges.select(F.col("target").alias("id"), F.col("source").alias("neighbor"), "*")
    both = F.array(
        F.struct(F.col("source").alias("id"), F.col("target").alias("neighbor")),
        F.struct(F.col("target").alias("id"), F.col("source").alias("neighbor")),
    )
    turned = edges.select(F.explode(both).alias("ends"), "*")
    return turned.select("ends.id", "ends.neighbor", "source", "target", "value")


def neighbors(vertices: DataFrame, edges: DataFrame, direction: str) -> DataFrame:
    """`adjacent` with the neighbour's value in ``neighbor_value``."""
    values = vertices.select(F.col("id").alias("neighbor"), F.col("value").alias("neighbor_value"))
    return (
        adjacent(edges, direction)
        .join(values, on="neighbor", how="inner")
        .select("id", "neighbor", "source", "target", "value", "neighbor_value")
    )


def degrees(vertices: DataFrame, edges: DataFrame, direction: str) -> DataFrame:
    """Number of edges of each vertex, as ``value``; an end that is no vertex is an error."""
    known = vertices.select("id", F.lit(0).cast("bigint").alias("n"), F.lit(1).alias("known"))
    one, zero = F.lit(1).cast("bigint").alias("n"), F.lit(0).alias("known")
    counted = adjacent(edges, direction).select("id", one, zero)
    sums = (
        known.unionByName(counted)
        .groupBy("id")
        .agg(F.sum("n").alias("n"), F.max("known").alias("known"))
    )
    stray = F.raise_error(
        F.concat(
            F.lit("an edge has the vertex "),
            F.col("id").cast("string"),
            F.lit(
                ", which is not among the vertices of the graph; "
                "graph.validate(InvalidVertexIdsValidator()) looks for such edges"
            ),
        )
    )
    number = F.when(F.col("known") == 1, F.col("n")).otherwise(stray.cast("bigint"))
    return sums.select("id", number.alias("value"))


def aggregated(frame: DataFrame, column: str, aggregate: str) -> DataFrame:
    """A column's sum, minimum or maximum for each ``id``, as ``value``."""
    functions = {"sum": F.sum, "min": F.min, "max": F.max}
    return frame.groupBy("id").agg(functions[aggregate](column).alias("value"))


def first_of_each(frame: DataFrame, keys: Sequence[str]) -> DataFrame:
    """One row for each distinct key."""
    return frame.dropDuplicates(list(keys))


def joined(frame: DataFrame, keys: Sequence[str], inputs: DataFrame) -> DataFrame:
    """Rows with two more columns: ``input`` has the first input with the row's key, and ``has``
    tells whether there is one.
    """
    firsts = first_of_each(inputs, keys).withColumn("has", F.lit(True))
    rows = frame.join(firsts, on=list(keys), how="left")
    return rows.select(*frame.columns, "input", F.coalesce("has", F.lit(False)).alias("has"))


def in_groups(frame: DataFrame, order: Sequence[str] = ()) -> DataFrame:
    """The rows in groups of equal ``id``: the rows of a group are adjacent, in this order and in
    one partition."""
    return frame.repartition("id").sortWithinPartitions("id", *order)


def tagged_union(vertices: DataFrame, rows: DataFrame) -> DataFrame:
    """Vertices and rows of their neighbourhoods in one DataFrame. The row of a vertex has ``tag``
    0, and its value in ``vertex_value``. All other rows have ``tag`` 1.
    """
    first = vertices.select(
        "id", F.col("value").alias("vertex_value"), F.lit(0).cast("tinyint").alias("tag")
    )
    return first.unionByName(
        rows.withColumn("tag", F.lit(1).cast("tinyint")), allowMissingColumns=True
    )


def cast_ids(frame: DataFrame, names: Sequence[str], ddl: str) -> DataFrame:
    """The DataFrame with some columns cast to a type of Spark's DDL."""
    return frame.select(
        *(F.col(name).cast(ddl).alias(name) if name in names else name for name in frame.columns)
    )


def repartitioned(frame: DataFrame) -> DataFrame:
    """The rows of each ``id`` in one partition."""
    return frame.repartition("id")


def as_one_value(frame: DataFrame, keys: Sequence[str], names: Sequence[str]) -> DataFrame:
    """The columns ``keys`` under other names, and all other columns combined in ``value``: one
    column unchanged, several columns as a struct, NULL if there are none.
    """
    others = [name for name in frame.columns if name not in keys]
    value = F.lit(None) if not others else F.col(others[0])
    if len(others) > 1:
        value = F.struct(*others)
    ids = [F.col(key).alias(name) for key, name in zip(keys, names, strict=True)]
    return frame.select(*ids, value.alias("value"))
