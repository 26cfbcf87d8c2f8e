"""How state that expires is cleaned up, as Flink's getters tell it."""

from __future__ import annotations

import pickle

import pytest

from millrace.common.state.state_ttl import StateTtlConfig
from millrace.common.time import Duration, Time


def builder():
    return StateTtlConfig.new_builder(Time.days(1))


def test_what_is_done_in_the_background() -> None:
    """Flink's numbers where nothing is set."""
    cleanup = builder().build().get_cleanup_strategies()
    incremental = cleanup.get_incremental_cleanup_strategy()
    assert incremental.get_cleanup_size() == 5
    assert not incremental.run_cleanup_for_every_record()
    on_disk = cleanup.get_rocksdb_compact_filter_cleanup_strategy()
    assert on_disk.get_query_time_after_num_entries() == 1000
    assert on_disk.get_periodic_compaction_time() == Duration.of_days(30)


def test_nothing_is_done_if_that_is_switched_off() -> None:
    """Unless it was asked for."""
    cleanup = builder().disable_cleanup_in_background().build().get_cleanup_strategies()
    assert cleanup.get_incremental_cleanup_strategy() is None
    assert cleanup.get_rocksdb_compact_filter_cleanup_strategy() is None
    asked = builder().disable_cleanup_in_background().cleanup_incrementally(7, True)
    incremental = asked.build().get_cleanup_strategies().get_incremental_cleanup_strategy()
    assert (incremental.get_cleanup_size(), incremental.run_cleanup_for_every_record()) == (7, True)


@pytest.mark.parametrize(
    ("arguments", "time"),
    [
        ((), Duration.of_days(30)),
        ((None,), Duration.of_days(30)),
        ((0,), Duration.of_days(30)),
        ((Duration.of_millis(0),), Duration.of_millis(0)),
        ((Time.hours(1),), Duration.of_hours(1)),
    ],
)
def test_tables_on_disk(arguments, time) -> None:
    """What was given is told, also after a journey."""
    config = builder().cleanup_in_rocksdb_compact_filter(17, *arguments).build()
    for one in (config, pickle.loads(pickle.dumps(config))):
        strategy = one.get_cleanup_strategies().get_rocksdb_compact_filter_cleanup_strategy()
        assert strategy.get_query_time_after_num_entries() == 17
        assert strategy.get_periodic_compaction_time() == time
        assert one.get_cleanup_strategies().in_rocksdb_compact_filter()
