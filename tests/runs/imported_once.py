"""A module is imported by its name before pytest collects its doctests.

pytest imports the package of such a module first. When the package imports the module, pytest
executes the file once more, so that each of its classes exists twice: `isinstance` fails, pickles
hold classes by value, and a test fails in the one process that collected the module in this order.
"""

from __future__ import annotations

import contextlib
import importlib

import pytest
from _pytest.doctest import DoctestModule

__all__ = ["pytest_make_collect_report"]


def pytest_make_collect_report(collector: pytest.Collector) -> None:
    """pytest reports a module that cannot be imported."""
    sources = collector.config.rootpath / "src"
    if isinstance(collector, DoctestModule) and collector.path.is_relative_to(sources):
        parts = collector.path.relative_to(sources).with_suffix("").parts
        with contextlib.suppress(Exception):
            importlib.import_module(".".join(parts).removesuffix(".__init__"))
