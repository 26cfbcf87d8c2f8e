"""State as DataFrames and back, in Spark."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cloudpickle
import pytest

from millrace.cli.main import main
from millrace.common import Configuration, Time, Types
from millrace.common.config import options
from millrace.common.errors import CheckpointError, StateError, UserFunctionError
from millrace.datastream import (
    BroadcastProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessWindowFunction,
)
from millrace.datastream.functions import CheckpointedFunction
from millrace.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ValueStateDescriptor,
)
from millrace.datastream.window import SlidingEventTimeWindows, TumblingEventTimeWindows
from millrace.state_processor import (
    BroadcastStateBootstrapFunction,
    KeyedStateBootstrapFunction,
    KeyedStateReaderFunction,
    OperatorTransformation,
    SavepointReader,
    SavepointWriter,
    StateBootstrapFunction,
    WindowReaderFunction,
)
from millrace.testing import MiniJob

# workers cannot import a test module
cloudpickle.register_pickle_by_value(sys.modules[__name__])
pytestmark = pytest.mark.spark

PAYMENTS = [("ann", 5), ("bob", 7), ("ann", 3), ("cid", 1), ("ann", 2)]


@dataclass
class Note:
    """Has no declared type, so it is pickled."""

    text: str


class Account(KeyedProcessFunction):
    """Balance, history, count per amount, and a timer for each payment."""

    def open(self, runtime_context: Any) -> None:
        self.balance = runtime_context.get_state(ValueStateDescriptor("balance", Types.LONG()))
        self.history = runtime_context.get_list_state(ListStateDescriptor("history"))
        self.amounts = runtime_context.get_map_state(MapStateDescriptor("amounts"))
        self.notes = runtime_context.get_state(ValueStateDescriptor("notes"))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        amount = value[1]
        self.balance.update((self.balance.value() or 0) + amount)
        self.history.add({"amount": amount})
        self.notes.update(Note(str(amount)))
        self.amounts.put(amount, (self.amounts.get(amount) or 0) + 1)
        ctx.timer_service().register_event_time_timer(1_000 * amount)
        yield value[0], self.balance.value()


class Seen(MapFunction, CheckpointedFunction):
    """Remembers what went through, in both kinds of lists."""

    def initialize_state(self, context: Any) -> None:
        store = context.get_operator_state_store()
        self.seen = store.get_list_state(ListStateDescriptor("seen"))
        self.all = store.get_union_list_state(ListStateDescriptor("all"))

    def snapshot_state(self, context: Any) -> None:
        pass

    def map(self, value: Any) -> Any:
        self.seen.add(value)
        self.all.add(value[0])
        return value


class Elements(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        yield key, list(elements)


def add(a: Any, b: Any) -> Any:
    return a[0], a[1] + b[1]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A checkpoint of a job with two subtasks, made without Spark."""
    directory = tmp_path_factory.mktemp("checkpoints")
    with MiniJob(2, checkpoint_dir=str(directory)) as job:
        payments = job.source("payments")
        seen = payments.stream.map(Seen()).uid("seen")
        keyed = seen.key_by(lambda payment: payment[0])
        job.collect(keyed.process(Account()).uid("accounts").name("Accounts"))
        size, slide = Time.seconds(10), Time.seconds(5)
        job.collect(keyed.window(TumblingEventTimeWindows.of(size)).reduce(add).uid("tumbling"))
        sliding = keyed.window(SlidingEventTimeWindows.of(size, slide))
        job.collect(sliding.reduce(add).uid("sliding"))
        elements = keyed.window(TumblingEventTimeWindows.of(size)).process(Elements())
        job.collect(elements.uid("elements"))
        for index, payment in enumerate(PAYMENTS):
            payments.push(payment, timestamp=2_000 * index)
            job.process()
        (job_dir,) = directory.iterdir()
        yield job_dir


@pytest.fixture(scope="module")
def savepoint(spark: Any, checkpoint: Path) -> SavepointReader:
    return SavepointReader.read(spark, checkpoint, pickle_allowed=True)


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.collect())


@pytest.mark.turns(7)
def test_keyed_states(savepoint: SavepointReader) -> None:
    """By name, with the columns' types found or declared."""
    balances = savepoint.read_value_state("accounts", "balance")
    assert rows(balances) == [("ann", 10), ("bob", 7), ("cid", 1)]
    assert balances.dtypes == [("key", "string"), ("value", "bigint")]
    history = savepoint.read_keyed_list_state("accounts", "history", key_type=Types.STRING())
    assert dict(rows(history))["ann"] == [{"amount": 5}, {"amount": 3}, {"amount": 2}]
    amounts = savepoint.read_map_state("Accounts", "amounts", sample=None)
    assert dict(rows(amounts))["ann"] == {5: 1, 3: 1, 2: 1}
    assert rows(balances.where("value > 5").selectExpr("upper(key)")) == [("ANN",), ("BOB",)]


def test_a_state_of_another_kind(savepoint: SavepointReader) -> None:
    """Is refused at once, not in a task."""
    with pytest.raises(StateError, match="'balance' of operator 'accounts' is value state"):
        savepoint.read_map_state("accounts", "balance")


class Report(KeyedStateReaderFunction):
    """Says of a key what several of its states hold."""

    def open(self, runtime_context: Any) -> None:
        self.balance = runtime_context.get_state(ValueStateDescriptor("balance", Types.LONG()))
        self.history = runtime_context.get_list_state(ListStateDescriptor("history"))

    def read_key(self, key: Any, ctx: Any) -> Iterator[Any]:
        timers = ctx.registered_event_time_timers()
        yield {
            "user": key,
            "balance": self.balance.value(),
            "payments": len(list(self.history.get())),
            "next": min(timers),
        }


class Lost(KeyedStateReaderFunction):
    def open(self, runtime_context: Any) -> None:
        self.lost = runtime_context.get_state(ValueStateDescriptor("lost"))

    def read_key(self, key: Any, ctx: Any) -> Iterator[Any]:
        yield key


def test_a_reader_function(savepoint: SavepointReader) -> None:
    """Sees all the state of a key, and its timers."""
    report = savepoint.read_keyed_state("accounts", Report())
    assert report.columns == ["user", "balance", "payments", "next"]
    assert rows(report) == [("ann", 10, 3, 2_000), ("bob", 7, 1, 7_000), ("cid", 1, 1, 1_000)]
    with pytest.raises(StateError, match="operator 'accounts' has no state 'lost'"):
        savepoint.read_keyed_state("accounts", Lost())


def test_timers(savepoint: SavepointReader) -> None:
    """Timers of all keys, with their time domain."""
    timers = savepoint.read_timers("accounts").select("key", "timestamp", "time_domain")
    assert rows(timers) == [
        ("ann", 2_000, "EVENT_TIME"), ("ann", 3_000, "EVENT_TIME"), ("ann", 5_000, "EVENT_TIME"),
        ("bob", 7_000, "EVENT_TIME"), ("cid", 1_000, "EVENT_TIME"),
    ]  # fmt: skip


class Sizes(WindowReaderFunction):
    def read_window(self, key: Any, context: Any, elements: list[Any]) -> Iterator[Any]:
        yield key, context.window().end, len(elements)


def test_windows(savepoint: SavepointReader) -> None:
    """Results, windows put together from shared panes, and elements."""
    tumbling = savepoint.window().read("tumbling").select("key", "window_end", "value.f1")
    assert rows(tumbling) == [("ann", 10_000, 10), ("bob", 10_000, 7), ("cid", 10_000, 1)]
    assigner = SlidingEventTimeWindows.of(Time.seconds(10), Time.seconds(5))
    sliding = savepoint.window(assigner).reduce("sliding", add)
    found = rows(sliding.where("key = 'ann'").select("window_start", "value.f1"))
    assert found == [(-5_000, 8), (0, 10), (5_000, 2)]
    sizes = savepoint.window().process("elements", Sizes())
    assert rows(sizes) == [("ann", 10_000, 3), ("bob", 10_000, 1), ("cid", 10_000, 1)]


def test_operator_state(savepoint: SavepointReader) -> None:
    """Elements of all subtasks."""
    assert rows(savepoint.read_list_state("seen", "seen")) == [
        (payment,) for payment in sorted(PAYMENTS)
    ]
    union = savepoint.read_union_state("seen", "all", value_type=Types.STRING())
    assert rows(union) == [("ann",), ("ann",), ("ann",), ("bob",), ("cid",)]


@pytest.mark.turns(7)
def test_sql(savepoint: SavepointReader) -> None:
    """States are views, which can be joined."""
    answer = savepoint.sql(
        "SELECT key, b.value, size(h.value) FROM accounts_balance b JOIN accounts_history h "
        "USING (key) WHERE b.value > 5 ORDER BY key"
    )
    assert [tuple(row) for row in answer.collect()] == [("ann", 10, 3), ("bob", 7, 1)]
    names = {row["view"] for row in savepoint.sql("show tables;").collect()}
    assert names >= {"accounts_timers", "sliding_windows", "seen_seen", "accounts_amounts"}
    with pytest.raises(StateError, match=r"cannot be found; there are: .*accounts_balance"):
        savepoint.sql("SELECT * FROM lost")
    with pytest.raises(StateError, match="PARSE_SYNTAX_ERROR"):
        savepoint.sql("SELEKT")


@pytest.mark.turns(7)
def test_sql_from_the_command_line(
    spark: Any, checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the answer in several formats, and errors in one line."""
    unsafe = "SELECT * FROM accounts_notes"
    assert main(["savepoint", "sql", str(checkpoint), unsafe]) == 1
    assert "allow it: --allow-pickle" in capsys.readouterr().err
    assert main(["savepoint", "sql", str(checkpoint), unsafe, "--allow-pickle"]) == 0
    assert '{"text": "7"}' in capsys.readouterr().out
    query = "SELECT key, value FROM accounts_balance ORDER BY key"
    allowed = ["savepoint", "sql", "--allow-pickle", str(checkpoint)]
    assert main([*allowed, query, "--format", "csv"]) == 0
    assert capsys.readouterr().out == "key,value\nann,10\nbob,7\ncid,1\n"
    assert main(allowed) == 0
    assert "accounts_balance" in capsys.readouterr().out
    assert main([*allowed, "SELECT * FROM lost"]) == 1
    assert "there are: accounts_amounts" in capsys.readouterr().err
    assert main(["savepoint", "sql", str(checkpoint / "lost")]) == 1
    assert "does not exist" in capsys.readouterr().err


# -- writing ---------------------------------------------------------------------------------------


class Balances(KeyedStateBootstrapFunction):
    """What `Account` keeps."""

    def open(self, runtime_context: Any) -> None:
        self.balance = runtime_context.get_state(ValueStateDescriptor("balance", Types.LONG()))
        self.history = runtime_context.get_list_state(ListStateDescriptor("history"))

    def process_element(self, value: Any, ctx: Any) -> None:
        self.balance.update(value["balance"])
        self.history.update([{"amount": amount} for amount in value["history"]])
        ctx.timer_service().register_event_time_timer(value["due"])


class Watched(Account):
    """Tells of its timers."""

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield f"{ctx.get_current_key()} at {timestamp}"


class All(StateBootstrapFunction):
    def initialize_state(self, context: Any) -> None:
        self.seen = context.get_operator_state_store().get_list_state(ListStateDescriptor("seen"))

    def snapshot_state(self, context: Any) -> None:
        pass

    def process_element(self, value: Any) -> None:
        self.seen.add((value["name"], value["balance"]))


RULES = MapStateDescriptor("rules")


class Rules(BroadcastStateBootstrapFunction):
    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.get_broadcast_state(RULES).put(value["name"], value["due"])


class Ruled(BroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value[0], ctx.get_broadcast_state(RULES).get(value[0])

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield from ()


def as_payment(row: Any) -> Any:
    return row["name"], row["balance"]


def started_from(path: str, parallelism: int) -> MiniJob:
    return MiniJob(parallelism, configuration=Configuration().set(options.START_FROM, path))


@pytest.mark.turns(7)
def test_a_job_starts_from_a_table(spark: Any, tmp_path: Path) -> None:
    """Every kind of state comes from the rows of a DataFrame and is the job's own then, with
    another parallelism than it was written with."""
    accounts = [(f"user{i}", i, [i, i + 1], 1_000 * (i + 1)) for i in range(20)]
    frame = spark.createDataFrame(
        accounts, "name string, balance long, history array<long>, due long"
    )
    table = OperatorTransformation.bootstrap_with(frame)
    windows = (
        OperatorTransformation.bootstrap_with(frame, as_payment)
        .assign_timestamps(lambda payment: payment[1])
        .key_by(0)
        .window(TumblingEventTimeWindows.of(Time.seconds(10)))
        .reduce(add)
    )
    path = (
        SavepointWriter.new_savepoint(spark)
        .with_configuration(options.PARALLELISM, 3)
        .with_operator("accounts", table.key_by("name").transform(Balances()))
        .with_operator("windows", windows.set_parallelism(1))
        .with_operator("seen", table.transform(All()))
        .with_operator("ruled", table.transform(Rules()))
        .write(tmp_path / "savepoint")
    )
    with started_from(path, 2) as job:
        payments, rules = job.source("payments"), job.source("rules")
        seen = payments.stream.map(Seen()).uid("seen")
        keyed = seen.key_by(lambda payment: payment[0])
        balances = job.collect(keyed.process(Watched()).uid("accounts"))
        windowed = keyed.window(TumblingEventTimeWindows.of(Time.seconds(10)))
        sums = job.collect(windowed.reduce(add).uid("windows"))
        told = job.collect(
            seen.connect(rules.stream.broadcast(RULES)).process(Ruled()).uid("ruled")
        )
        payments.push(("user3", 100), timestamp=500)
        job.process()
        assert balances.values() == [("user3", 103)]
        assert told.values() == [("user3", 4_000)]
        payments.push_watermark(3_000)
        rules.push_watermark(3_000)
        job.process()
        assert sorted(balances.values()[1:]) == ["user0 at 1000", "user1 at 2000", "user2 at 3000"]
        payments.push_watermark(10_000)
        job.process()
        assert ("user3", 103) in sums.values()
        assert len(sums.values()) == 20


@pytest.mark.turns(7)
def test_a_savepoint_is_changed(spark: Any, checkpoint: Path, tmp_path: Path) -> None:
    """Values are rewritten, an operator goes, another gets a new uid; the rest is copied."""
    before = SavepointReader.read(spark, checkpoint, pickle_allowed=True)
    doubled = before.read_keyed_state("accounts", Report()).selectExpr(
        "user as name", "2 * balance as balance", "array(balance) as history", "next as due"
    )
    table = OperatorTransformation.bootstrap_with(doubled).key_by("name")
    path = (
        SavepointWriter.from_existing_savepoint(spark, checkpoint, pickle_allowed=True)
        .remove_operator("accounts")
        .with_operator("accounts", table.transform(Balances()))
        .change_operator_identifier("seen", "watched")
        .remove_operator("sliding")
        .write(tmp_path / "changed")
    )
    after = SavepointReader.read(spark, path)
    balances = after.read_value_state("accounts", "balance")
    assert rows(balances) == [("ann", 20), ("bob", 14), ("cid", 2)]
    assert rows(after.read_list_state("watched", "seen")) == [
        (payment,) for payment in sorted(PAYMENTS)
    ]
    uids = {info.uid for info in after.states()}
    assert uids >= {"accounts", "watched", "tumbling", "elements"}
    assert not uids & {"seen", "sliding"}
    same = after.window().read("elements"), before.window().read("elements")
    assert rows(same[0]) == rows(same[1])
    with started_from(path, 3) as job:
        payments = job.source("payments")
        seen = payments.stream.map(Seen()).uid("watched")
        keyed = seen.key_by(lambda payment: payment[0])
        found = job.collect(keyed.process(Account()).uid("accounts"))
        size = Time.seconds(10)
        sums = keyed.window(TumblingEventTimeWindows.of(size)).reduce(add).uid("tumbling")
        reduced = job.collect(sums)
        elements = keyed.window(TumblingEventTimeWindows.of(size)).process(Elements())
        job.collect(elements.uid("elements"))
        # what was pushed before counts as read
        payments.push(*PAYMENTS, timestamp=0)
        payments.push(("ann", 1), timestamp=9_000)
        payments.push_watermark(20_000)
        job.process()
        assert found.values() == [("ann", 21)]
        assert sorted(reduced.values()) == [("ann", 11), ("bob", 7), ("cid", 1)]


class Failing(KeyedStateBootstrapFunction):
    def process_element(self, value: Any, ctx: Any) -> None:
        raise ValueError("not like this")


def test_what_cannot_be_written(spark: Any, checkpoint: Path, tmp_path: Path) -> None:
    """Is refused, and nothing is left behind."""
    frame = spark.createDataFrame([("a",)], "name string")
    failing = OperatorTransformation.bootstrap_with(frame).key_by("name").transform(Failing())
    writer = SavepointWriter.new_savepoint(spark).with_operator("op", failing)
    with pytest.raises(UserFunctionError, match="not like this"):
        writer.write(tmp_path / "failed")
    assert not (tmp_path / "failed").exists()
    existing = SavepointWriter.from_existing_savepoint(spark, checkpoint, pickle_allowed=True)
    with pytest.raises(StateError, match=r"remove_operator\('accounts'\)"):
        existing.with_operator("accounts", failing)
    (tmp_path / "mine").write_text("keep")
    with pytest.raises(CheckpointError, match="not empty"):
        existing.write(tmp_path)
    assert (tmp_path / "mine").read_text() == "keep"
    with pytest.raises(StateError, match="takes a Spark DataFrame"):
        OperatorTransformation.bootstrap_with([("a",)])


@dataclass(frozen=True)
class Place:
    """A key."""

    country: str
    number: int


class Visits(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.visits = runtime_context.get_state(ValueStateDescriptor("visits", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.visits.update((self.visits.value() or 0) + 1)
        yield ctx.get_current_key(), self.visits.value()


class InitialVisits(KeyedStateBootstrapFunction):
    def open(self, runtime_context: Any) -> None:
        self.visits = runtime_context.get_state(ValueStateDescriptor("visits", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> None:
        self.visits.update(ctx.get_current_key().number * 100)


class VisitsByPlace(KeyedStateReaderFunction):
    def open(self, runtime_context: Any) -> None:
        self.visits = runtime_context.get_state(ValueStateDescriptor("visits", Types.LONG()))

    def read_key(self, key: Any, ctx: Any) -> Iterator[Any]:
        yield {"place": f"{key.country} {key.number}", "visits": self.visits.value()}


def test_keys_of_a_class(spark: Any, tmp_path: Path) -> None:
    """They are written, read as rows or as what they are, and found by a job that goes on."""
    frame = spark.createDataFrame([("at", 1), ("at", 2)], "country string, number long")
    key_type = Types.of(Place)
    keyed = OperatorTransformation.bootstrap_with(frame).key_by(
        lambda row: Place(row["country"], row["number"]), key_type=key_type
    )
    path = str(tmp_path / "made")
    writer = SavepointWriter.new_savepoint(spark)
    writer.with_operator("visits", keyed.transform(InitialVisits())).write(path)
    made = SavepointReader.read(spark, path)
    assert rows(made.read_value_state("visits", "visits")) == [(("at", 1), 100), (("at", 2), 200)]
    by_place = made.read_keyed_state("visits", VisitsByPlace(), key_type=key_type)
    assert rows(by_place) == [("at 1", 100), ("at 2", 200)]
    with started_from(path, 2) as job:
        visitors = job.source("visitors")
        places = visitors.stream.key_by(lambda number: Place("at", number), key_type=key_type)
        results = job.collect(places.process(Visits()).uid("visits"))
        visitors.push(2)
        job.process()
        assert results.values() == [(Place("at", 2), 201)]
