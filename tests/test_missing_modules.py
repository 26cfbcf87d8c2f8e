"""Who imports what Millrace does not have is told so in a sentence."""

from __future__ import annotations

import importlib.util
import sys
from importlib import import_module

import pytest

from millrace.datastream import connectors
from millrace.missing_modules import MISSING, MISSING_NAMES, MissingModules


@pytest.mark.parametrize("name", sorted(MISSING))
def test_what_is_listed_is_missing(name: str) -> None:
    """A part that is added leaves the list; the error is one sentence that says what there is."""
    with pytest.raises(
        ImportError, match=r"Millrace has no .* yet: |nor Flink 2 has .*: "
    ) as refused:
        import_module(name)
    assert refused.value.name == name
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("module", "name"),
    [(module, name) for module, names in MISSING_NAMES.items() for name in names],
)
def test_names_that_are_missing_say_so(module: str, name: str) -> None:
    """What is added leaves the list; programs may ask whether it is there."""
    package = import_module(module)
    assert name not in package.__all__
    with pytest.raises(ImportError, match=r"Millrace has no .* yet|nor Flink 2 has"):
        exec(f"from {module} import {name}", {})
    assert not hasattr(package, name)
    with pytest.raises(AttributeError, match=r"Millrace has no .* yet|nor Flink 2 has"):
        getattr(package, name)


MISSING_PARTS = [name.rpartition(".") for name in MISSING]


@pytest.mark.parametrize(("package", "_", "module"), MISSING_PARTS)
def test_missing_modules_are_explained_by_their_package(package: str, _: str, module: str) -> None:
    """Python forgets what the finder said if a package is asked for its module."""
    with pytest.raises(ImportError, match=r"Millrace has no .* yet|nor Flink 2 has"):
        exec(f"from {package} import {module}", {})
    assert getattr(import_module(package), module, None) is None


def test_other_names_are_missing_as_ever() -> None:
    """A misspelt name is Python's business, and asking for it gives no error."""
    assert not hasattr(connectors, "FileSources")
    with pytest.raises(ImportError, match="cannot import name 'FileSources'"):
        exec("from millrace.datastream.connectors import FileSources", {})


def test_other_modules_are_left_alone() -> None:
    """Those that exist, and those that do not."""
    assert MissingModules().find_spec("millrace.datastream") is None
    assert importlib.util.find_spec("millrace_nowhere") is None
    assert any(isinstance(finder, MissingModules) for finder in sys.meta_path)
