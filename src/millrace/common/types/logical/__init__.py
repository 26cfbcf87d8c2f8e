"""Logical types: what a value is, whatever holds it (Flink docs, "Data Types")."""
