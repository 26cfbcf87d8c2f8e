"""CAST and TRY_CAST between all types (Flink docs, "Data Types", CAST)."""
