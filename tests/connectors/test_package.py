"""What the packages of connectors and formats export."""

from types import ModuleType

import pytest

import millrace.connectors
import millrace.formats


@pytest.mark.parametrize("package", [millrace.connectors, millrace.formats])
def test_exports_are_sorted_and_there(package: ModuleType) -> None:
    assert package.__all__ == sorted(package.__all__)
    assert all(hasattr(package, name) for name in package.__all__)
