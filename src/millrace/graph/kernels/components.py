"""Components of the edges that one partition holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millrace.graph.kernels.segments import Array
from millrace.runtime.supersteps.packed_rows import OWNER, gathered

_AT_ONCE = 1 << 21
"""Edges that become stars at once."""
_BYTES_AT_ONCE = 1 << 28


def components(size: int, sources: Array, targets: Array) -> npt.NDArray[np.int64]:
    """The component of each of ``size`` vertices, as numbers from 0 on; edges have no direction.

    >>> components(4, np.array([0, 3]), np.array([1, 2])).tolist()
    [0, 0, 1, 1]
    """
    parents = np.arange(size)
    while True:
        sources, targets = parents[sources], parents[targets]
        is_open = sources != targets
        if not is_open.any():
            break
        sources, targets = sources[is_open], targets[is_open]
        np.minimum.at(parents, np.maximum(sources, targets), np.minimum(sources, targets))
        while True:
            grandparents = parents[parents]
            if np.array_equal(grandparents, parents):
                break
            parents = grandparents
    is_root = parents == np.arange(size)
    return np.asarray((np.cumsum(is_root) - 1)[parents])


def spanning_stars(batches: Iterable[Any]) -> Iterator[Any]:
    """Edges that connect the same components as the given edges, but at most one per vertex: each
    vertex gets an edge to a fixed vertex of its component.

    Args:
        batches: edges with the columns ``owner``, ``source``, ``target`` and ``target_owner``.
    """
    stars = None
    for edges in gathered(batches, _AT_ONCE, _BYTES_AT_ONCE):
        if edges.column("source").null_count or edges.column("target").null_count:
            yield edges  # the tasks refuse them
            continue
        stars = _stars(edges if stars is None else pa.concat_batches([stars, edges]))
    if stars is not None:
        yield stars


def _stars(edges: Any) -> Any:
    ends = pa.concat_arrays([edges.column("source"), edges.column("target")]).dictionary_encode()
    codes, vertices = ends.indices.to_numpy(), ends.dictionary
    owners = np.empty(len(vertices), np.int32)
    owners[codes] = np.concatenate(
        [edges.column(OWNER).to_numpy(), edges.column("target_owner").to_numpy()]
    )
    component = components(len(vertices), codes[: len(edges)], codes[len(edges) :])
    centres = np.empty(int(component.max(initial=-1)) + 1, np.int64)
    centres[component] = np.arange(len(vertices))  # of several the last one stays
    centre = centres[component]
    return pa.RecordBatch.from_arrays(
        [pa.array(owners), vertices, vertices.take(pa.array(centre)), pa.array(owners[centre])],
        schema=edges.schema,
    )
