"""Canonical savepoints: Parquet and JSON that outlive versions and that other tools can read.

See ``docs/savepoints/format.md``. Semantics: Flink docs, "Savepoints", format CANONICAL.
"""
