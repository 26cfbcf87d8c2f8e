"""A drawn sample of the conformance programs gives on Spark what PyFlink gave when it was recorded.

``make conformance`` runs all of them there.
"""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from conformance.millrace_side import run_on_spark
from conformance.outputs import difference
from conformance.program import names

from conformance import expected_output

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

SAMPLE = 3


def test_a_drawn_sample_agrees_on_spark() -> None:
    """``MILLRACE_SEED`` draws a sample again."""
    seed = os.environ.get("MILLRACE_SEED", str(random.randrange(10**6)))
    drawn = random.Random(seed).sample(names(), SAMPLE)
    for name in drawn:
        wanted = expected_output.wanted(name)
        assert wanted is not None
        assert difference(wanted, run_on_spark(name)) == "", f"{name}, seed {seed}"
