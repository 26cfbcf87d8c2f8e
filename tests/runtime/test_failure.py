"""What a person is shown when their function fails: the operator, the record, their own frames."""

from __future__ import annotations

import pytest

from millrace.common import Time, Types
from millrace.common.errors import UserFunctionError
from millrace.connectors import FileSink
from millrace.datastream import (
    AggregateFunction,
    DataStream,
    FlatMapFunction,
    KeyedProcessFunction,
    ProcessFunction,
    StreamExecutionEnvironment,
)
from millrace.datastream.state import ValueStateDescriptor
from millrace.datastream.window import TumblingEventTimeWindows
from millrace.formats import CsvEncoder, JsonLinesEncoder, ParquetBulkWriters
from millrace.runtime.failure import TEXT_LIMIT
from millrace.runtime.worker import Worker
from millrace.testing import run_local
from millrace.testing.local_executor import LocalExecutor


def fail_on(bad):
    def check(value):
        if value == bad:
            raise ValueError(f"cannot take {value!r}")
        return value

    return check


def failure(build, values=("a", "b", "c"), executor=None) -> UserFunctionError:
    with run_local(executor=executor):
        env = StreamExecutionEnvironment.get_execution_environment()
        ends = build(env.from_collection(values))
        if isinstance(ends, DataStream):
            ends.print()
        with pytest.raises(UserFunctionError) as caught:
            env.execute()
    return caught.value


class Raise(KeyedProcessFunction):
    def process_element(self, value, ctx):
        fail_on("b")(value)
        yield value


class RaiseOnTimer(KeyedProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(5)

    def on_timer(self, timestamp, ctx):
        raise ValueError(f"cannot take {ctx.get_current_key()!r}")


class RaisePlain(ProcessFunction):
    def process_element(self, value, ctx):
        yield fail_on("b")(value)


class RaiseFlat(FlatMapFunction):
    def flat_map(self, value):
        yield fail_on("b")(value)


@pytest.mark.parametrize(
    ("operator", "build"),
    [
        ("Map", lambda s: s.map(fail_on("b"))),
        ("Filter", lambda s: s.filter(fail_on("b"))),
        ("Flat Map", lambda s: s.flat_map(RaiseFlat())),
        ("Process", lambda s: s.process(RaisePlain())),
        ("Keyed Process", lambda s: s.key_by(lambda v: 1).process(Raise())),
        ("Reduce", lambda s: s.key_by(lambda v: 1).reduce(lambda a, b: fail_on("b")(b))),
        ("mine", lambda s: s.map(str.upper).map(str.lower).map(fail_on("b")).name("mine")),
        ("key_by after Collection", lambda s: s.key_by(fail_on("b")).process(Raise())),
    ],
)
def test_operator_record_and_traceback(operator, build) -> None:
    error = failure(build)
    assert error.operator == operator
    assert error.record == "'b'"
    assert "ValueError: cannot take 'b'" in error.user_traceback
    assert "in check" in error.user_traceback
    assert "millrace/runtime" not in error.user_traceback
    assert f"operator {operator!r} failed for the record 'b'" in str(error)


def test_with_event_times_too() -> None:
    from millrace.common import WatermarkStrategy

    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda v, t: 1)
    for build in (
        lambda s: s.filter(fail_on("b")),
        lambda s: s.flat_map(RaiseFlat()),
        lambda s: s.process(RaisePlain()),
        lambda s: s.key_by(lambda v: 1).process(Raise()),
    ):
        error = failure(lambda s, b=build: b(s.assign_timestamps_and_watermarks(strategy)))
        assert error.record == "'b'"


def test_outside_of_a_record_none_is_named() -> None:
    error = failure(lambda s: s.map(str.upper).key_by(lambda v: v).process(RaiseOnTimer()))
    assert (error.operator, error.record) == ("Keyed Process", None)
    assert "cannot take 'A'" in error.user_traceback


def test_the_record_of_an_operator_further_up_is_not_blamed() -> None:
    class Pass(KeyedProcessFunction):
        def process_element(self, value, ctx):
            yield value

    def bad_sink(value):
        raise ValueError(value)

    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        stream = env.from_collection(["a", "b", "c"]).key_by(lambda v: 1).process(Pass())
        stream.add_sink(bad_sink).name("out")
        with pytest.raises(UserFunctionError) as caught:
            env.execute()
    assert (caught.value.operator, caught.value.record) == ("out", "'a'")


def test_a_state_value_that_cannot_be_pickled_is_named() -> None:
    class Unpicklable(KeyedProcessFunction):
        def open(self, runtime_context):
            self.state = runtime_context.get_state(ValueStateDescriptor("letters"))

        def process_element(self, value, ctx):
            self.state.update(letter for letter in "abc")

    error = failure(lambda s: s.key_by(lambda v: v).process(Unpicklable()), values=["a"])
    assert "Keyed Process" in error.operator
    assert "state 'letters'" in str(error)
    assert "generator" in str(error)


def test_open_and_window_functions() -> None:
    from millrace.common import WatermarkStrategy

    class Bad(AggregateFunction):
        def create_accumulator(self):
            return 0

        def add(self, value, accumulator):
            return accumulator

        def get_result(self, accumulator):
            raise ValueError("no result")

        def merge(self, acc_a, acc_b):
            return acc_a

    class BadOpen(Raise):
        def open(self, runtime_context):
            raise ValueError("not open")

    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda v, t: 1)

    def window(stream):
        keyed = stream.assign_timestamps_and_watermarks(strategy).key_by(lambda v: 1)
        return keyed.window(TumblingEventTimeWindows.of(Time.seconds(1))).aggregate(Bad())

    error = failure(window)
    assert (error.operator, error.record) == ("Window Aggregate", None)
    error = failure(lambda s: s.key_by(lambda v: 1).process(BadOpen()))
    assert (error.operator, error.record) == ("Keyed Process", None)
    assert "not open" in str(error)


def test_causes_are_shown_without_our_frames() -> None:
    def chained(value):
        try:
            fail_on(value)(value)
        except ValueError as error:
            raise RuntimeError("chained") from error

    error = failure(lambda s: s.map(chained))
    assert "cannot take 'a'" in error.user_traceback
    assert "direct cause" in error.user_traceback
    assert "millrace/runtime" not in error.user_traceback


class WithWorkersOfTheirOwn(LocalExecutor):
    """As on Spark: nobody's Ctrl-C reaches them."""

    def _worker(self, index: int) -> Worker:
        return Worker(f"local:{index}")


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, GeneratorExit, BaseException])
def test_what_ends_processes_fails_the_job_and_not_the_worker(kind: type[BaseException]) -> None:
    def leave(value):
        raise kind(3)

    class LeaveLate(FlatMapFunction):
        def flat_map(self, value):
            yield value
            leave(value)

    for build in (lambda s: s.map(leave), lambda s: s.flat_map(LeaveLate())):
        error = failure(build, executor=WithWorkersOfTheirOwn)
        assert f"{kind.__name__}: 3" in error.user_traceback
        assert error.record == "'a'"


def test_of_a_huge_text_the_driver_gets_beginning_and_end() -> None:
    def fail(value):
        raise ValueError("first " + "x" * 20_000_000 + " last")

    error = failure(lambda s: s.map(fail))
    assert len(error.user_traceback) == TEXT_LIMIT
    assert "in fail" in error.user_traceback
    assert "ValueError: first xxx" in error.user_traceback
    assert "characters are left out" in error.user_traceback
    assert error.user_traceback.endswith("xxx last\n")


def test_errors_that_led_to_one_another_without_end() -> None:
    def fail(value):
        error = None
        for number in range(5000):
            cause, error = error, ValueError(number)
            error.__context__ = cause
        raise error

    assert failure(lambda s: s.map(fail)).user_traceback.endswith("ValueError: 4999\n")


def test_long_records_and_bad_reprs() -> None:
    class Secret:
        def __repr__(self) -> str:
            raise SystemExit("secret")

    def fail(value):
        raise KeyError

    error = failure(lambda s: s.map(fail), values=["x" * 10_000])
    assert error.record is not None
    assert len(error.record) == 500
    error = failure(lambda s: s.map(lambda v: Secret()).map(fail))
    assert error.record == (
        "<test_long_records_and_bad_reprs.<locals>.Secret whose repr fails: secret>"
    )


NUMBERS = ParquetBulkWriters.for_row_type(Types.ROW_NAMED(["n"], [Types.LONG()]))


@pytest.mark.parametrize(
    "sink",
    [
        lambda path: FileSink.for_row_format(path, JsonLinesEncoder()),
        lambda path: FileSink.for_row_format(path, CsvEncoder.for_columns("m")),
        lambda path: FileSink.for_bulk_format(path, NUMBERS),
    ],
    ids=["json", "csv", "parquet"],
)
def test_of_a_sink_that_cannot_write_a_record_the_message_is_enough(tmp_path, sink) -> None:
    """It names the file, the field and the record; a screen of our own frames stood before it."""
    built = sink(str(tmp_path / "out")).build()
    error = failure(lambda s: s.map(lambda _: {"n": {1}}).sink_to(built).name("file"))
    first, *more = error.user_traceback.splitlines()
    assert error.operator == "file"
    assert f"SerializationError: {tmp_path}/out/" in first
    assert "'n'" in first
    assert "{'n': {1}}" in first
    assert more == []


def test_an_error_of_ours_in_a_users_function_shows_their_lines() -> None:
    def use(value):
        return JsonLinesEncoder().encode({1})

    error = failure(lambda s: s.map(use))
    assert "in use" in error.user_traceback
    assert "has no form in JSON" in error.user_traceback
    assert "json/encoder" not in error.user_traceback


def test_a_misspelt_method_in_a_function_is_told_the_right_name() -> None:
    class Misspelling(KeyedProcessFunction):
        def open(self, runtime_context):
            runtime_context.get_statee(None)

        def process_element(self, value, ctx):
            """Never called."""

    error = failure(lambda s: s.key_by(str).process(Misspelling()))
    assert "has no attribute 'get_statee'" in error.user_traceback
    assert "Did you mean: 'get_state'?" in error.user_traceback
