"""Types of classes as workers get them."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from dataclasses import dataclass, field

from millrace.common.types.typeinfo import Types


def test_defaults_of_a_class_that_has_travelled() -> None:
    """A class of a job file is pickled by value, and with it the mark of what has no default."""
    mark = pickle.loads(pickle.dumps(dataclasses.MISSING))
    assert mark is not dataclasses.MISSING

    @dataclass
    class Clicks:
        user: str
        count: int = 3
        pages: list[str] = field(default_factory=list)

    fields = copy.copy(Clicks.__dataclass_fields__)
    fields["user"].default = fields["user"].default_factory = mark
    fields["count"].default_factory = mark
    fields["pages"].default = mark
    made = {name: make() for name, make in Types.of(Clicks).defaults().items()}
    assert made == {"count": 3, "pages": []}
