"""Guarantees under the names and texts that Flink has for them."""

from __future__ import annotations

import pickle

import pytest

from millrace.common.sink import DeliveryGuarantee


@pytest.mark.parametrize("guarantee", DeliveryGuarantee)
def test_texts_of_the_configuration_are_understood(guarantee: DeliveryGuarantee) -> None:
    """Flink writes EXACTLY_ONCE as exactly-once."""
    text = guarantee.name.lower().replace("_", "-")
    assert str(guarantee) == text
    assert DeliveryGuarantee(text) is guarantee


@pytest.mark.parametrize("guarantee", DeliveryGuarantee)
def test_a_sink_that_holds_one_can_be_shipped(guarantee: DeliveryGuarantee) -> None:
    """Sinks are pickled; what they compare with `is` stays itself."""
    assert pickle.loads(pickle.dumps(guarantee)) is guarantee
