"""Splits of connectors are stored in savepoints under the names of their modules and classes."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import millrace
from millrace.common.source import SourceSplit

NAMES = Path(__file__).parents[1] / "fixtures" / "stored_splits.txt"
"""Splits of all releases. A name may be added; one that is gone needs an entry in
`millrace.state.serialization.tagged_values.MOVED`, or an alias under its former name."""


def splits(kind: type = SourceSplit) -> Iterator[str]:
    for each in kind.__subclasses__():
        if each.__module__.startswith("millrace.connectors."):
            yield f"{each.__module__}:{each.__qualname__}"
        yield from splits(each)


def test_every_split_has_its_name_for_ever() -> None:
    for found in pkgutil.walk_packages(millrace.connectors.__path__, "millrace.connectors."):
        try:
            importlib.import_module(found.name)
        except ImportError:
            continue
    known = set(NAMES.read_text(encoding="utf-8").split())
    assert set(splits()) - known == set(), f"new splits: add them to {NAMES.name}"
    for name in known:
        module, _, qualname = name.partition(":")
        try:
            loaded = importlib.import_module(module)
        except ImportError as error:
            if (error.name or "").startswith("millrace."):
                raise
            continue  # of an extra that is not installed
        assert getattr(loaded, qualname).__qualname__ == qualname, name
