"""Strategies for timestamps and watermarks."""

from __future__ import annotations

import dataclasses
import pickle
from datetime import timedelta
from typing import Any

import pytest

from millrace.common.errors import JobDefinitionError
from millrace.common.time import Duration, Time
from millrace.common.time.watermark_strategy import (
    BoundedOutOfOrdernessGenerator,
    MonotonousGenerator,
    TimestampAssigner,
    WatermarkAlignment,
    WatermarkGenerator,
    WatermarkOutput,
    WatermarkStrategy,
)


class Second(TimestampAssigner[tuple[str, int]]):
    """The second field."""

    def extract_timestamp(self, value: tuple[str, int], record_timestamp: int) -> int:
        return value[1]


class Punctuated(WatermarkGenerator[Any]):
    """A watermark per record."""

    def on_event(self, event: Any, timestamp: int, output: WatermarkOutput) -> None:
        output.emit_watermark(timestamp)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        return None


def generator_of(strategy: WatermarkStrategy[Any]) -> WatermarkGenerator[Any]:
    """A new generator."""
    assert strategy.generator_supplier is not None
    return strategy.generator_supplier()


def test_none() -> None:
    """Nothing at all."""
    assert WatermarkStrategy.no_watermarks() == WatermarkStrategy(None, None, None)


def test_monotonous() -> None:
    """No delay."""
    assert type(generator_of(WatermarkStrategy.for_monotonous_timestamps())) is MonotonousGenerator


@pytest.mark.parametrize(
    "bound", [Duration.of_seconds(5), Time.seconds(5), timedelta(seconds=5), 5_000]
)
def test_bounded_out_of_orderness(bound: Any) -> None:
    """Any amount of time, and a generator of its own for every split."""
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(bound)
    generator = generator_of(strategy)
    assert isinstance(generator, BoundedOutOfOrdernessGenerator)
    assert generator.delay == 5_000
    assert generator_of(strategy) is not generator


def test_generators_of_your_own() -> None:
    """The class is the supplier."""
    assert isinstance(generator_of(WatermarkStrategy.for_generator(Punctuated)), Punctuated)
    with pytest.raises(JobDefinitionError, match="pass the class, not an instance"):
        WatermarkStrategy.for_generator(Punctuated())  # type: ignore[arg-type]


def test_with_returns_a_new_strategy() -> None:
    """The old one stays as it is, and what was set before is kept."""
    base = WatermarkStrategy.for_monotonous_timestamps()
    assigner = Second()
    full = base.with_timestamp_assigner(assigner).with_idleness(Duration.of_minutes(1))
    assert (base.timestamp_assigner, base.idle_timeout_ms) == (None, None)
    assert (full.timestamp_assigner, full.idle_timeout_ms) == (assigner, 60_000)
    assert full.generator_supplier is base.generator_supplier
    with pytest.raises(dataclasses.FrozenInstanceError):
        base.idle_timeout_ms = 5  # type: ignore[misc]


def test_alignment_is_kept() -> None:
    """The interval has no effect."""
    strategy = WatermarkStrategy.no_watermarks().with_watermark_alignment("g", 20_000)
    assert strategy.alignment == WatermarkAlignment("g", 20_000)


@pytest.mark.parametrize("timeout", [0, -1])
def test_idleness_must_be_positive(timeout: int) -> None:
    """Zero would make every split idle."""
    with pytest.raises(JobDefinitionError, match="idle_timeout must be positive"):
        WatermarkStrategy.no_watermarks().with_idleness(timeout)


def test_wrong_parameters_are_refused() -> None:
    """When the program is built."""
    with pytest.raises(JobDefinitionError, match="max_out_of_orderness must not be negative"):
        WatermarkStrategy.for_bounded_out_of_orderness(-1)
    with pytest.raises(JobDefinitionError, match="needs a TimestampAssigner or a callable"):
        WatermarkStrategy.no_watermarks().with_timestamp_assigner(5)  # type: ignore[arg-type]


def test_strategies_are_picklable() -> None:
    """They travel to the readers."""
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(7).with_timestamp_assigner(Second())
    again = pickle.loads(pickle.dumps(strategy))
    generator = generator_of(again)
    assert isinstance(generator, BoundedOutOfOrdernessGenerator)
    assert generator.delay == 7
    assert again.timestamp_assigner.extract_timestamp(("a", 3), 0) == 3
