"""Sizes of property tests."""

from __future__ import annotations

import drawn
import pytest


def test_long_runs_draw_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MILLRACE_EXAMPLES", raising=False)
    assert drawn.job_examples(8) == 8
    monkeypatch.setenv("MILLRACE_EXAMPLES", "10")
    assert drawn.job_examples(8) == 80
