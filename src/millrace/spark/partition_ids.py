"""Moves each row to the partition whose number is in a column, with every version of PySpark 4."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

__all__ = ["by_partition_id"]

_DRAWN = 16
"""Numbers that are hashed at a time for each partition: one of a million partitions gets none."""
_seeds_by_count: dict[int, list[int]] = {}


def by_partition_id(frame: DataFrame, partitions: int, column: str) -> DataFrame:
    """The rows of a frame, each in the partition whose number a column contains."""
    if hasattr(type(frame), "repartitionById"):
        return frame.repartitionById(partitions, sf.col(column))
    return by_hash(frame, partitions, column)


def by_hash(frame: DataFrame, partitions: int, column: str) -> DataFrame:
    """`by_partition_id` for PySpark 4.0, which divides rows only by hash. Each partition number is
    replaced by a number whose hash leads to that partition.
    """
    seeds = _seeds_by_count.get(partitions)
    if seeds is None:
        seeds = _seeds_by_count[partitions] = _seeds(frame.sparkSession, partitions)
    numbers = sf.array(*(sf.lit(seed).cast("bigint") for seed in seeds))
    return frame.repartition(partitions, sf.element_at(numbers, sf.col(column) + 1))


def _seeds(session: SparkSession, partitions: int) -> list[int]:
    """A number for each partition to which Spark's hash leads."""
    seeds: dict[int, int] = {}
    start, drawn = 0, _DRAWN * partitions
    while len(seeds) < partitions:
        place = sf.pmod(sf.hash("id"), sf.lit(partitions))  # as Spark divides rows
        for row in session.range(start, start + drawn).select("id", place.alias("at")).collect():
            seeds[row["at"]] = row["id"]
        start += drawn
    return [seeds[partition] for partition in range(partitions)]
