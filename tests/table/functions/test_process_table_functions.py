"""Process table functions: calls, columns, state, timers, updates, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Annotated, Any, NamedTuple

import pytest
from tests.table_runtime.subtask import Subtask, columns

from millrace.common import Row, RowKind
from millrace.common.errors import JobDefinitionError, JobExecutionError
from millrace.common.time.amounts import Instant
from millrace.common.types.logical.logical_type import RowType
from millrace.expressions.session_settings import SessionSettings
from millrace.table import ChangelogMode, DataTypes, ListView, MapView, TableEnvironment
from millrace.table.expressions import col, descriptor, lit
from millrace.table.udf import (
    ArgumentHint,
    ArgumentTrait,
    ProcessTableFunction,
    StateHint,
    udptf,
)
from millrace.table_runtime.process_table import (
    ProcessedTable,
    ProcessTableOperator,
    ProcessTableSpec,
)

SET, ROW = ArgumentTrait.SET_SEMANTIC_TABLE, ArgumentTrait.ROW_SEMANTIC_TABLE
Changes = list[tuple[Any, ...]]


@dataclass
class Seen:
    count: int = 0
    names: list[str] = field(default_factory=list)


class Greeting(ProcessTableFunction):
    def eval(
        self, seen: Annotated[Seen, StateHint], names: Annotated[Row, SET], word: str = "Hello"
    ) -> Iterator[str]:
        seen.count += 1
        yield f"{word} {names.name}, your {seen.count} time?"


class Follow(ProcessTableFunction):
    """A timer a minute behind each row, and one with a name that the next row moves."""

    def eval(
        self,
        ctx: ProcessTableFunction.Context,
        seen: Annotated[Seen, StateHint],
        names: Annotated[Row, SET, ArgumentTrait.REQUIRE_ON_TIME],
    ) -> Iterator[tuple[str, int | None]]:
        seen.count += 1
        time = ctx.time_context(int)
        time.register_on_time(time.time() + 60_000)
        time.register_on_time("idle", time.time() + 90_000)
        yield "row", seen.count

    def on_timer(
        self, ctx: ProcessTableFunction.OnTimerContext, seen: Seen
    ) -> Iterator[tuple[str, int | None]]:
        yield ctx.current_timer() or "minute", seen.count
        if ctx.current_timer() == "idle":
            ctx.clear_all()


@udptf
def above(rows: Annotated[Row, ROW], least: int = 1) -> Iterator[tuple[int, str]]:
    if rows.n > least:
        yield rows.n, rows.name.upper()


@udptf
def beside(rows: Annotated[Row, ROW, ArgumentTrait.PASS_COLUMNS_THROUGH]) -> list[int]:
    return [rows.n * 2] * rows.n


@udptf
def numbers(least: int, most: int) -> Iterator[int]:
    yield from range(least, most)


def changes(t_env: TableEnvironment, query: str) -> Changes:
    with t_env.execute_sql(query).collect() as found:
        return [(str(row.get_row_kind()), *row) for row in found]


def rows(t_env: TableEnvironment, query: str) -> Changes:
    return [row[1:] for row in changes(t_env, query)]


@pytest.fixture
def env(t_env: TableEnvironment) -> TableEnvironment:
    kind = DataTypes.of("ROW<name STRING, n INT, k INT>")
    elements = [("Bob", 1, 0), ("Alice", 2, 0), ("Bob", 3, 1)]
    t_env.create_temporary_view("names", t_env.from_elements(elements, kind))
    functions = {
        "greeting": udptf(Greeting()),
        "follow": udptf(Follow()),
        "above": above,
        "beside": beside,
        "numbers": numbers,
        "totals": udptf(Totals()),
        "matched": udptf(Matched()),
        "whole": udptf(Whole()),
        "counted": udptf(Counted()),
    }
    for name, function in functions.items():
        t_env.create_temporary_function(name, function)
    return t_env


TIMED = """
CREATE TABLE timed (name STRING, n INT, at_minute INT,
    ts AS TIMESTAMPADD(MINUTE, at_minute, TIMESTAMP '2025-01-01 00:00:00'),
    WATERMARK FOR ts AS ts - INTERVAL '10' MINUTE)
WITH ('connector' = 'python', 'source' = 'tests.table.functions.timed_rows:source')
"""


# -- calls ---------------------------------------------------------------------------------------


def test_state_of_a_partition(env: TableEnvironment) -> None:
    assert rows(env, "SELECT * FROM greeting(TABLE names PARTITION BY name)") == [
        ("Bob", "Hello Bob, your 1 time?"),
        ("Alice", "Hello Alice, your 1 time?"),
        ("Bob", "Hello Bob, your 2 time?"),
    ]


@pytest.mark.parametrize(
    "call",
    [
        "greeting(TABLE names PARTITION BY (name, k), 'Ho')",
        "greeting(TABLE names PARTITION BY (name, k), 'Ho', DEFAULT, 'my-uid')",
        "greeting(word => 'Ho', names => TABLE names PARTITION BY (name, k), uid => 'u')",
        "greeting(names => TABLE (SELECT * FROM names) PARTITION BY (name, k), WORD => 'Ho')",
    ],
)
def test_arguments_by_position_and_by_name(env: TableEnvironment, call: str) -> None:
    """Columns of the partition come first."""
    assert rows(env, f"SELECT name, k, EXPR$0 FROM {call} AS t(name, k, EXPR$0)") == [
        ("Bob", 0, "Ho Bob, your 1 time?"),
        ("Alice", 0, "Ho Alice, your 1 time?"),
        ("Bob", 1, "Ho Bob, your 1 time?"),
    ]


def test_row_semantics_and_columns_passed_through(env: TableEnvironment) -> None:
    assert rows(env, "SELECT * FROM above(TABLE names)") == [(2, "ALICE"), (3, "BOB")]
    assert rows(env, "SELECT * FROM above(`rows` => TABLE names, least => 2)") == [(3, "BOB")]
    found = rows(env, "SELECT name, n, k, EXPR$0 FROM beside(TABLE names) WHERE n < 3")
    assert found == [("Bob", 1, 0, 2), ("Alice", 2, 0, 4), ("Alice", 2, 0, 4)]


def test_without_tables(env: TableEnvironment) -> None:
    assert rows(env, "SELECT * FROM numbers(2, most => 5)") == [(2,), (3,), (4,)]


def test_one_after_the_other(env: TableEnvironment) -> None:
    query = """
        WITH loud AS (SELECT * FROM above(TABLE names, 0) AS t(n, name))
        SELECT * FROM greeting(TABLE loud PARTITION BY n) WHERE n > 1
    """
    assert rows(env, query) == [
        (2, "Hello ALICE, your 1 time?"),
        (3, "Hello BOB, your 1 time?"),
    ]


def test_in_the_table_api(env: TableEnvironment) -> None:
    names, greeting = env.from_path("names"), udptf(Greeting())
    query = "SELECT * FROM greeting(TABLE names PARTITION BY name, 'Ho')"
    expected, twin = rows(env, query), env.sql_query(query).explain()
    by_name = names.partition_by(col("name"))
    with_uid = names.partition_by("name").process(greeting, "Ho", None, "uid")
    for table in (
        by_name.process(greeting, "Ho"),
        by_name.process("greeting", lit("Ho").as_argument("word")),
        with_uid,
        env.from_call(greeting, lit("Ho").as_argument("word"), by_name.as_argument("names")),
    ):
        with table.execute().collect() as found:
            assert [tuple(row) for row in found] == expected
        assert table.get_schema().get_field_names() == ["name", "EXPR$0"]
        if table is not with_uid:
            assert table.explain().lower() == twin.lower()  # the object is a Greeting
    with names.process(above, 2).execute().collect() as found:
        assert [tuple(row) for row in found] == [(3, "BOB")]
    with env.from_call(above, names.as_argument("rows")).execute().collect() as found:
        assert len(list(found)) == 2


def test_in_batch_mode(batch_env: TableEnvironment) -> None:
    batch_env.execute_sql("CREATE VIEW names AS SELECT * FROM (VALUES ('a'), ('b'), ('a')) t(name)")
    batch_env.create_temporary_function("greeting", udptf(Greeting()))
    found = rows(batch_env, "SELECT * FROM greeting(TABLE names PARTITION BY name)")
    assert sorted(found)[1] == ("a", "Hello a, your 2 time?")


class Whole(ProcessTableFunction):
    def eval(
        self,
        seen: Annotated[Row, StateHint(type="ROW<names STRING, count INT>")],
        rows: Annotated[Row, SET, ArgumentTrait.OPTIONAL_PARTITION_BY],
    ) -> Iterator[str]:
        seen["names"] = (seen.names or "") + rows.name[0]
        yield seen.names


def test_an_optional_partition(env: TableEnvironment) -> None:
    assert rows(env, "SELECT * FROM whole(TABLE names)") == [("B",), ("BA",), ("BAB",)]
    assert rows(env, "SELECT EXPR$0 FROM whole(TABLE names PARTITION BY k)") == [
        ("B",),
        ("BA",),
        ("B",),
    ]


class Person(NamedTuple):
    name: str
    n: int
    k: int


@dataclass
class Counter:
    """Not a record of a table."""

    total: int = 0


class Counted(ProcessTableFunction):
    """State of all kinds."""

    def eval(
        self,
        ctx: ProcessTableFunction.Context,
        counter: Annotated[Counter, StateHint(ttl="1 h")],
        seen: Annotated[ListView[str], StateHint],
        places: Annotated[MapView[int, str], StateHint(ttl="0")],
        person: Annotated[Person, SET],
    ) -> Iterator[tuple[int, list[str], dict[int, str], int]]:
        assert isinstance(person, Person)
        assert isinstance(seen, ListView)
        assert isinstance(places, MapView)
        counter.total += person.n
        seen.add(person.name)
        places[person.n] = person.name
        table = ctx.table_semantics_for("person")
        assert table.data_type().names == ("name", "n", "k")
        yield counter.total, list(seen), dict(places.items()), table.partition_by_columns()[0]
        if len(seen) == 2:
            ctx.clear_state("seen")
            ctx.clear_state("counter")
            counter.total = 99


def test_state_in_views_and_rows_as_classes(env: TableEnvironment) -> None:
    elements = [("a", 1, 0), ("b", 2, 0), ("c", 3, 0)]
    kind = DataTypes.of("ROW<name STRING, n INT, k INT>")
    env.create_temporary_view("people", env.from_elements(elements, kind))
    assert rows(env, "SELECT * FROM counted(TABLE people PARTITION BY k)") == [
        (0, 1, ["a"], {1: "a"}, 2),
        (0, 3, ["a", "b"], {1: "a", 2: "b"}, 2),
        (0, 3, ["c"], {1: "a", 2: "b", 3: "c"}, 2),
    ]


def test_rows_given_are_as_they_were(env: TableEnvironment) -> None:
    """A list that is in state is changed by the next row of the same batch."""

    class Names(ProcessTableFunction):
        def eval(
            self, seen: Annotated[Seen, StateHint], rows: Annotated[Row, SET]
        ) -> Iterator[list[str]]:
            seen.names.append(rows.name)
            yield seen.names

    env.create_temporary_function("all_names", udptf(Names()))
    found = rows(env, "SELECT EXPR$0 FROM all_names(TABLE names PARTITION BY name)")
    assert found == [(["Bob"],), (["Alice"],), (["Bob", "Bob"],)]


# -- time ----------------------------------------------------------------------------------------


def test_timers(env: TableEnvironment) -> None:
    """Those with names are replaced; what a timer gives has its time."""
    env.execute_sql(TIMED)
    call = "follow(TABLE timed PARTITION BY name ORDER BY ts, on_time => DESCRIPTOR(ts))"
    found = rows(env, f"SELECT * FROM {call}")
    start = datetime(2025, 1, 1)

    def at(minutes: float) -> datetime:
        return start + timedelta(minutes=minutes)

    assert [row for row in found if row[0] == "a"] == [
        ("a", "row", 1, at(0)),
        ("a", "row", 2, at(1)),
        ("a", "minute", 2, at(1)),
        ("a", "minute", 2, at(2)),
        ("a", "idle", 2, at(2.5)),
        ("a", "row", 1, at(30)),
        ("a", "minute", 1, at(31)),
        ("a", "idle", 1, at(31.5)),
    ]
    table = env.from_path("timed").partition_by("name")
    called = table.process("follow", descriptor("ts").as_argument("on_time"))
    assert called.get_schema().get_field_names() == ["name", "f0", "f1", "rowtime"]
    windowed = f"""
        SELECT window_start, COUNT(*) FROM TABLE(
            TUMBLE(TABLE (SELECT * FROM {call}), DESCRIPTOR(rowtime), INTERVAL '1' HOUR))
        GROUP BY window_start, window_end
    """
    assert rows(env, windowed) == [(start, len(found))]


def test_times_of_timers_are_finer_than_those_of_rows(env: TableEnvironment) -> None:
    class Soon(ProcessTableFunction):
        def eval(self, ctx: Any, rows: Annotated[Row, SET]) -> Iterator[str]:
            time = ctx.time_context(int)
            time.register_on_time(time.time() + 1)
            yield from ()

        def on_timer(self, ctx: ProcessTableFunction.OnTimerContext) -> Iterator[str]:
            yield "soon"

    env.execute_sql("""
        CREATE TABLE seconds (
            n INT, ts AS TIMESTAMPADD(SECOND, n, TIMESTAMP '2025-01-01 00:00:00'),
            WATERMARK FOR ts AS ts
        ) WITH ('connector' = 'datagen', 'fields.n.kind' = 'sequence', 'fields.n.start' = '1',
                'fields.n.end' = '1')
    """)
    env.create_temporary_function("soon", udptf(Soon()))
    assert str(env.from_path("seconds").get_schema().row_type.fields[1].type) == "TIMESTAMP(0)"
    found = env.sql_query(
        "SELECT rowtime FROM soon(TABLE seconds PARTITION BY n, on_time => DESCRIPTOR(ts))"
    )
    assert str(found.get_schema().row_type.fields[0].type) == "TIMESTAMP(3)"
    assert rows(env, f"SELECT * FROM {found}") == [(datetime(2025, 1, 1, 0, 0, 1, 1000),)]


@pytest.mark.parametrize("kind", [datetime, int, Instant])
def test_times_in_three_forms(env: TableEnvironment, kind: type) -> None:
    class Times(ProcessTableFunction):
        def eval(
            self, ctx: ProcessTableFunction.Context, rows: Annotated[Row, SET]
        ) -> Iterator[str]:
            time = ctx.time_context(kind)
            assert isinstance(time.time(), kind)
            time.register_on_time("a", time.time())
            time.register_on_time(time.time())
            if rows.n == 1:
                time.clear_timer(time.time())
            if rows.n == 3:
                time.clear_all_timers()

        def on_timer(self, ctx: ProcessTableFunction.OnTimerContext) -> Iterator[str]:
            watermark = ctx.time_context(kind).current_watermark()
            assert watermark is None or watermark >= ctx.time_context(kind).time()
            assert ctx.time_context(kind).table_watermark() == watermark
            yield ctx.current_timer() or "none"

    env.execute_sql(TIMED)
    env.create_temporary_function("times", udptf(Times()))
    query = "SELECT n, EXPR$0 FROM times(TABLE timed PARTITION BY n, on_time => DESCRIPTOR(ts))"
    found = rows(env, query)
    assert sorted(found) == [(1, "a"), (2, "a"), (2, "none"), (4, "a"), (4, "none")]


class Ordered(ProcessTableFunction):
    def eval(
        self, seen: Annotated[Seen, StateHint], rows: Annotated[Row, SET]
    ) -> Iterator[tuple[int, int]]:
        seen.count += 1
        yield rows.n, seen.count


def test_rows_in_order(env: TableEnvironment) -> None:
    env.execute_sql(TIMED.replace("timed (", "mixed (").replace(":source", ":mixed"))
    env.create_temporary_function("ordered", udptf(Ordered()))
    query = "SELECT f0 FROM ordered(TABLE mixed PARTITION BY name ORDER BY (ts, n DESC))"
    assert rows(env, query) == [(1,), (3,), (2,), (4,)]
    table = env.from_path("mixed").partition_by("name").order_by(col("ts"), col("n").desc)
    with table.process("ordered").execute().collect() as found:
        assert [row[1] for row in found] == [1, 3, 2, 4]


# -- several tables ------------------------------------------------------------------------------


class Matched(ProcessTableFunction):
    """Pairs of rows of two tables."""

    def eval(
        self,
        left: Annotated[ListView[int], StateHint],
        right: Annotated[ListView[int], StateHint],
        ones: Annotated[Row | None, SET],
        twos: Annotated[Row | None, SET],
    ) -> Iterator[tuple[int, int]]:
        if ones is not None:
            left.add(ones.n)
            yield from ((ones.n, n) for n in right)
        if twos is not None:
            right.add(twos.n)
            yield from ((n, twos.n) for n in left)


def test_two_tables(env: TableEnvironment) -> None:
    found = rows(
        env,
        "SELECT * FROM matched(ones => TABLE names PARTITION BY name, "
        "twos => TABLE (SELECT UPPER(name) AS big, n, name AS who FROM names) PARTITION BY who)",
    )
    assert sorted(found) == [
        ("Alice", "Alice", 2, 2),
        *(("Bob", "Bob", one, two) for one in (1, 3) for two in (1, 3)),
    ]
    with pytest.raises(JobDefinitionError, match="must be partitioned by the same"):
        rows(
            env, "SELECT * FROM matched(TABLE names PARTITION BY name, TABLE names PARTITION BY n)"
        )


# -- changes -------------------------------------------------------------------------------------


class Totals(ProcessTableFunction):
    """What became of each row, as text."""

    def eval(
        self, rows: Annotated[Row, SET, ArgumentTrait.SUPPORT_UPDATES]
    ) -> Iterator[tuple[str, int]]:
        yield str(rows.get_row_kind()), rows.total


class Latest(ProcessTableFunction):
    """The last number of each name, as an upsert."""

    def eval(self, rows: Annotated[Row, SET]) -> Iterator[Row]:
        yield Row.of_kind(RowKind.UPDATE_AFTER, rows.n)

    def get_changelog_mode(self) -> ChangelogMode:
        return ChangelogMode.upsert()


class Retracting(ProcessTableFunction):
    def eval(self, last: Annotated[Seen, StateHint], rows: Annotated[Row, SET]) -> Iterator[Row]:
        if last.count:
            yield Row.of_kind(RowKind.UPDATE_BEFORE, last.count)
        yield Row.of_kind(RowKind.UPDATE_AFTER if last.count else RowKind.INSERT, rows.n)
        last.count = rows.n

    def get_changelog_mode(self) -> ChangelogMode:
        return ChangelogMode.all()


@pytest.fixture
def latest_env(env: TableEnvironment) -> TableEnvironment:
    env.create_temporary_function("latest", udptf(Latest(), result_types="INT"))
    env.create_temporary_function("retracting", udptf(Retracting(), result_types="INT"))
    return env


@pytest.mark.parametrize("function", ["latest", "retracting"])
def test_functions_that_update(latest_env: TableEnvironment, function: str) -> None:
    left: list[tuple[Any, ...]] = []
    call = f"{function}(TABLE names PARTITION BY name)"
    for kind, *row in changes(latest_env, f"SELECT * FROM {call}"):
        left.remove(tuple(row)) if kind in ("-U", "-D") else left.append(tuple(row))
    assert sorted(left) == [("Alice", 2), ("Bob", 3)]
    total = changes(latest_env, f"SELECT SUM(EXPR$0) FROM {call}")
    assert total[-1][1:] == (5,)


def test_functions_that_take_updates(env: TableEnvironment) -> None:
    """By key where the partition is the key of the rows; with the former row where it is not."""
    query = "(SELECT name, MAX(k) AS k, CAST(SUM(n) AS INT) AS total FROM names GROUP BY name)"
    by_key = rows(env, f"SELECT * FROM totals(TABLE {query} PARTITION BY name)")
    assert [row for row in by_key if row[1] == "-U"] == []
    assert by_key[-1][2] in (2, 4)
    by_other = rows(env, f"SELECT * FROM totals(TABLE {query} PARTITION BY k)")
    assert sum(row[2] if "I" in row[1] or "+U" in row[1] else -row[2] for row in by_other) == 6
    assert {row[1] for row in by_other} <= {"+I", "-U", "+U"}
    with pytest.raises(JobDefinitionError, match=r"greeting doesn't support consuming update"):
        rows(env, f"SELECT * FROM greeting(TABLE {query} PARTITION BY name)")


# -- in one operator -----------------------------------------------------------------------------

INPUT = DataTypes.of("ROW<name STRING, n INT>")


def operator(function: Any, output: str, ttl: int = 0) -> Subtask:
    """One over a table of names and numbers."""
    assert isinstance(INPUT, RowType)
    row_type = DataTypes.of(output)
    assert isinstance(row_type, RowType)
    signature = udptf(function).definition("f").process
    spec = ProcessTableSpec(
        "f",
        signature,
        (ProcessedTable(0, "rows", INPUT, (0,)),),
        (None,) * len(signature.arguments),
        row_type,
        ttl,
        SessionSettings(),
    )
    return Subtask(lambda: ProcessTableOperator(spec))


class Lasting(ProcessTableFunction):
    def eval(
        self,
        short: Annotated[Seen, StateHint(ttl="10 ms")],
        session: Annotated[Seen, StateHint],
        ever: Annotated[Seen, StateHint(ttl="0")],
        rows: Annotated[Row, SET],
    ) -> Iterator[tuple[int, int, int]]:
        for seen in (short, session, ever):
            seen.count += 1
        yield short.count, session.count, ever.count


def test_state_lives_as_long_as_it_is_told(t_env: TableEnvironment) -> None:
    output = "ROW<name STRING, a BIGINT, b BIGINT, c BIGINT>"
    subtask = operator(Lasting(), output, ttl=50)
    for now in (0, 5, 20, 80):
        subtask.now = now
        subtask.epoch([columns(INPUT, [("+I", ("a", 1))])])
    assert [row[1:] for _, row in subtask.changes] == [(1, 1, 1), (2, 2, 2), (1, 3, 3), (1, 1, 4)]


def test_an_aborted_epoch_leaves_nothing() -> None:
    """Nor does the object in state that it changed in place."""
    subtask = operator(Greeting(), "ROW<name STRING, text STRING>").restored()
    batch = columns(INPUT, [("+I", ("a", 1))])
    subtask.epoch([batch])
    subtask.epoch([batch], abort=True)
    subtask.epoch([batch])
    assert [row[1] for _, row in subtask.changes] == [
        "Hello a, your 1 time?",
        "Hello a, your 2 time?",
    ]


# -- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("greeting(TABLE names)", "needs PARTITION BY"),
        ("greeting()", "the argument 'names' is missing: greeting.names => TABLE AS SET, word"),
        ("greeting(TABLE names PARTITION BY name, least => 1)", "has no argument 'least'"),
        ("greeting(TABLE names PARTITION BY name, name => 1)", "Did you mean 'names'|'names'"),
        ("greeting(TABLE names PARTITION BY name, names => TABLE names)", "given twice"),
        ("greeting(1)", "must be a table"),
        ("greeting(TABLE names PARTITION BY name, TABLE names)", "must be a value"),
        ("greeting(TABLE names PARTITION BY name, ARRAY[1])", "'word' must be STRING"),
        ("greeting(TABLE names PARTITION BY name, 'a', DEFAULT, 'u', 1)", "too many"),
        ("greeting(TABLE names PARTITION BY name, uid => 1)", "uid must be a constant text"),
        ("greeting(TABLE names PARTITION BY UPPER(name))", "takes columns"),
        ("greeting(TABLE names PARTITION BY name ORDER BY n)", "must begin with a time attribute"),
        ("above(TABLE names PARTITION BY name)", "row semantics"),
        ("follow(TABLE names PARTITION BY name)", "needs on_time"),
        ("follow(TABLE names PARTITION BY name, on_time => DESCRIPTOR(s))", "no column 's'"),
        ("follow(TABLE names PARTITION BY name, on_time => DESCRIPTOR(n))", "'n' is INT"),
        ("counted(TABLE (SELECT n FROM names) PARTITION BY n)", "must be a table of ROW"),
        ("greeting(TABLE names PARTITION BY name, name || 'a')", "must be one value for all"),
    ],
)
def test_calls_that_are_refused(env: TableEnvironment, call: str, message: str) -> None:
    with pytest.raises(JobDefinitionError, match=message):
        env.sql_query(f"SELECT * FROM {call}")


def test_a_time_without_a_watermark_is_refused(env: TableEnvironment) -> None:
    table = "(SELECT name, TIMESTAMP '2025-01-01 00:00:00' AS ts FROM names)"
    query = f"SELECT * FROM follow(TABLE {table} PARTITION BY name, on_time => DESCRIPTOR(ts))"
    with pytest.raises(JobDefinitionError, match="declare a WATERMARK"):
        rows(env, query)


def test_uids_are_of_one_call(env: TableEnvironment) -> None:
    call = "SELECT * FROM greeting(TABLE names PARTITION BY name{})"
    twice = call.format(", 'a'") + " UNION ALL " + call.format(", 'b'")
    with pytest.raises(JobDefinitionError, match=r"uid 'greeting'.*uid => 'another'"):
        rows(env, twice)
    apart = call.format(", 'a', uid => 'x'") + " UNION ALL " + call.format(", 'b', uid => 'y'")
    assert len(rows(env, apart)) == 6
    shared = call.format("") + " UNION ALL " + call.format("")
    assert "Reused" in env.explain_sql(shared) or len(rows(env, shared)) == 6


def _unknown(rows: Annotated[Row, SET], other) -> Iterator[int]:  # type: ignore[no-untyped-def]
    yield 1


def _late_state(rows: Annotated[Row, SET], seen: Annotated[Seen, StateHint]) -> Iterator[int]:
    yield 1


def _rows_with_state(seen: Annotated[Seen, StateHint], rows: Annotated[Row, ROW]) -> Iterator[int]:
    yield 1


def _no_row(rows: Annotated[int, SET]) -> Iterator[int]:
    yield 1


def _bare_row(seen: Annotated[Row, StateHint], rows: Annotated[Row, SET]) -> Iterator[int]:
    yield 1


def _number(seen: Annotated[int, StateHint], rows: Annotated[Row, SET]) -> Iterator[int]:
    yield 1


@dataclass
class Needy:
    count: int


def _needy(seen: Annotated[Needy, StateHint], rows: Annotated[Row, SET]) -> Iterator[int]:
    yield 1


def _ageless(seen: Annotated[Seen, StateHint(ttl="3 moons")], rows: Annotated[Row, SET]) -> int:
    return 1


def _mixed(one: Annotated[Row, SET], two: Annotated[Row, ROW]) -> Iterator[int]:
    yield 1


def _untold(rows: Annotated[Row, SET]):  # type: ignore[no-untyped-def]
    yield 1


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (_unknown, "parameter 'other' of _unknown, of udptf.*has no type"),
        (_late_state, "state parameters come before the arguments"),
        (_rows_with_state, "its tables must be ArgumentTrait.SET_SEMANTIC_TABLE"),
        (_no_row, "rows of a table must be a Row or a data class"),
        (_bare_row, "must declare its fields"),
        (_number, "state must be a data class"),
        (_needy, "give its fields defaults"),
        (_ageless, "ttl of a StateHint: '3 moons' is not a duration"),
        (_mixed, "all of them must be ArgumentTrait.SET_SEMANTIC_TABLE"),
        (_untold, "needs the result_types of _untold"),
        (3, "takes a function or an object with a method eval"),
        (Greeting, "takes an object, not its class"),
    ],
)
def test_functions_that_are_refused(function: Any, message: str) -> None:
    with pytest.raises(JobDefinitionError, match=message):
        udptf(function)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ((1, 2), "a row of the length 2"),
        ("x", r"gave 'x', of the type str, in the column EXPR.0"),
        (Row.of_kind(RowKind.DELETE, 1), r"kind -D.*get_changelog_mode"),
    ],
)
def test_rows_that_are_refused(env: TableEnvironment, value: Any, message: str) -> None:
    def wrong(rows: Annotated[Row, ROW]) -> Iterator[int]:
        yield value

    env.create_temporary_function("wrong", udptf(wrong))
    with pytest.raises(JobExecutionError, match=message):
        rows(env, "SELECT * FROM wrong(TABLE names)")


def test_an_argument_hint_names_and_types(env: TableEnvironment) -> None:
    def hinted(
        rows: Annotated[Row, ArgumentHint(ROW, name="input", type="ROW<a STRING, b INT, c INT>")],
        least: Annotated[Any, ArgumentHint(type="INT", is_optional=True)],
    ) -> Iterator[str]:
        yield f"{rows[0]} {least}"

    env.create_temporary_function("hinted", udptf(hinted))
    assert rows(env, "SELECT * FROM hinted(input => TABLE names)")[0] == ("Bob None",)
