from __future__ import annotations

import pytest

from millrace.connectors.kafka.client import KafkaError, create_consumer

pytest.importorskip("confluent_kafka")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("auto.ofset.reset", "; did you mean 'auto.offset.reset'? Properties"),
        ("no.such.property", '"no.such.property". Properties'),
    ],
)
def test_an_unknown_property_is_told_the_nearest_one(name: str, hint: str) -> None:
    with pytest.raises(KafkaError) as refusal:
        create_consumer({"bootstrap.servers": "127.0.0.1:1", "group.id": "g", name: "1"})
    assert hint in str(refusal.value)
