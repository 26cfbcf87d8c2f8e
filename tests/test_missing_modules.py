"""Who imports what Millrace does not have is told so in a sentence."""

from __future__ import annotations

import importlib.util
import sys
from importlib import import_module

import pytest

from millrace.missing_modules import MISSING, MissingModules


@pytest.mark.parametrize("name", sorted(MISSING))
def test_what_is_listed_is_missing(name: str) -> None:
    """A part that is added leaves the list; the error is one sentence that says what there is."""
    with pytest.raises(ModuleNotFoundError, match=r"Millrace has no .* yet: ") as refused:
        import_module(name)
    assert refused.value.name == name
    assert "\n" not in str(refused.value)


def test_parts_of_a_missing_package_are_missing() -> None:
    """`millrace.table.udf` is looked for after `millrace.table`."""
    with pytest.raises(ModuleNotFoundError, match="no Table API yet"):
        import_module("millrace.table.udf")


def test_other_modules_are_left_alone() -> None:
    """Those that exist, and those that do not."""
    assert MissingModules().find_spec("millrace.datastream") is None
    assert importlib.util.find_spec("millrace_nowhere") is None
    assert any(isinstance(finder, MissingModules) for finder in sys.meta_path)
