"""Fields of events are what they hold: nothing of theirs is called."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from millrace.runtime.cep.event_field import field_reader, read_path


class Base:
    __slots__ = ("amount", "empty")

    def __init__(self, amount: Any) -> None:
        self.amount = amount


class WithMore(Base):
    """Has slots and a dict, as models of pydantic have."""

    def __init__(self, amount: Any, country: str) -> None:
        super().__init__(amount)
        self.country = country


class Hidden(Base):
    @property
    def amount(self) -> Any:
        raise AssertionError("a property is code")

    @amount.setter
    def amount(self, value: Any) -> None:
        pass


@dataclass
class Charge:
    amount: Any
    country: str = field(default="PT", init=False)
    seen: list[int] = field(default_factory=list, init=False)


@dataclass
class Discount(Charge):
    @property
    def amount(self) -> Any:
        raise AssertionError("a property is code")

    @amount.setter
    def amount(self, value: Any) -> None:
        self.__dict__["amount"] = value


@dataclass(slots=True)
class Slotted:
    amount: Any


class Pair(namedtuple("Pair", ["amount", "country"])):
    def __getitem__(self, position: Any) -> Any:
        raise AssertionError("a method is code")


@pytest.mark.parametrize(
    ("event", "country"),
    [(WithMore(5, "PT"), "PT"), (Base(5), None), (Charge(5), "PT"), (Discount(5), "PT"),
     (Slotted(5), None), (Pair(5, "PT"), "PT")],
)  # fmt: skip
def test_what_an_object_holds(event: Any, country: str | None) -> None:
    assert field_reader(("amount",))(event) == 5
    assert read_path(event, ("country",)) == country
    for name in ("empty", "missing", "__dict__", "__slots__", "__class__", "_fields"):
        assert read_path(event, (name,)) is None


def test_a_property_under_the_name_of_a_slot_is_not_called() -> None:
    assert read_path(Hidden(5), ("amount",)) is None


def test_what_was_set_goes_before_a_default() -> None:
    charge = Charge(5)
    charge.country = "ES"
    assert read_path(charge, ("country",)) == "ES"
    assert read_path(charge, ("seen",)) == []


class Choosy(Mapping[str, int]):
    def __getitem__(self, name: str) -> int:
        raise ValueError(f"{name} is no name of ours")

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def test_what_cannot_be_read_is_missing() -> None:
    assert read_path(Choosy(), ("amount",)) is None
    assert field_reader(("amount", "euros"))(Choosy()) is None


def test_a_function_does_not_show_its_module() -> None:
    assert read_path(field_reader, ("__globals__",)) is None
