from __future__ import annotations

import threading

import pytest

from millrace.common.errors import JobDefinitionError, SerializationError
from millrace.common.sink import Sink
from millrace.datastream import DataStream, OutputTag, ProcessFunction, StreamExecutionEnvironment
from millrace.job_graph.job_graph import JobGraph
from millrace.job_graph.stages import build_job_graph
from millrace.runtime.program import Exchange

ODD = OutputTag("odd")


def new_env(parallelism: int = 2) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    return env.set_parallelism(parallelism)


def numbers(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([1, 2, 3]).set_parallelism(env.get_parallelism())


def graph(env: StreamExecutionEnvironment, **settings) -> JobGraph:
    return build_job_graph(env._sinks, "run", "job", **{"max_parallelism": 128, **settings})


def stages(env: StreamExecutionEnvironment) -> list[tuple[str, int, int]]:
    """(name, level, parallelism) of the stages."""
    return [(s.name, s.level, s.parallelism) for s in graph(env).program.stages]


def edges(env: StreamExecutionEnvironment) -> list[tuple[str, str, Exchange]]:
    program = graph(env).program
    names = {stage.id: stage.name for stage in program.stages}
    return [(names[e.source_stage], names[e.target_stage], e.exchange) for e in program.edges]


class Nowhere(Sink):
    def create_writer(self, context, state):
        raise NotImplementedError


class Split(ProcessFunction):
    def process_element(self, value, ctx):
        yield value
        yield ODD, value


def test_forward_connections_are_chained() -> None:
    env = new_env()
    numbers(env).map(str).filter(bool).name("keep").print()
    assert stages(env) == [("Collection -> Map -> keep -> Print", 0, 2)]
    assert edges(env) == []


def test_exchanges_cut() -> None:
    env = new_env()
    numbers(env).map(abs).key_by(lambda v: v).sum().rebalance().map(abs).print()
    assert stages(env) == [("Collection -> Map", 0, 2), ("Sum", 1, 2), ("Map -> Print", 2, 2)]
    assert [exchange for *_, exchange in edges(env)] == [Exchange.KEYED, Exchange.REBALANCE]


def test_another_parallelism_means_a_rebalance() -> None:
    env = new_env()
    numbers(env).map(abs).set_parallelism(3).print().set_parallelism(1)
    assert stages(env) == [("Collection", 0, 2), ("Map", 1, 3), ("Print", 2, 1)]
    assert {exchange for *_, exchange in edges(env)} == {Exchange.REBALANCE}


@pytest.mark.parametrize("method", ["rebalance", "shuffle", "broadcast"])
def test_each_partitioning(method: str) -> None:
    env = new_env()
    getattr(numbers(env), method)().print()
    assert edges(env) == [("Collection", "Print", Exchange[method.upper()])]


def test_an_explicit_forward_chains() -> None:
    env = new_env()
    numbers(env).forward().print()
    assert stages(env) == [("Collection -> Print", 0, 2)]


def test_forward_between_different_parallelisms_is_refused() -> None:
    env = new_env()
    numbers(env).forward().map(abs).set_parallelism(3).print()
    with pytest.raises(JobDefinitionError, match=r"'Collection' \(parallelism 2\).*rebalance\(\)"):
        graph(env)


def test_disable_chaining_cuts_before_and_behind() -> None:
    env = new_env()
    numbers(env).map(abs).disable_chaining().filter(bool).print()
    assert stages(env) == [("Collection", 0, 2), ("Map", 1, 2), ("Filter -> Print", 2, 2)]
    assert {exchange for *_, exchange in edges(env)} == {Exchange.FORWARD}


def test_a_union_starts_a_stage_with_an_edge_per_input() -> None:
    env = new_env()
    source = numbers(env)
    source.map(str).union(source.filter(bool), source).map(repr).print()
    assert [stage[:2] for stage in stages(env)] == [
        ("Collection -> Map -> Filter", 0), ("Map -> Print", 1),
    ]  # fmt: skip
    assert [exchange for *_, exchange in edges(env)] == [Exchange.FORWARD] * 3


def test_a_union_of_streams_of_different_parallelism() -> None:
    env = new_env()
    numbers(env).union(env.from_collection([4])).print()
    assert [exchange for *_, exchange in edges(env)] == [Exchange.FORWARD, Exchange.REBALANCE]


def test_levels_are_longest_paths() -> None:
    env = new_env()
    source = numbers(env)
    far = source.rebalance().map(str).rebalance().map(int)
    source.rebalance().union(far).map(abs).print()
    assert [(name, level) for name, level, _ in stages(env)] == [
        ("Collection", 0), ("Map", 1), ("Map", 2), ("Map -> Print", 3),
    ]  # fmt: skip


def test_side_outputs_can_be_chained_or_exchanged() -> None:
    env = new_env()
    split = numbers(env).process(Split())
    split.print()
    split.get_side_output(ODD).print()
    split.get_side_output(ODD).key_by(lambda v: v).sum().print()
    program = graph(env).program
    assert [stage.name for stage in program.stages] == [
        "Collection -> Process -> Print -> Print", "Sum -> Print",
    ]  # fmt: skip
    routes = program.stages[0].nodes[1].routes
    assert [(route.tag, route.node, route.edge) for route in routes] == [
        (None, 2, None), (ODD, 3, None), (ODD, None, 0),
    ]  # fmt: skip


def test_what_leads_to_no_sink_is_left_out() -> None:
    env = new_env()
    source = numbers(env)
    source.map(str).name("unused")
    source.print()
    assert stages(env) == [("Collection -> Print", 0, 2)]


def test_a_job_without_a_sink_says_so() -> None:
    env = new_env()
    numbers(env).map(str)
    with pytest.raises(JobDefinitionError, match="no sink.*print().*sink_to()"):
        graph(env)


def test_parallelism_above_the_maximum_is_refused() -> None:
    env = new_env(5)
    numbers(env).name("many").print()
    with pytest.raises(JobDefinitionError, match="'many -> Print'.*parallelism 5.*4"):
        graph(env, max_parallelism=4)


def test_too_many_key_groups_are_refused() -> None:
    """Whoever reads a manifest relies on the bound."""
    env = new_env()
    numbers(env).print()
    with pytest.raises(JobDefinitionError, match="is 32769; it can be 32768 at most"):
        graph(env, max_parallelism=32769)


def test_sources_and_sinks_are_known_to_the_engine() -> None:
    env = new_env()
    numbers(env).uid("numbers").sink_to(Nowhere()).uid("out").name("output")
    made = graph(env)
    assert [(s.uid, s.name, s.stage, s.parallelism) for s in made.sources] == [
        ("numbers", "Collection", 0, 2),
    ]  # fmt: skip
    assert [(s.uid, s.name) for s in made.sinks] == [("out", "output")]


def test_an_unpicklable_function_names_operator_and_object() -> None:
    env = new_env()
    lock = threading.Lock()
    numbers(env).map(lambda v: (lock, v)).name("guarded").print()
    with pytest.raises(SerializationError, match="operator 'guarded'.*captured.*lock.*open()"):
        graph(env)


def test_an_unpicklable_key_selector_too() -> None:
    env = new_env()
    lock = threading.Lock()
    numbers(env).name("nums").key_by(lambda v: (lock, v)).sum().print()
    with pytest.raises(SerializationError, match="key_by after nums.*lock"):
        graph(env)


def test_the_same_function_object_in_two_operators_is_two() -> None:
    class Stateful(ProcessFunction):
        def open(self, runtime_context):
            self.name = runtime_context.get_task_name()

        def process_element(self, value, ctx):
            yield self.name

    from millrace.testing import run_local

    shared = Stateful()
    with run_local():
        env = new_env(1)
        one = numbers(env).process(shared).name("one")
        two = numbers(env).process(shared).name("two")
        assert sorted(one.union(two).execute_and_collect()) == ["one"] * 3 + ["two"] * 3
