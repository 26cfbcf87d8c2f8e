"""Operators of SQL: they take and emit columns, and are named as Flink names them."""
