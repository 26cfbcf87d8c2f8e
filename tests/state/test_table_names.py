"""Names of tables."""

from __future__ import annotations

import pytest

from millrace.state.table_names import owner_of


@pytest.mark.parametrize(
    ("name", "owner"),
    [("a/s", "a"), ("a/b/s", "a/b"), ("ab/s", None), ("@valve", None), ("a", None)],
)
def test_the_longest_uid_owns_it(name: str, owner: str | None) -> None:
    assert owner_of(name, ["a", "a/b"]) == owner
