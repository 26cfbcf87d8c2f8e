"""Resident tasks: tasks that stay, exchange records by sockets, and end epochs by barriers.

Plain Python without Spark: `millrace.spark.resident` starts the tasks.
"""
