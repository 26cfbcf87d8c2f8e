from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import pytest

from millrace.common.types.record_fields import declared_names, positions
from millrace.common.types.row import Row


@dataclass
class Car:
    x: int
    y: str


@pytest.mark.parametrize(
    ("record", "names"),
    [
        (Row(a=1, b=2), ("a", "b")),
        (Row(1, 2), None),
        ((1, 2), None),
        (namedtuple("Point", "x y")(1, 2), ("x", "y")),
        (Car(1, "a"), ("x", "y")),
        (Car, None),
        ({"a": 1}, None),
        (5, None),
    ],
)
def test_names_of_fields(record: Any, names: tuple[str, ...] | None) -> None:
    assert declared_names(record) == names


def test_names_of_fields_without_names() -> None:
    assert positions(3) == ("f0", "f1", "f2")
