"""Components of the edges that one partition holds."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from millrace.graph.kernels.segments import Array


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
