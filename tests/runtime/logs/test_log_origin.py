"""Which operator and subtask a log record comes from."""

from __future__ import annotations

import logging

import pytest

from millrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from millrace.runtime.logs.log_origin import (
    LogOrigin,
    LogOriginFilter,
    current_log_origin,
    enter_log_origin,
    log_origin,
)
from millrace.runtime.operators.map import MapOperator
from millrace.testing import run_local

log = logging.getLogger("tests.shop")


@pytest.fixture
def records():
    found: list[logging.LogRecord] = []

    class Keeping(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found.append(record)

    handler = Keeping()
    handler.addFilter(LogOriginFilter())
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    yield found
    log.removeHandler(handler)


class Noting(KeyedProcessFunction):
    def open(self, runtime_context):
        log.info("open")

    def process_element(self, value, ctx):
        log.info("value %s", value)
        ctx.timer_service().register_event_time_timer(0)
        yield value

    def on_timer(self, timestamp, ctx):
        log.info("timer")

    def close(self):
        log.info("close")


def noted(value: int) -> int:
    log.info("mapped %s", value)
    return value


def test_records_of_functions_know_their_operator(records) -> None:
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(2)
        numbers = env.from_collection([1, 2]).map(noted).name("Note")
        numbers.key_by(lambda n: n).process(Noting()).name("Keep").print()
        env.execute("count")
    places = {record.getMessage(): (record.job, record.operator) for record in records}
    assert places["mapped 1"] == ("count", "Note")
    assert {places[text] for text in ("open", "value 2", "timer", "close")} == {("count", "Keep")}
    assert {r.subtask for r in records if r.getMessage() == "open"} == {0, 1}
    assert current_log_origin() == LogOrigin()
    log.info("after")
    assert (records[-1].job, records[-1].operator, records[-1].subtask) == (None, None, None)


def test_between_operators_it_is_what_the_thread_runs() -> None:
    enter_log_origin(LogOrigin("count", "Source -> Map", 3))
    try:
        assert log_origin() == ("count", "Source -> Map", 3)
    finally:
        enter_log_origin(LogOrigin())


def test_a_record_from_elsewhere_keeps_its_place() -> None:
    record = logging.makeLogRecord({"job": "a", "operator": "b", "subtask": 1})
    assert LogOriginFilter().filter(record)
    assert (record.job, record.operator, record.subtask) == ("a", "b", 1)


def test_an_operator_that_is_being_made_has_no_place_yet(records) -> None:
    class Made(MapOperator):
        def __init__(self) -> None:
            log.info("made")

    Made()
    assert [record.operator for record in records] == [None]
