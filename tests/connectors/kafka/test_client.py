from __future__ import annotations

import logging

import pytest

from millrace.connectors.kafka.client import ClientLog, KafkaError, create_consumer

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


kafka = pytest.importorskip("confluent_kafka")
FORM = "%s [%s] %s"
REFUSED = (
    "[thrd:127.0.0.1:9092/bootstrap]: 127.0.0.1:9092/bootstrap: Connect to ipv4#127.0.0.1:9092 "
    "failed: Connection refused (after {}ms in state CONNECT)"
)


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno > logging.DEBUG]


def test_repetitions_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    clock = [100.0]
    log = ClientLog(now=lambda: clock[0])
    for attempt in range(500):
        log.log(logging.ERROR, FORM, "FAIL", "c-1", REFUSED.format(attempt % 3))
    assert lines(caplog) == ["FAIL [c-1] " + REFUSED.format(0)]
    clock[0] += 60
    log.log(logging.ERROR, FORM, "FAIL", "c-1", REFUSED.format(2))
    log.log(logging.ERROR, FORM, "FAIL", "c-1", REFUSED.format(2))
    assert lines(caplog)[1:] == [f"FAIL [c-1] {REFUSED.format(2)} (499 more like this)"]


def test_other_messages_and_other_brokers_are_written(caplog: pytest.LogCaptureFixture) -> None:
    log = ClientLog(now=lambda: 0.0)
    other = REFUSED.replace("9092", "9093")
    for facility, text in (("FAIL", REFUSED), ("FAIL", other), ("ERROR", "1/1 brokers are down")):
        log.log(logging.ERROR, FORM, facility, "c-1", text)
    assert len(lines(caplog)) == 3


def test_what_a_healthy_start_says_is_for_debugging(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "millrace.kafka")
    log = ClientLog()
    log.log(logging.INFO, FORM, "BGQUEUE", "c-1", "Purging 1 unserved events")
    loading = "Failed to acquire idempotence PID from broker b/1: {}: retrying"
    log.log(logging.WARNING, FORM, "GETPID", "c-1", loading.format("Coordinator load in progress"))
    assert [record.levelno for record in caplog.records] == [logging.DEBUG] * 2
    log.log(logging.WARNING, FORM, "GETPID", "c-1", "Failed to acquire: not authorized")
    assert caplog.records[-1].levelno == logging.WARNING


def test_a_client_without_a_broker_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    consumer = create_consumer({"bootstrap.servers": "127.0.0.1:1", "group.id": "g"})
    with pytest.raises(kafka.KafkaException):
        consumer.list_topics(timeout=1)
    consumer.poll(0)
    consumer.close()
    assert len([line for line in lines(caplog) if line.startswith("FAIL")]) == 1
