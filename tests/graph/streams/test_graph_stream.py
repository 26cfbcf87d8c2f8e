"""Results of graph streams at every checkpoint are those of NetworkX for the same edges."""

from __future__ import annotations

import random
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from edge_histories import EXPECTED, History, distances, folded, ranks, without_zero
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.common.errors import JobDefinitionError, JobExecutionError
from millrace.common.types.row import Row
from millrace.common.types.typeinfo import Types
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.window import TumblingEventTimeWindows
from millrace.engine.resident.tasks import ResidentSettings
from millrace.graph.streams import EdgeDirection, GraphStream, added, removed
from millrace.graph.streams.triangles_operator import _cell_keys
from millrace.state.column_key_groups import owners_of_columns
from millrace.table import StreamTableEnvironment
from millrace.testing import CollectingSink, Faults, MiniJob, run_local
from millrace.testing.resident_tasks import local_resident_executor

STORED_KEYS = [226, 251, 98, 58]
"""Keys of the cells of two colours in savepoints."""
TEXTS = [f"v{number}" for number in range(12)]


def ids(dice: random.Random) -> tuple[list[Any], Any]:
    """Vertices and their type."""
    if dice.random() < 0.3:
        return TEXTS, Types.STRING()
    return list(range(dice.choice([4, 10, 40]))), Types.LONG()


def process(job: MiniJob, read: CollectingSink[Any], count: int) -> None:
    """Run epochs until they have read so many records: on a slow machine that takes several."""
    taken = 0
    while taken < count:
        job.process()
        taken += len(read.take())


@pytest.mark.turns(7)
@pytest.mark.parametrize("method", EXPECTED)
@pytest.mark.parametrize("seed", range(4))
def test_results_at_every_checkpoint(method: str, seed: int) -> None:
    dice = random.Random(f"{method} {seed}")
    vertices, kind = ids(dice)
    history = History(dice, vertices)
    rows: list[Any] = []
    with MiniJob(dice.choice([1, 2, 3]), workers=2, seed=seed) as job:
        source = job.source()
        read = job.collect(source.stream)
        results = job.collect(getattr(GraphStream(source.stream, kind), method)())
        for _ in range(12):
            changes = history.changes(dice.choice([1, 5, 40]))
            source.push(*changes)
            process(job, read, len(changes))
            rows += results.take()
            assert without_zero(folded(rows)) == EXPECTED[method](history.graph())


@pytest.mark.turns(7)
@pytest.mark.parametrize("parallelism", [1, 2, 4])
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**32), colours=st.integers(1, 6))
def test_triangles_of_any_number_of_colours(parallelism: int, seed: int, colours: int) -> None:
    dice = random.Random(seed)
    history = History(dice, list(range(dice.choice([5, 12]))))
    rows: list[Any] = []
    with MiniJob(parallelism, workers=2, seed=seed) as job:
        source = job.source()
        read = job.collect(source.stream)
        results = job.collect(GraphStream(source.stream).triangles(colours))
        for _ in range(4):
            changes = history.changes(dice.choice([5, 40]))
            source.push(*changes)
            process(job, read, len(changes))
            rows += results.take()
            assert folded(rows) == EXPECTED["triangles"](history.graph())


@pytest.mark.parametrize("max_parallelism", [1, 3, 128, 1000])
@pytest.mark.parametrize("colours", [1, 2, 5, 16])
def test_cells_have_keys_of_their_own(colours: int, max_parallelism: int) -> None:
    keys = _cell_keys(colours, max_parallelism)
    assert len(set(keys.tolist())) == len(keys) == colours * (colours + 1) * (colours + 2) // 6
    groups = owners_of_columns(pa.array(keys), max_parallelism, max_parallelism)
    assert groups.tolist() == sorted(groups.tolist())
    if max_parallelism >= len(keys):
        assert len(set(groups.tolist())) == len(keys)
    if (colours, max_parallelism) == (2, 128):
        assert keys.tolist() == STORED_KEYS


@pytest.mark.parametrize("colours", [0, 17, 2.5])
def test_numbers_of_colours_are_checked(colours: Any) -> None:
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        with pytest.raises(JobDefinitionError, match="from 1 to 16 colours, got"):
            GraphStream(env.from_collection([(1, 2)])).triangle_count(colours)


@pytest.mark.turns(7)
@pytest.mark.parametrize("method", ["degrees", "components", "bipartite_sides", "triangles"])
@pytest.mark.parametrize("before", [1, 2, 3])
def test_a_job_goes_on_at_another_parallelism(method: str, before: int, tmp_path: Path) -> None:
    dice = random.Random(f"{method} {before}")
    history = History(dice, list(range(15)))
    pushed: list[Any] = []
    rows: list[Any] = []
    for parallelism in (before, before % 3 + 1, before):
        with MiniJob(
            parallelism,
            seed=before,
            checkpoint_dir=str(tmp_path),
            resume=bool(pushed),
        ) as job:
            source = job.source()
            read = job.collect(source.stream)
            results = job.collect(getattr(GraphStream(source.stream), method)())
            source.push(*pushed)
            for _ in range(4):
                more = history.changes(20)
                pushed += more
                source.push(*more)
                process(job, read, len(more))
                rows += results.take()
                assert folded(rows) == EXPECTED[method](history.graph())


@pytest.mark.turns(7)
@pytest.mark.parametrize("method", ["degrees", "components", "is_bipartite", "triangles"])
def test_lost_workers_and_epochs_change_nothing(method: str) -> None:
    dice = random.Random(method)
    history = History(dice, list(range(20)))
    changes = history.changes(300)
    with run_local(3, 11, faults=Faults(0.2, 0.3, 0.2), epoch_records=15):
        env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(3)
        edges = env.from_collection(changes).set_parallelism(1)
        rows = list(getattr(GraphStream(edges), method)().execute_and_collect())
    assert folded(rows) == EXPECTED[method](history.graph())


@pytest.mark.turns(7)
@pytest.mark.parametrize("parallelism", [1, 2, 3])
def test_results_on_resident_tasks(parallelism: int) -> None:
    dice = random.Random(parallelism)
    history = History(dice, list(range(30)))
    changes = history.changes(400)
    settings = ResidentSettings(barrier_interval=5)
    for method, expected in EXPECTED.items():
        with run_local(executor=lambda: local_resident_executor(2, settings), epoch_records=40):
            env = StreamExecutionEnvironment.get_execution_environment()
            env.set_parallelism(parallelism)
            edges = env.from_collection(changes).set_parallelism(1)
            rows = list(getattr(GraphStream(edges), method)().execute_and_collect())
        assert folded(rows) == expected(history.graph()), method


@pytest.mark.parametrize("seed", range(6))
def test_shortest_paths_at_every_checkpoint(seed: int) -> None:
    dice = random.Random(seed)
    vertices = list(range(dice.choice([5, 12, 30])))
    history = History(dice, vertices, weights=True)
    rows: list[Any] = []
    with MiniJob(workers=2, seed=seed) as job:
        source = job.source()
        read = job.collect(source.stream)
        graph = GraphStream(source.stream, value_type=Types.DOUBLE())
        results = job.collect(graph.shortest_paths(0))
        for _ in range(15):
            changes = history.changes(dice.choice([1, 5, 40]))
            source.push(*changes)
            process(job, read, len(changes))
            rows += results.take()
            assert folded(rows) == distances(history.edges, 0)


@pytest.mark.parametrize("seed", range(6))
def test_ranks_at_every_checkpoint(seed: int) -> None:
    dice = random.Random(seed)
    history = History(dice, list(range(dice.choice([4, 10, 30]))))
    rows: list[Any] = []
    with MiniJob(workers=2, seed=seed) as job:
        source = job.source()
        read = job.collect(source.stream)
        results = job.collect(GraphStream(source.stream).page_rank(tolerance=1e-7))
        for _ in range(12):
            changes = history.changes(dice.choice([1, 5, 40]))
            source.push(*changes)
            process(job, read, len(changes))
            rows += results.take()
            found: dict[Any, float] = dict(folded(rows))  # type: ignore[arg-type]
            total = sum(found.values())
            shares = {vertex: rank / total for vertex, rank in found.items()}
            assert shares == pytest.approx(ranks(history.graph()), abs=1e-5)


def test_lengths_and_arguments_are_checked() -> None:
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        edges = env.from_collection([(1, 2, -1.0)])
        paths = GraphStream(edges, value_type=Types.DOUBLE()).shortest_paths(1)
        with pytest.raises(JobExecutionError, match="the length -1.0: lengths are 0 or more"):
            list(paths.execute_and_collect())
        named = GraphStream(env.from_collection([(1, 2, "a")]), value_type=Types.STRING())
        with pytest.raises(JobDefinitionError, match="lengths of edges must be numbers"):
            named.shortest_paths(1)
        with pytest.raises(JobDefinitionError, match="damping is between"):
            named.page_rank(damping=1)


def rows_of(graph: Any, method: str) -> set[tuple[Any, ...]]:
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        return folded(getattr(graph(env), method)().execute_and_collect())


def test_what_changes_mean() -> None:
    """Copies, unknown removals, loops and vertices without edges."""
    twice = [added(1, 2), added(1, 2), removed(1, 2), removed(2, 1), added(3, 3), removed(4, 5)]

    def graph(env: Any) -> GraphStream:
        return GraphStream(env.from_collection(twice))

    assert rows_of(graph, "degrees") == {(1, 1), (2, 1), (3, 2)}
    assert rows_of(graph, "components") == {(1, 1), (2, 1), (3, 3)}
    assert rows_of(graph, "is_bipartite") == {(False,)}
    assert rows_of(graph, "edge_count") == {(2,)}


def test_filters_maps_and_directions() -> None:
    edges = [(1, 2, 0.5), (2, 3, 2.0), (1, 2, 0.5), (3, 1, 4.0)]

    def graph(env: Any) -> GraphStream:
        return GraphStream(env.from_collection(edges), value_type=Types.DOUBLE())

    def heavy(env: Any) -> GraphStream:
        doubled = graph(env).map_edges(lambda source, target, value: 2 * value)
        return doubled.filter_edges(lambda source, target, value: value > 1)

    assert rows_of(heavy, "out_degrees") == {(1, 0), (2, 1), (3, 1)}
    assert rows_of(lambda env: graph(env).distinct(), "out_degrees") == {(1, 1), (2, 1), (3, 1)}
    small = rows_of(lambda env: graph(env).filter_vertices(lambda vertex: vertex < 3), "degrees")
    assert small == {(1, 2), (2, 2)}
    assert rows_of(lambda env: graph(env).reverse(), "out_degrees") == {(1, 1), (2, 2), (3, 1)}
    assert rows_of(lambda env: graph(env).undirected(), "edge_count") == {(8,)}
    assert rows_of(lambda env: graph(env).union(graph(env)), "edge_count") == {(8,)}


def test_sql_makes_a_graph_and_reads_its_results() -> None:
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        t_env = StreamTableEnvironment.create(env)
        pairs = t_env.from_elements([("b", "a"), ("c", "b"), ("x", "y")], ["payer", "payee"])
        components = GraphStream.from_table(t_env, pairs).components()
        t_env.create_temporary_view("members", t_env.from_changelog_stream(components))
        query = t_env.sql_query("SELECT component, COUNT(*) AS n FROM members GROUP BY component")
        rows = folded(t_env.to_changelog_stream(query).execute_and_collect())
    assert rows == {("a", 3), ("x", 2)}


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a AS source, b AS target, w AS weight FROM e",
        "SELECT a AS target, b AS source, w AS v FROM e",
        "SELECT a, b, w AS source FROM e",
    ],
)
def test_columns_of_a_table_count_in_their_order(query: str) -> None:
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        t_env = StreamTableEnvironment.create(env)
        rows = t_env.from_elements([(1, 2, 5.0), (2, 3, 7.0)], ["a", "b", "w"])
        t_env.create_temporary_view("e", rows)
        paths = GraphStream.from_table(t_env, t_env.sql_query(query)).shortest_paths(1)
        assert folded(paths.execute_and_collect()) == {(1, 0.0), (2, 5.0), (3, 12.0)}


@pytest.mark.parametrize(
    "names", [["source", "target", "km"], ["km", "target", "source"], ["at", "target", "source"]]
)
@pytest.mark.parametrize("declared", [False, True])
def test_fields_that_are_called_source_and_target_count_by_name(
    names: list[str], declared: bool
) -> None:
    edge: dict[str, Any] = {"source": 1, "target": 2, "km": 5.0}
    if "at" in names:
        names, edge = [*names, "value"], {**edge, "at": "noon", "value": 5.0}
    record = Row(**{name: edge[name] for name in names})
    types = {int: Types.LONG(), float: Types.DOUBLE(), str: Types.STRING()}
    kind = Types.ROW_NAMED(names, [types[type(edge[name])] for name in names])
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        if declared:
            graph = GraphStream(env.from_collection([record], kind))
        else:
            edges = env.from_collection([record.as_dict()])
            graph = GraphStream(edges, value_type=Types.DOUBLE())
        assert folded(graph.shortest_paths(1).execute_and_collect()) == {(1, 0.0), (2, 5.0)}


def test_a_graph_that_cannot_be_is_refused() -> None:
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        edges = env.from_collection([(1, 2)])
        with pytest.raises(JobDefinitionError, match="DataStream of edges"):
            GraphStream([(1, 2)])  # type: ignore[arg-type]
        with pytest.raises(JobDefinitionError, match="numbered or named"):
            GraphStream(edges, Types.BOOLEAN())
        named = GraphStream(env.from_collection([("a", "b")]), Types.STRING())
        with pytest.raises(JobDefinitionError, match="same types"):
            GraphStream(edges).union(named)


@pytest.mark.parametrize("vertex", ["a", None, 1.5, True, 1 << 63, (1,)])
def test_paths_begin_at_a_vertex_of_the_type_of_the_graph(vertex: Any) -> None:
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        graph = GraphStream(env.from_collection([(1, 2)]))
        with pytest.raises(JobDefinitionError, match="vertices of this graph have the type Long"):
            graph.shortest_paths(vertex)
        named = GraphStream(env.from_collection([("1", "2")]), Types.STRING())
        with pytest.raises(JobDefinitionError, match="but 1 does not; give the id of a vertex"):
            named.shortest_paths(1)


@pytest.mark.parametrize(
    "kind",
    [
        Types.PICKLED_BYTE_ARRAY(),
        Types.TUPLE([Types.LONG(), Types.LONG()]),
        Types.MAP(Types.STRING(), Types.LONG()),
        Types.LIST(Types.PICKLED_BYTE_ARRAY()),
    ],
)
def test_values_that_columns_do_not_keep_are_refused(kind: Any) -> None:
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        declared = Types.TUPLE([Types.LONG(), Types.LONG(), kind])
        with pytest.raises(JobDefinitionError, match="or remove such values with map"):
            GraphStream(env.from_collection([], declared))
        with pytest.raises(JobDefinitionError, match="lists of these"):
            GraphStream(env.from_collection([(1, 2)])).map_edges(lambda *edge: edge, kind)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (2, Types.INT()),
        ("a", Types.STRING()),
        (True, Types.BOOLEAN()),
        (b"a", Types.PRIMITIVE_ARRAY(Types.BYTE())),
        (date(2026, 1, 2), Types.SQL_DATE()),
        (Decimal("1.5"), Types.BIG_DEC()),
        ([1, 2], Types.LIST(Types.LONG())),
    ],
)
def test_functions_of_edges_get_values_as_they_were_given(value: Any, kind: Any) -> None:
    def graph(env: Any) -> GraphStream:
        edges = GraphStream(env.from_collection([(1, 2, value), (2, 3, None)]), value_type=kind)
        return edges.filter_edges(lambda source, target, given: bool(given == value))

    assert rows_of(graph, "components") == {(1, 1), (2, 1)}


def test_values_of_another_type_than_the_given_one_fail_the_job() -> None:
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        graph = GraphStream(env.from_collection([(1, 2)])).map_edges(lambda *edge: "far")
        with pytest.raises(JobExecutionError, match="right value_type"):
            list(graph.components().execute_and_collect())


def test_a_removal_with_the_length_minus_zero_removes_an_edge_of_the_length_zero() -> None:
    changes = [added(1, 2, 0.0), added(1, 3, -0.0), removed(1, 2, -0.0)]
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        graph = GraphStream(env.from_collection(changes), value_type=Types.DOUBLE())
        assert folded(graph.shortest_paths(1).execute_and_collect()) == {(1, 0.0), (3, 0.0)}


@pytest.mark.parametrize(
    ("record", "message"),
    [((1,), "at least a source and a target"), ((1, None), "null"), (("a", "b"), "vertex_type")],
)
def test_a_record_that_is_no_edge_fails_the_job(record: Any, message: str) -> None:
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        graph = GraphStream(env.from_collection([record]))
        with pytest.raises(JobExecutionError, match=message):
            list(graph.degrees().execute_and_collect())


def test_neighbourhoods_per_window() -> None:
    with MiniJob(parallelism=2) as job:
        source = job.source()
        graph = GraphStream(source.stream, value_type=Types.LONG())
        minute = TumblingEventTimeWindows.of(60_000)
        spent = job.collect(graph.slice(minute).reduce_on_edges(lambda one, two: one + two))
        payers = job.collect(
            graph.slice(minute, EdgeDirection.IN).fold_neighbors(
                [], lambda known, vertex, neighbour, value: [*known, neighbour]
            )
        )
        degrees = job.collect(
            graph.slice(minute, EdgeDirection.ALL).apply_on_neighbors(
                lambda vertex, near: [(vertex, len(near))] if len(near) > 1 else None
            )
        )
        source.push((1, 2, 10), (1, 3, 5), removed(1, 2, 10), (2, 3, 1), timestamp=1_000)
        source.push((1, 2, 7), timestamp=61_000)
        source.push_watermark(59_999)
        process(job, spent, 2)
        assert sorted(payers.values()) == [(2, [1]), (3, [1, 2])]
        assert sorted(degrees.values()) == [(1, 2), (2, 2), (3, 2)]
