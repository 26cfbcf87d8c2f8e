"""Names that are found at the module that had them before, or only uses them."""

from __future__ import annotations

from importlib import import_module

import pytest

from millrace.other_paths import LATE_NAMES

NAMES = [(module, name, home) for module, of in LATE_NAMES.items() for name, home in of.items()]


@pytest.mark.parametrize(("module", "name", "home"), NAMES)
def test_a_late_name_is_that_of_its_home(module: str, name: str, home: str) -> None:
    assert getattr(import_module(module), name) is getattr(import_module(home), name)


@pytest.mark.parametrize("module", sorted(LATE_NAMES))
def test_other_names_are_missing_as_ever(module: str) -> None:
    with pytest.raises(AttributeError, match=f"module '{module}' has no attribute 'Nothing'"):
        import_module(module).Nothing  # noqa: B018
