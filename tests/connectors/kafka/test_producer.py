"""A producer without a broker."""

from __future__ import annotations

import gc
from weakref import ref

from millrace.connectors.kafka.producer import BatchProducer


def test_a_closed_producer_goes_without_the_garbage_collector() -> None:
    """Its threads would go on sending in a worker, whose objects are frozen."""
    producer = BatchProducer({"bootstrap.servers": "127.0.0.1:1"})
    producer.send({"topic": [{"value": b"unsent"}] * 3})
    left = ref(producer)
    gc.disable()
    try:
        producer.close()
        producer.close()
        del producer
        assert left() is None
    finally:
        gc.enable()
