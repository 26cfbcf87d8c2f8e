"""How types may change between two runs, and how they may not."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, field, make_dataclass
from decimal import Decimal
from io import BytesIO
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from type_samples import SAMPLES, Color, Point, exactly

from millrace.common.types import Row
from millrace.common.types.plain_data import chained, from_plain, to_plain
from millrace.common.types.serializer import TypeSerializer
from millrace.common.types.typeinfo import TypeInformation, Types
from millrace.state.serialization.evolution import TypeChangeError, key_migration, migration


def evolved(old: TypeInformation[Any], new: TypeInformation[Any], value: Any) -> Any:
    """What a value that was written with one type is when it is read with another."""
    out = to_plain(old)
    plain = value if out is None else out(value)
    into = chained(migration(old.schema(), new), from_plain(new))
    return plain if into is None else into(plain)


@dataclass
class Old:
    name: str
    count: int
    gone: bool = False


@dataclass
class New:
    count: float
    name: str
    tags: list[str] = field(default_factory=list)
    price: Decimal = Decimal("9.99")


class OldPoint(NamedTuple):
    x: int
    y: int


class NewPoint(NamedTuple):
    z: Point
    y: float = 5.0
    x: int = 7


def test_fields_come_go_move_and_widen() -> None:
    """Fields of dataclasses."""
    assert exactly(
        evolved(Types.of(Old), Types.of(New), Old("a", 3)), New(3.0, "a", [], Decimal("9.99"))
    )


def test_every_value_gets_a_default_of_its_own() -> None:
    """A list that two values share would be a trap."""
    first, second = (evolved(Types.of(Old), Types.of(New), Old("a", n)) for n in (1, 2))
    first.tags.append("x")
    assert second.tags == []


def test_rows_by_their_names() -> None:
    """A new field is None: rows know no defaults."""
    old = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])
    new = Types.ROW_NAMED(["b", "c", "a"], [Types.STRING(), Types.LONG(), Types.DOUBLE()])
    assert exactly(evolved(old, new, Row(a=1, b="x")), Row(b="x", c=None, a=1.0))


def test_records_of_one_kind_become_another() -> None:
    """A row turns into a dataclass, as programs do in time, and back."""
    row = Types.ROW_NAMED(["name", "count"], [Types.STRING(), Types.LONG()])
    assert evolved(row, Types.of(Old), Row(name="a", count=1)) == Old("a", 1, False)
    assert evolved(Types.of(Old), row, Old("a", 1)) == Row(name="a", count=1)
    assert exactly(evolved(Types.of(OldPoint), Types.of(Point), OldPoint(1, 2)), Point(1, 2.0))


@pytest.mark.parametrize(
    ("wrap", "of_value"),
    [
        (Types.LIST, lambda v: [v, None, v]),
        (lambda t: Types.MAP(Types.STRING(), t), lambda v: {"a": v}),
        (lambda t: Types.TUPLE([Types.STRING(), t]), lambda v: ("a", v)),
        (lambda t: Types.ROW([t]), Row),
        (Types.OBJECT_ARRAY, lambda v: [v]),
        (lambda t: Types.LIST(Types.MAP(Types.LONG(), t)), lambda v: [{1: v}]),
    ],
)
def test_at_any_depth(wrap: Callable[[Any], Any], of_value: Callable[[Any], Any]) -> None:
    """What is inside of other types evolves as well."""
    old, new = Old("a", 1), New(1.0, "a")
    changed = evolved(wrap(Types.of(Old)), wrap(Types.of(New)), of_value(old))
    assert exactly(changed, of_value(new))


INTEGERS = ["BYTE", "SHORT", "INT", "LONG", "BIG_INT"]
WIDENINGS = [
    *[(a, b) for i, a in enumerate(INTEGERS) for b in INTEGERS[i:]],
    *[(a, b) for a in INTEGERS for b in ("FLOAT", "DOUBLE")],
    ("FLOAT", "DOUBLE"),
    ("CHAR", "STRING"),
]  # fmt: skip
SINGLE = [*INTEGERS, "FLOAT", "DOUBLE", "CHAR", "STRING", "BOOLEAN"]


@pytest.mark.parametrize("old", SINGLE)
@pytest.mark.parametrize("new", SINGLE)
def test_single_values_widen_and_nothing_else(old: str, new: str) -> None:
    """The whole matrix."""
    value = "a" if old in ("CHAR", "STRING") else True if old == "BOOLEAN" else 3
    before, after = getattr(Types, old)(), getattr(Types, new)()
    if old == new or (old, new) in WIDENINGS:
        assert evolved(before, after, value) == value
        assert evolved(before, after, None) is None
    else:
        with pytest.raises(TypeChangeError, match=f"its type was {old} and is {new} now"):
            migration(before.schema(), after)


def test_whole_numbers_become_floats_and_decimals() -> None:
    """In value and class."""
    assert exactly(evolved(Types.INT(), Types.DOUBLE(), 3), 3.0)
    assert exactly(evolved(Types.INT(), Types.BIG_DEC(), 3), Decimal(3))


@pytest.mark.parametrize("number", [2**53 + 1, -(2**63) + 1, 10**400])
def test_numbers_that_floats_cannot_hold_are_refused(number: int) -> None:
    """Digits never go silently."""
    old = Types.ROW_NAMED(["a"], [Types.BIG_INT()])
    new = Types.ROW_NAMED(["a"], [Types.DOUBLE()])
    with pytest.raises(TypeChangeError, match="field 'a' was BIG_INT and is DOUBLE now, .* bits"):
        evolved(old, new, Row(a=number))
    for fits in (2**53, -(2**63), 10**22):
        assert exactly(evolved(old, new, Row(a=fits)), Row(a=float(fits)))


@dataclass
class Inner:
    zip: str


@dataclass
class Outer:
    address: Inner
    all: list[Inner]


def changed_outer(zip_type: Any) -> TypeInformation[Any]:
    """`Outer` with another type of the innermost field."""
    inner = make_dataclass("Inner", [("zip", zip_type)])
    return Types.of(make_dataclass("Outer", [("address", inner), ("all", list[inner])]))  # type: ignore[valid-type]


def test_a_refusal_names_the_innermost_field() -> None:
    """People must find it."""
    with pytest.raises(TypeChangeError, match=r"field 'address\.zip' was STRING and is LONG now"):
        migration(Types.of(Outer).schema(), changed_outer(int))


@dataclass
class Demanding:
    name: str
    count: int
    needed: int


def test_a_new_field_needs_a_default() -> None:
    """There is nothing else to fill it with."""
    with pytest.raises(TypeChangeError, match="field 'needed' is new and has no default"):
        migration(Types.of(Old).schema(), Types.of(Demanding))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (list[int], set[int]),
        (tuple[int, int], tuple[int, int, int]),
        (dict[str, int], dict[int, int]),
        (Old, int),
        (int, Old),
        (Color, int),
        (int | str, int),
        (Decimal, float),
        (list[int], list[str]),
        (tuple[int, ...], tuple[int, int]),
    ],
)
def test_other_changes_are_refused(old: Any, new: Any) -> None:
    """They would need a program."""
    with pytest.raises(TypeChangeError):
        migration(Types.of(old).schema(), Types.of(new))


def test_unions_may_grow() -> None:
    """Values of the old members are still possible."""
    assert migration(Types.of(int | str).schema(), Types.of(int | str | bytes)) is None
    assert migration(Types.of(int).schema(), Types.of(int | str)) is None


def test_members_of_an_enum_may_come_and_unused_ones_go() -> None:
    """A value whose member is gone is refused when it is met."""
    fewer = enum.Enum("Color", {"GREEN": 1, "BLUE": 2})
    assert evolved(Types.of(Color), Types.of(fewer), Color.GREEN) is fewer["GREEN"]
    with pytest.raises(TypeChangeError, match="contains 'RED', which Color"):
        evolved(Types.of(Color), Types.of(fewer), Color.RED)


def test_what_had_no_type_gets_one() -> None:
    """Where the values are of it."""
    anything = Types.PICKLED_BYTE_ARRAY()
    assert evolved(anything, Types.of(Old), Old("a", 1)) == Old("a", 1)
    assert evolved(anything, Types.LONG(), None) is None
    with pytest.raises(TypeChangeError, match="its type had no type and holds a str|holds a str"):
        evolved(anything, Types.LONG(), "x")


def test_what_had_a_type_has_none() -> None:
    """Only without the classes of a program."""
    anything = Types.PICKLED_BYTE_ARRAY()
    assert evolved(Types.of(list[Decimal]), anything, [Decimal(1)]) == [Decimal(1)]
    with pytest.raises(TypeChangeError, match="declare it again"):
        migration(Types.of(list[Old]).schema(), anything)


def test_keys_stay_as_they_are() -> None:
    """Only whole numbers may widen: they stay equal."""
    key_migration("INT", Types.LONG(), "its key")
    old_pair = Types.TUPLE([Types.INT(), Types.STRING()])
    key_migration(old_pair.schema(), Types.TUPLE([Types.LONG(), Types.STRING()]), "x")
    for old, new in ((int, float), (str, int), (Old, New), (tuple[int], tuple[int, int])):
        with pytest.raises(TypeChangeError, match="keys cannot change their type"):
            key_migration(Types.of(old).schema(), Types.of(new), "its key")


class First(TypeSerializer[int]):
    """Writes decimal digits."""

    def serialize(self, element: int, stream: BytesIO) -> None:
        stream.write(str(element).encode())

    def deserialize(self, stream: BytesIO) -> int:
        return int(stream.read())


class Second(First):
    """Writes hexadecimal digits, and reads both."""

    version = 2

    def serialize(self, element: int, stream: BytesIO) -> None:
        stream.write(b"%x" % element)

    def deserialize(self, stream: BytesIO) -> int:
        return int(stream.read(), 16)

    def migrate(self, stream: BytesIO, version: int) -> int:
        assert version == 1
        return First.deserialize(self, stream)


def test_serializers_read_their_earlier_versions() -> None:
    """They are told which one it is, and never given a later one."""
    first, second = Types.SERIALIZED(First(), "number"), Types.SERIALIZED(Second(), "number")
    assert evolved(first, second, 255) == 255
    assert to_plain(second)(255) == b"ff"  # type: ignore[misc]
    with pytest.raises(
        TypeChangeError, match="written by version 2 of number, but this is version 1"
    ):
        migration(second.schema(), first)
    with pytest.raises(TypeChangeError):
        migration(second.schema(), Types.SERIALIZED(First(), "another"))


# -- against a model ---------------------------------------------------------------

FIELD_TYPES: dict[str, tuple[Any, Any]] = {"i": (int, 1), "f": (float, 2.5), "s": (str, "d")}
LEGAL = {("i", "i"), ("i", "f"), ("f", "f"), ("s", "s")}


@st.composite
def shapes(draw: st.DrawFn) -> dict[str, str]:
    """Fields of a class: name to kind."""
    names = draw(st.lists(st.sampled_from("abcde"), unique=True, min_size=1))
    return {name: draw(st.sampled_from("ifs")) for name in names}


def class_of(shape: dict[str, str], is_tuple: bool) -> Any:
    """A class with these fields, all with defaults."""
    if is_tuple:
        made = NamedTuple("Record", [(n, FIELD_TYPES[k][0]) for n, k in shape.items()])  # type: ignore[misc]
        made._field_defaults = {n: FIELD_TYPES[k][1] for n, k in shape.items()}
        return made
    return make_dataclass(
        "Record",
        [(n, FIELD_TYPES[k][0], field(default=FIELD_TYPES[k][1])) for n, k in shape.items()],
    )


@settings(max_examples=60)
@given(old=shapes(), new=shapes(), tuples=st.tuples(st.booleans(), st.booleans()), data=st.data())
def test_records_against_a_model(
    old: dict[str, str], new: dict[str, str], tuples: tuple[bool, bool], data: st.DataObject
) -> None:
    """By name, widened where it has to be, defaults for the rest; or refused with the name."""
    before, after = class_of(old, tuples[0]), class_of(new, tuples[1])
    values = {n: data.draw(SAMPLES[FIELD_TYPES[k][0].__name__][1]) for n, k in old.items()}
    wrong = [n for n in new if n in old and (old[n], new[n]) not in LEGAL]
    if wrong:
        with pytest.raises(TypeChangeError, match=f"field '{wrong[0]}' was"):
            migration(Types.of(before).schema(), Types.of(after))
        return
    if any(new.get(n) == "f" and float(v) != v for n, v in values.items() if old[n] == "i"):
        with pytest.raises(TypeChangeError, match="cannot hold a number"):
            evolved(Types.of(before), Types.of(after), before(**values))
        return
    expected = {
        n: FIELD_TYPES[k][1] if n not in old else float(values[n]) if k == "f" else values[n]
        for n, k in new.items()
    }
    assert exactly(evolved(Types.of(before), Types.of(after), before(**values)), after(**expected))
