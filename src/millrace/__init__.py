"""Millrace: Apache Flink's programming model as a typed Python package, running on Apache Spark.

The public API lives in :mod:`millrace.datastream`, with the module paths and names of PyFlink.
"""

from __future__ import annotations

from millrace.missing_modules import install

__all__ = ["__version__"]

__version__ = "0.1.0"

install()
