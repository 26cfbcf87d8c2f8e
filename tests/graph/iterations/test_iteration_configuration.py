"""Settings of iterations, aggregators and messages."""

from __future__ import annotations

import pytest

from millrace.common.errors import JobDefinitionError
from millrace.graph.elements import EdgeDirection
from millrace.graph.gsa import GSAConfiguration
from millrace.graph.iterations.aggregators import (
    Aggregator,
    DoubleMaxAggregator,
    DoubleMinAggregator,
    DoubleSumAggregator,
    LongMaxAggregator,
    LongMinAggregator,
    LongSumAggregator,
)
from millrace.graph.iterations.iteration_configuration import broadcast_rows
from millrace.graph.iterations.message_iterator import MessageIterator
from millrace.graph.pregel import VertexCentricConfiguration
from millrace.graph.spargel import ScatterGatherConfiguration


def test_settings_are_kept() -> None:
    settings = VertexCentricConfiguration()
    assert settings.get_name("default") == "default"
    assert settings.get_parallelism() == -1
    settings.set_name("paths")
    settings.set_parallelism(3)
    settings.set_parallelism(-1)
    settings.set_solution_set_unmanaged_memory(True)
    settings.set_opt_num_vertices(True)
    settings.enable_checkpoints("there", 5, None)
    settings.set_restarts(2)
    assert settings.get_name("default") == "paths"
    assert settings.is_solution_set_unmanaged_memory()
    assert settings.is_opt_num_vertices()
    assert settings.get_checkpoints() == ("there", 5, None)
    assert settings.get_restarts() == 2
    with pytest.raises(JobDefinitionError, match="not 0"):
        settings.set_parallelism(0)
    with pytest.raises(JobDefinitionError, match="a number of supersteps or of seconds"):
        settings.enable_checkpoints("there", None, None)
    with pytest.raises(JobDefinitionError, match="must be positive"):
        settings.enable_checkpoints("there", 0)


def test_sets_and_directions_of_models() -> None:
    scattering, applying = ScatterGatherConfiguration(), GSAConfiguration()
    scattering.add_broadcast_set_for_scatter_function("a", [1])
    scattering.add_broadcast_set_for_gather_function("b", [2])
    assert scattering.get_scatter_bcast_vars() == {"a": [1]}
    assert scattering.get_gather_bcast_vars() == {"b": [2]}
    applying.add_broadcast_set_for_gather_function("a", [1])
    applying.add_broadcast_set_for_sum_function("b", [2])
    applying.add_broadcast_set_for_apply_function("c", [3])
    assert applying.get_gather_bcast_vars() == {"a": [1]}
    assert applying.get_sum_bcast_vars() == {"b": [2]}
    assert applying.get_apply_bcast_vars() == {"c": [3]}
    for settings in (scattering, applying):
        assert settings.get_direction() == EdgeDirection.OUT
        settings.set_direction(EdgeDirection.ALL)
        assert settings.get_direction() == EdgeDirection.ALL
    assert not scattering.is_opt_degrees()
    scattering.set_opt_degrees(True)
    assert scattering.is_opt_degrees()


@pytest.mark.parametrize(
    ("aggregator", "expected"),
    [
        (LongSumAggregator(), 6),
        (DoubleSumAggregator(), 6.0),
        (LongMinAggregator(), 1),
        (LongMaxAggregator(), 3),
        (DoubleMinAggregator(), 1),
        (DoubleMaxAggregator(), 3),
    ],
)
def test_aggregators(aggregator: Aggregator[float], expected: float) -> None:
    initial = aggregator.get_aggregate()
    for value in (2, 3, 1):
        aggregator.aggregate(value)
    assert aggregator.get_aggregate() == expected
    aggregator.reset()
    assert aggregator.get_aggregate() == initial


def test_broadcast_sets_are_collections() -> None:
    assert broadcast_rows({3: 4}) == [3]
    with pytest.raises(JobDefinitionError, match="not int"):
        broadcast_rows(3)


def test_a_message_iterator_ends() -> None:
    messages = MessageIterator([1])
    assert messages.next() == 1
    assert not messages.has_next()
    with pytest.raises(StopIteration):
        messages.next()
    assert list(messages) == [1]
    assert not MessageIterator([])
