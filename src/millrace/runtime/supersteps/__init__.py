"""Supersteps: the loop in which the partitions of a graph compute, exchange messages and vote.

Plain Python with NumPy and Arrow, without Spark: `millrace.spark.graphs` starts the tasks.
`superstep_program` tells how a program is written, `local_run` runs it in this process.
"""
