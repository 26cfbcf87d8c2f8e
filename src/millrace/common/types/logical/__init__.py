"""Logical types: the meaning of values, whatever holds them (Flink docs, "Data Types")."""
