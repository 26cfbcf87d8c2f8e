"""Skip strategies as values."""

from __future__ import annotations

import pytest

from millrace.common.errors import JobDefinitionError
from millrace.runtime.cep.after_match_skip_strategy import AfterMatchSkipStrategy, Skip


def test_they_are_values() -> None:
    last = AfterMatchSkipStrategy.skip_to_last("b")
    assert last == AfterMatchSkipStrategy(Skip.TO_LAST, "b")
    assert last != last.throw_exception_on_miss()
    assert repr(last.throw_exception_on_miss()) == (
        "AfterMatchSkipStrategy.skip_to_last('b').throw_exception_on_miss()"
    )


def test_only_a_named_event_can_be_missed() -> None:
    with pytest.raises(JobDefinitionError, match="skip_to_next\\(\\) cannot miss"):
        AfterMatchSkipStrategy.skip_to_next().throw_exception_on_miss()


@pytest.mark.parametrize("name", ["", None, 3])
def test_a_name_is_needed(name: object) -> None:
    with pytest.raises(JobDefinitionError, match="takes a pattern's name"):
        AfterMatchSkipStrategy.skip_to_first(name)  # type: ignore[arg-type]
