"""Commands that look at savepoints, checkpoints and jobs end in words, whatever is in the files.

``FUZZ_CASES`` makes the run longer, ``FUZZ_SEED`` repeats one that failed.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from fault_lives import fuzz, fuzz_seeds


@pytest.mark.turns(2)
@pytest.mark.fault
@pytest.mark.fuzz
@pytest.mark.parametrize("seed", fuzz_seeds(20261122), ids=["known", "other"])
def test_commands_end_in_words(seed: int, tmp_path: Path) -> None:
    fuzz("fuzz_commands.py", tmp_path, seed, 30)


@pytest.mark.torture
@pytest.mark.parametrize("seed", range(5))
def test_commands_end_in_words_at_length(seed: int, tmp_path: Path) -> None:
    fuzz("fuzz_commands.py", tmp_path, seed, 1_500)
