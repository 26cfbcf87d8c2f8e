"""Opening somebody's savepoint must not run code, hang or crash, whatever is in it.

Savepoints are tampered with and read without leave to pickle, in processes of their own with a
limit of memory. ``FUZZ_CASES`` makes the run longer, ``FUZZ_SEED`` repeats one that failed. Alone:
``pytest -m fuzz``.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from fault_lives import fuzz, fuzz_seeds


@pytest.mark.turns(2)
@pytest.mark.fault
@pytest.mark.fuzz
@pytest.mark.parametrize("seed", fuzz_seeds(20261121), ids=["known", "other"])
def test_tampered_savepoints_are_read_or_refused(seed: int, tmp_path: Path) -> None:
    fuzz("fuzz_savepoint.py", tmp_path, seed, 60)
    assert not (tmp_path / "exploded").exists()


@pytest.mark.torture
@pytest.mark.parametrize("seed", range(5))
def test_tampered_savepoints_at_length(seed: int, tmp_path: Path) -> None:
    fuzz("fuzz_savepoint.py", tmp_path, seed, 2_000)
    assert not (tmp_path / "exploded").exists()
