"""Names of side outputs."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pytest

from millrace.common.errors import JobDefinitionError
from millrace.common.functions.output_tag import OutputTag
from millrace.common.types.typeinfo import Types


def test_tags_are_equal_by_name() -> None:
    """The type does not matter."""
    assert OutputTag("late") == OutputTag("late", Types.LONG())
    assert hash(OutputTag("late")) == hash(OutputTag("late", Types.LONG()))
    assert OutputTag("late") != OutputTag("early")
    assert OutputTag("late") != "late"


def test_tags_survive_pickling() -> None:
    """They travel with functions."""
    tag = pickle.loads(pickle.dumps(OutputTag("late", Types.LONG())))
    assert tag == OutputTag("late")
    assert tag.type_info == Types.LONG()


@pytest.mark.parametrize("tag_id", ["", None, 5])
def test_a_tag_needs_a_name(tag_id: object) -> None:
    """The error shows how tags are made."""
    with pytest.raises(JobDefinitionError, match=r"such as OutputTag\('late'\)"):
        OutputTag(tag_id)  # type: ignore[arg-type]


def test_a_process_knows_of_tags_that_it_unpickles() -> None:
    tag = pickle.dumps(OutputTag("late"))
    program = f"import pickle; print(type(pickle.loads({tag!r})).any_made)"
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert printed.stdout == b"True\n"
