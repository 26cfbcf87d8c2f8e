"""Canonical savepoints: Parquet and JSON that outlive versions and that anybody's tools read.

See ``docs/savepoints/format.md``. Semantics: Flink docs, "Savepoints", format CANONICAL.
"""
