"""CollectionSource."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from millrace.common.source import Boundedness
from millrace.connectors.collection import CollectionSource

reuse = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


@reuse
@given(
    st.lists(st.integers(), max_size=50),
    st.integers(1, 5),
    st.integers(1, 7),
    st.lists(st.booleans()),
)
def test_restarts_anywhere_give_the_same_records(
    source_harness, values: list[int], splits: int, step: int, restarts: list[bool]
) -> None:
    assert source_harness(CollectionSource(values, splits)).read_all(step, restarts) == values


def test_it_is_bounded_and_one_split_by_default(source_harness) -> None:
    source = CollectionSource(iter("abc"))
    assert source.boundedness is Boundedness.BOUNDED
    assert len(source_harness(source).discover()) == 1


def test_later_changes_of_the_list_do_not_matter(source_harness) -> None:
    values = [1, 2]
    source = CollectionSource(values)
    values.append(3)
    assert source_harness(source).read_all() == [1, 2]


def test_splits_are_handed_out_once_even_after_a_restart(source_harness) -> None:
    harness = source_harness(CollectionSource([1]))
    assert harness.discover()
    harness.restart_enumerator()
    assert harness.enumerator.no_more_splits()
    assert harness.discover() == []
