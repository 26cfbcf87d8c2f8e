"""Operators of SQL queries. They take and emit batches of columns and have the names of Flink's
operators."""
