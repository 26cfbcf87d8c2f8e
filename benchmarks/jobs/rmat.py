"""Writes an R-MAT graph: ``python rmat.py DIRECTORY SCALE EDGES``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

A, B, C = 0.57, 0.19, 0.19
SEED = 7


def edges_of(scale: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Sources and targets among 2**scale vertices, which are shuffled."""
    rng = np.random.default_rng(SEED)
    sources, targets = np.zeros(count, np.int64), np.zeros(count, np.int64)
    for bit in range(scale):
        drawn = rng.random(count)
        sources |= (drawn > A + B).astype(np.int64) << bit
        is_right = ((drawn > A) & (drawn <= A + B)) | (drawn > A + B + C)
        targets |= is_right.astype(np.int64) << bit
    shuffled = rng.permutation(1 << scale)
    return shuffled[sources], shuffled[targets]


def main() -> None:
    directory, scale, count = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    sources, targets = edges_of(scale, count)
    edges = pa.table({"source": sources, "target": targets})
    pq.write_table(edges, directory / "edges.parquet")
    pq.write_table(pa.table({"id": np.arange(1 << scale)}), directory / "vertices.parquet")
    print(json.dumps({"vertices": 1 << scale, "edges": count}))


if __name__ == "__main__":
    main()
