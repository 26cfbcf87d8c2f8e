"""Millrace: Apache Flink's programming model as a typed Python package, running on Apache Spark.

The public API lives in :mod:`millrace.datastream`, with the module paths and names of PyFlink.
"""

from __future__ import annotations

import sys

if sys.version_info < (3, 11):  # noqa: UP036  # a zip or a path comes without pip's check
    raise ImportError(
        "Millrace needs Python 3.11 or newer, and this is Python "
        f"{sys.version_info[0]}.{sys.version_info[1]} ({sys.executable})"
    )

from millrace.missing_modules import install

__all__ = ["__version__"]

__version__ = "0.1.0"

install()
