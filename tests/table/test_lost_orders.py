"""The law of what the planner says about lost rows: if a query is written at once, then each key
that one order of arrival writes is written in any other order, too. So a lost epoch leaves nothing,
whichever order the rows have when they are read again."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.table import written_by_key
from tests.table.written_by_key import CHANGES, ROWS, TOUCHED, UPSERTED, WRITTEN

from millrace.common import Types
from millrace.common.types.row import RowKind
from millrace.datastream import StreamExecutionEnvironment
from millrace.table import EnvironmentSettings, StreamTableEnvironment, TableEnvironment
from millrace.testing import ManualClock, run_local

COLUMNS = "id INT NOT NULL, k STRING, s STRING, n INT, d DOUBLE, ts TIMESTAMP(3)"
TABLES = {
    "t": (f"{COLUMNS}, WATERMARK FOR ts AS ts - INTERVAL '1' HOUR", "INSERT"),
    "p": (
        f"{COLUMNS}, WATERMARK FOR ts AS ts - INTERVAL '1' HOUR, PRIMARY KEY (id) NOT ENFORCED",
        "INSERT",
    ),
    "u": (COLUMNS, "INSERT UPDATE_BEFORE UPDATE_AFTER DELETE"),
    "m": (f"{COLUMNS}, PRIMARY KEY (id) NOT ENFORCED", "INSERT UPDATE_BEFORE UPDATE_AFTER"),
}
"""Columns of each table, and kinds of its changes. No row comes behind the watermark."""
AGGREGATES = (
    *("COUNT(*)", "SUM(n)", "MIN(n)", "MAX(s)", "COUNT(DISTINCT s)", "AVG(n)", "SUM(d)", "AVG(d)"),
    *("LISTAGG(s)", "FIRST_VALUE(s)", "LAST_VALUE(s)", "JSON_ARRAYAGG(n)", "STDDEV_POP(d)"),
    *("COUNT(*) FILTER (WHERE n > 2)", "MAX(CAST(RAND() * 1000000 AS INT))"),
)
WINDOWS = "TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '5' MINUTE))"
GROUPED = f"FROM {WINDOWS} GROUP BY k, window_start, window_end"
MATCHED = "MEASURES F.s AS s, G.n AS n PATTERN (F G) DEFINE G AS G.n >= F.n)"
DEPENDENT = {
    "texts": f"SELECT LISTAGG(s) AS a, k AS b {GROUPED}",
    "first": f"SELECT FIRST_VALUE(s) || k AS a, k AS b {GROUPED}",
    "last": f"SELECT LAST_VALUE(s) || k AS a, k AS b {GROUPED}",
    "sum of doubles": "SELECT CAST(SUM(d) AS STRING) AS a, CAST(window_start AS STRING) AS b "
    f"FROM {WINDOWS} GROUP BY window_start, window_end",
    "matches of equal times": "SELECT s || CAST(n AS STRING) AS a, k AS b FROM t MATCH_RECOGNIZE "
    f"(PARTITION BY k ORDER BY ts {MATCHED}",
    "join of keys that are updated": "SELECT m.k || CAST(m.id AS STRING) || '-' || "
    "CAST(t.id AS STRING) AS a, t.k AS b FROM m JOIN t ON m.k = t.k",
    "join behind a filter": "SELECT CAST(m.id AS STRING) || t.s AS a, t.k AS b FROM "
    "(SELECT * FROM m WHERE n > 1) m JOIN t ON m.id = t.n",
    "time": "SELECT CAST(UNIX_TIMESTAMP() AS STRING) AS a, k AS b FROM t",
}
"""Queries whose key in the column a depends on more than the rows."""
WRITES_AT_ONCE = False
"""True shows that the law can fail."""
Change = tuple[RowKind, tuple[Any, ...]]


def changes_of(chance: random.Random, kinds: str) -> list[Change]:
    """Changes of a few rows, in the order of each id."""
    held: dict[int, tuple[Any, ...]] = {}
    made: list[Change] = []

    def row(number: int) -> tuple[Any, ...]:
        at = datetime(2026, 1, 1) + timedelta(minutes=chance.randrange(12))
        double = chance.choice([1e16, 1.0, -1e16, 0.1])
        return number, chance.choice("abc"), chance.choice("xyz"), chance.randrange(5), double, at

    for number in range(14):
        if "DELETE" in kinds and held and chance.random() < 0.3:
            made.append((RowKind.DELETE, held.pop(chance.choice(sorted(held)))))
        elif "UPDATE_AFTER" in kinds and held and chance.random() < 0.4:
            chosen = chance.choice(sorted(held))
            made.append((RowKind.UPDATE_BEFORE, held[chosen]))
            held[chosen] = row(chosen)
            made.append((RowKind.UPDATE_AFTER, held[chosen]))
        else:
            held[number] = row(number)
            made.append((RowKind.INSERT, held[number]))
    return made


def shuffled(chance: random.Random, changes: list[Change]) -> list[Change]:
    """Changes in another order, that of each id as it was, an update in one piece."""
    pieces: dict[int, list[list[Change]]] = {}
    for change in changes:
        of_id = pieces.setdefault(change[1][0], [])
        if change[0] is RowKind.UPDATE_AFTER:
            of_id[-1].append(change)
        else:
            of_id.append([change])
    order = [number for number, of_id in pieces.items() for _ in of_id]
    chance.shuffle(order)
    return [change for number in order for change in pieces[number].pop(0)]


class Queries:
    """Draws queries with the columns a STRING, b STRING and n INT."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def drawn(self, depth: int) -> str:
        chance = self._chance
        leaves = [self._table, self._table, self._windows, self._matches]
        nodes = [
            *(self._filtered, self._projected, self._grouped, self._grouped, self._top),
            *(self._joined, self._joined, self._in, self._set),
        ]
        return chance.choice(leaves if depth == 0 else [*leaves[1:], *nodes])(depth)

    def _below(self, depth: int) -> str:
        return f"({self.drawn(max(0, depth - 1))})"

    def _table(self, depth: int) -> str:
        first = self._chance.choice(["k", "CAST(id AS STRING)"])
        return f"SELECT {first} AS a, s AS b, n FROM {self._chance.choice(list(TABLES))}"

    def _windows(self, depth: int) -> str:
        call = self._chance.choice(AGGREGATES)
        group = self._chance.choice(["k", "s", "CAST(window_start AS STRING)"])
        also = "" if group.startswith("CAST") else f", {group}"
        return (
            f"SELECT {group} AS a, CAST({call} AS STRING) AS b, CAST(COUNT(*) AS INT) AS n FROM "
            "TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '5' MINUTE)) "
            f"GROUP BY window_start, window_end{also}"
        )

    def _matches(self, depth: int) -> str:
        order = self._chance.choice(["ts", "ts, id", "ts, n"])
        name = self._chance.choice("tp")
        return (
            f"SELECT k AS a, x AS b, y AS n FROM {name} MATCH_RECOGNIZE (PARTITION BY k ORDER BY "
            f"{order} MEASURES F.s AS x, G.n AS y PATTERN (F G) DEFINE G AS G.n >= F.n)"
        )

    def _filtered(self, depth: int) -> str:
        rule = self._chance.choice(["n > 1", "a <> 'a'", "b = 'x'", "RAND() < 0.5", "n < 3"])
        return f"SELECT * FROM {self._below(depth)} WHERE {rule}"

    def _projected(self, depth: int) -> str:
        columns = self._chance.choice(
            [
                *(
                    "b AS a, a AS b, n",
                    "a || b AS a, b, n + 1 AS n",
                    "CAST(n AS STRING) AS a, b, n",
                ),
                *("a, b, CAST(RAND() * 1000000 AS INT) AS n", "a, UUID() AS b, n"),
            ]
        )
        return f"SELECT {columns} FROM {self._below(depth)}"

    def _grouped(self, depth: int) -> str:
        group = self._chance.choice(["a", "b", "CAST(n AS STRING)"])
        call = self._chance.choice(["COUNT(*)", "SUM(n)", "MAX(b)", "MIN(n)"])
        having = self._chance.choice(["", "", " HAVING COUNT(*) < 3"])
        return (
            f"SELECT {group} AS a, CAST({call} AS STRING) AS b, CAST(COUNT(*) AS INT) AS n FROM "
            f"{self._below(depth)} GROUP BY {group}{having}"
        )

    def _top(self, depth: int) -> str:
        most = self._chance.choice([1, 2])
        return (
            "SELECT a, b, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY a ORDER BY n) AS r "
            f"FROM {self._below(depth)}) WHERE r <= {most}"
        )

    def _joined(self, depth: int) -> str:
        kind = self._chance.choice(["JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN"])
        on = self._chance.choice(["a", "b", "n"])
        columns = self._chance.choice(["l.a, r.b, l.n", "r.a, l.b, l.n", "l.a, l.b, r.n"])
        left, right = self._below(depth), self._below(depth - 1)
        return f"SELECT {columns} FROM {left} l {kind} {right} r ON l.{on} = r.{on}"

    def _in(self, depth: int) -> str:
        word = self._chance.choice(["EXISTS", "EXISTS", "NOT EXISTS"])
        left, right = self._below(depth), self._below(depth - 1)
        return f"SELECT * FROM {left} l WHERE {word} (SELECT 1 FROM {right} r WHERE r.a = l.a)"

    def _set(self, depth: int) -> str:
        word = self._chance.choice(["UNION ALL", "UNION", "INTERSECT", "EXCEPT"])
        return f"{self._below(depth)} {word} {self._below(depth - 1)}"


@pytest.fixture(autouse=True)
def _connectors() -> Iterator[None]:
    written_by_key.register()
    yield
    CHANGES.clear()


def environment(parallelism: int) -> TableEnvironment:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", str(parallelism))
    for name, (columns, kinds) in TABLES.items():
        options = f"'connector' = 'changing', 'kinds' = '{kinds}'"
        t_env.execute_sql(f"CREATE TABLE {name} ({columns}) WITH ({options})")
    t_env.execute_sql(WRITTEN)
    return t_env


def is_logged(insert: str) -> bool:
    with run_local():
        return "writeAhead=[true]" in environment(1).explain_sql(insert)


def run(chance: random.Random, insert: str) -> None:
    """Write a table, from rows in some order that come in some number of epochs."""
    for keys in (ROWS, UPSERTED, TOUCHED):
        keys.clear()
    records = chance.choice([1, 2, 5, None])
    clock = ManualClock(chance.randrange(10**12))
    with run_local(2, chance.randrange(10), clock=clock, epoch_records=records, epoch_limit=600):
        environment(chance.choice([1, 2])).execute_sql(insert).wait()


def assert_any_order_writes_the_same_keys(
    seed: int, repeats: int = 2, select: str | None = None, key: str = "a"
) -> bool:
    """Returns whether the query is written at once."""
    chance = random.Random(seed)
    if select is None:
        select = Queries(chance).drawn(chance.choice([1, 2, 2, 3]))
        key = chance.choice(["a", "b", "CAST(n AS STRING)", "a || '|' || b"])
    columns = f"COALESCE({key}, '-') AS r, COALESCE(b, '') AS x"
    insert = f"INSERT INTO written SELECT {columns} FROM ({select})"
    changes = {name: changes_of(chance, kinds) for name, (_, kinds) in TABLES.items()}
    CHANGES.update(changes)
    if not WRITES_AT_ONCE and is_logged(insert):
        return False
    run(chance, insert)
    lost = set(UPSERTED)
    for _ in range(repeats):
        CHANGES.update({name: shuffled(chance, each) for name, each in changes.items()})
        run(chance, insert)
        assert lost <= TOUCHED, insert
    return True


@pytest.mark.turns(5)
@pytest.mark.parametrize("seed", range(24))
def test_any_order_writes_the_same_keys(seed: int) -> None:
    assert_any_order_writes_the_same_keys(seed)


@pytest.mark.parametrize("name", DEPENDENT)
def test_any_order_of_rows_that_keys_depend_on_writes_the_same_keys(name: str) -> None:
    for seed in range(3):
        assert_any_order_writes_the_same_keys(seed, select=DEPENDENT[name])


@pytest.mark.torture
def test_any_order_of_many_queries_writes_the_same_keys() -> None:
    at_once = sum(assert_any_order_writes_the_same_keys(seed) for seed in range(24, 2_000))
    assert at_once > 100


@pytest.mark.parametrize("made", [False, True])
def test_rows_that_functions_of_the_program_make_are_logged(made: bool) -> None:
    """They may depend on the order of the records, or on chance. Those of a source do not."""
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        t_env = StreamTableEnvironment.create(env)
        t_env.execute_sql(WRITTEN)
        kind = Types.ROW_NAMED(["r", "x"], [Types.STRING(), Types.STRING()])
        stream = env.from_collection([("a", "b")], kind).union(
            env.from_collection([("c", "d")], kind)
        )
        if made:
            stream = stream.map(lambda row: row, output_type=kind)
        t_env.create_temporary_view("records", stream)
        shown = t_env.explain_sql("INSERT INTO written SELECT r, x FROM records")
    assert ("writeAhead=[true]" in shown) == made
