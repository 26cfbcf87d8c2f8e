"""A damaged Parquet file costs what is damaged: no crash, no hang, no good row of others.

``FUZZ_CASES`` makes the run longer, ``FUZZ_SEED`` repeats one that failed. Alone:
``pytest -m fuzz``.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from fault_lives import fuzz, fuzz_seeds


@pytest.mark.turns(2)
@pytest.mark.fault
@pytest.mark.fuzz
@pytest.mark.parametrize("seed", fuzz_seeds(20261122), ids=["known", "other"])
def test_damaged_files_beside_good_ones(seed: int, tmp_path: Path) -> None:
    fuzz("fuzz_parquet.py", tmp_path, seed, 40)


@pytest.mark.torture
@pytest.mark.parametrize("seed", range(5))
def test_damaged_files_at_length(seed: int, tmp_path: Path) -> None:
    fuzz("fuzz_parquet.py", tmp_path, seed, 2_000)
