"""Random graphs."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from millrace.common.errors import JobDefinitionError
from millrace.graph.generators import GridGraph, RMatGraph


def test_the_quadrants_have_their_probabilities() -> None:
    table = RMatGraph(2, 100_000, seed=3).set_constants(0.5, 0.3, 0.15).edge_table()
    counts = Counter(zip(table["source"].to_pylist(), table["target"].to_pylist(), strict=True))
    shares = [counts[ends] / 100_000 for ends in ((0, 0), (0, 1), (1, 0), (1, 1))]
    assert np.allclose(shares, [0.5, 0.3, 0.15, 0.05], atol=0.01)


def test_degrees_are_skewed() -> None:
    """The greatest degree is far from the mean."""
    sources = RMatGraph(1024, 20_000, seed=1).edge_table()["source"].to_numpy()
    counts = np.bincount(sources, minlength=1024)
    assert counts.max() > 15 * counts.mean()


def test_seeds_and_noise() -> None:
    def ends(generator: RMatGraph) -> Any:
        return generator.edge_table()

    assert ends(RMatGraph(64, 500, seed=5)) == ends(RMatGraph(64, 500, seed=5))
    assert ends(RMatGraph(64, 500, seed=5)) != ends(RMatGraph(64, 500, seed=6))
    noisy = RMatGraph(64, 500, seed=5).set_noise(True, 0.5)
    assert ends(noisy) != ends(RMatGraph(64, 500, seed=5))
    assert ends(noisy.set_noise(False)) == ends(RMatGraph(64, 500, seed=5))
    assert max(ends(noisy)["target"].to_pylist()) < 64
    assert RMatGraph(100, 5).vertex_count == 128


def test_parameters() -> None:
    with pytest.raises(JobDefinitionError, match="a sum of at most 1, got 0.6, 0.3 and 0.2"):
        RMatGraph(2, 1).set_constants(0.6, 0.3, 0.2)
    with pytest.raises(JobDefinitionError, match="noise has to be between 0 and 2"):
        RMatGraph(2, 1).set_noise(True, 3)
    with pytest.raises(JobDefinitionError, match="number of edges"):
        RMatGraph(2, 0)


@pytest.mark.turns(7)
@pytest.mark.spark
def test_spark_generates_the_same_at_any_parallelism(spark: Any) -> None:
    expected = RMatGraph(4096, 100_000, seed=9)
    table = expected.edge_table()
    pairs = sorted(zip(table["source"].to_pylist(), table["target"].to_pylist(), strict=True))
    for parallelism in (1, 3):
        graph = RMatGraph(4096, 100_000, seed=9).set_parallelism(parallelism).generate()
        made = graph.get_edge_ids().to_arrow()
        assert (
            sorted(zip(*(made[name].to_pylist() for name in made.column_names), strict=True))
            == pairs
        )
    assert graph.number_of_vertices() == len({end for pair in pairs for end in pair})
    grid = GridGraph().add_dimension(3, True).add_dimension(3, True).set_parallelism(2).generate()
    assert set(dict(grid.get_degrees().collect()).values()) == {8}
