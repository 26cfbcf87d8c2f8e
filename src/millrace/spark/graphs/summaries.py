"""DataFrames of a graph whose vertices are groups of vertices of another graph."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf

__all__ = ["summarized"]


def summarized(vertices: DataFrame, edges: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Vertices and edges of the graph that has one vertex for all vertices with the same value.

    Its id is the least of theirs. Edges between the same groups with the same value become one.
    The values of both are structs of the common ``value`` and the ``count``.
    """
    groups = vertices.groupBy("value").agg(sf.min("id").alias("id"), sf.count("*").alias("count"))
    members = vertices.select("id", sf.min("id").over(Window.partitionBy("value")).alias("group"))
    by_source = members.select(sf.col("id").alias("source"), sf.col("group").alias("from"))
    by_target = members.select(sf.col("id").alias("target"), sf.col("group").alias("to"))
    ends = edges.join(by_source, "source").join(by_target, "target")
    counted = ends.groupBy("from", "to", "value").agg(sf.count("*").alias("count"))
    value = sf.struct("value", "count").alias("value")
    return groups.select("id", value), counted.select(
        sf.col("from").alias("source"), sf.col("to").alias("target"), value
    )
