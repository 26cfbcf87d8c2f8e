"""Tells which test has started Spark without the marker ``spark``.

Such a test starts a JVM by mistake, or its file is not divided as those with JVMs are
(tests/runs/by_file.py).
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Generator
from typing import Any

import pytest
from by_file import FileOfTests


def has_application() -> bool:
    """Whether this process has a Spark application."""
    core: Any = sys.modules.get("pyspark.core.context")
    return core is not None and core.SparkContext._active_spark_context is not None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    before = has_application()
    result = yield
    is_test = not isinstance(item, FileOfTests)
    is_marked = item.get_closest_marker("spark") is not None
    if has_application() and not before and is_test and not is_marked:
        warnings.warn(f"{item.nodeid} starts Spark without the marker 'spark'", stacklevel=2)
    return result
