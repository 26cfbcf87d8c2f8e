"""Values of classes that are not here."""

from __future__ import annotations

import pickle
import sys
import types
from typing import Any

import pytest

from millrace.common.errors import SerializationError
from millrace.state.alike import alike
from millrace.state.serialization.payload import PICKLE, decode, encode
from millrace.state.serialization.stand_ins import StandIn, showing_codec

SOURCE = """
import dataclasses, enum, typing

@dataclasses.dataclass
class Plain:
    n: int
    inner: typing.Any = None

@dataclasses.dataclass(frozen=True, slots=True)
class Slotted:
    n: int

class Pair(typing.NamedTuple):
    a: int
    b: str

class Color(enum.Enum):
    RED = 1

class Bag(list):
    pass

class Old:
    def __reduce__(self):
        return make, (1, "x")

def make(*args):
    return Old()
"""


@pytest.fixture
def gone() -> Any:
    """Pickles a value of a module that is not there when it is read."""
    module = types.ModuleType("module_of_another_program")
    sys.modules[module.__name__] = module
    exec(SOURCE, module.__dict__)

    def pickled(expression: str) -> bytes:
        sys.modules[module.__name__] = module
        data = pickle.dumps(eval(expression, module.__dict__), 5)
        sys.modules.pop(module.__name__, None)
        return PICKLE + data

    yield pickled
    sys.modules.pop(module.__name__, None)


@pytest.mark.parametrize(
    ("expression", "shown"),
    [
        ("Plain(1, [2])", "Plain(n=1, inner=[2])"),
        ("Plain(1, Plain(2))", "Plain(n=1, inner=Plain(n=2, inner=None))"),
        ("Slotted(3)", "Slotted(f0=3)"),
        ("Pair(1, 'b')", "Pair(f0=1, f1='b')"),
        ("Color.RED", "Color(f0=1)"),
        ("Bag([1, 2])", "Bag(f0=1, f1=2)"),
        ("Old()", "make(f0=1, f1='x')"),
    ],
)
def test_the_name_and_the_fields(gone: Any, expression: str, shown: str) -> None:
    """Are shown, whatever kind of class it is."""
    found = showing_codec().decode(gone(expression))
    assert isinstance(found, StandIn)
    assert repr(found) == shown


def test_keys(gone: Any) -> None:
    """Equal values are equal keys."""
    found = showing_codec().decode(gone("[{Slotted(1): 'a', Slotted(2): 'b'}, Slotted(2)]"))
    assert found[0][found[1]] == "b"


def test_those_of_two_payloads_can_be_compared(gone: Any) -> None:
    """Their classes are the same, and their types count."""
    expressions = ("[Plain(1, Old())]", "[Plain(1, Old())]", "[Plain(True, Old())]")
    payloads = [gone(expression) for expression in expressions]
    one, other, changed = map(showing_codec().decode, payloads)
    assert one == other
    assert alike(one, other)
    assert not alike(one, changed)


def test_they_travel(gone: Any) -> None:
    found = showing_codec().decode(gone("Plain(1, Bag([2]))"))
    assert alike(decode(encode(found)), found)


def test_what_is_here_is_itself() -> None:
    """Plain values too."""
    assert showing_codec().decode(encode({"a": 1})) == {"a": 1}
    assert showing_codec().decode(encode(types.SimpleNamespace(a=1))).a == 1


def test_damage_is_an_error_of_ours() -> None:
    """Not whatever the unpickler runs into."""
    with pytest.raises(SerializationError, match="cannot be read"):
        showing_codec().decode(PICKLE + b"\x80\x05nonsense")


def test_without_leave_to_pickle(gone: Any) -> None:
    """There are no stand-ins: nothing of the sort is read."""
    with pytest.raises(SerializationError):
        showing_codec(pickle_allowed=False).decode(gone("Plain(1)"))
