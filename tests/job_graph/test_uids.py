from __future__ import annotations

import pytest

from millrace.common.errors import JobDefinitionError
from millrace.datastream import StreamExecutionEnvironment
from millrace.job_graph.stages import build_job_graph
from millrace.job_graph.transformation import QueryUid, Role, Transformation
from millrace.job_graph.uids import assign_uids
from millrace.runtime.operator import Operator


def uids(build) -> list[str]:
    """The uids of all operators, inputs first."""
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env)
    return list(build_job_graph(env._sinks, "run", "job", max_parallelism=128).uid_of.values())


def chain(env, mapped="Map", **settings) -> None:
    env.from_collection([1]).map(str).name(mapped).print()


def test_they_follow_from_the_structure() -> None:
    assert uids(chain) == uids(chain)
    assert len(set(uids(chain))) == 3


def test_parallelism_and_functions_do_not_matter() -> None:
    def other(env) -> None:
        env.from_collection([2, 3]).map(repr).name("Map").set_parallelism(1).print()

    assert uids(other) == uids(chain)


def test_a_changed_operator_changes_its_own_and_those_behind() -> None:
    before, after = uids(chain), uids(lambda env: chain(env, mapped="Other"))
    assert before[0] == after[0]
    assert before[1] != after[1]
    assert before[2] != after[2]


def test_given_ones_stay_and_shield_what_follows() -> None:
    def build(name: str):
        def program(env) -> None:
            env.from_collection([1]).map(str).name(name).uid("mine").print()

        return program

    assert uids(build("a"))[1:] == uids(build("b"))[1:]
    assert uids(build("a"))[1] == "mine"


def test_twins_differ() -> None:
    def twins(env) -> None:
        source = env.from_collection([1])
        source.map(str).print()
        source.map(str).print()

    assert len(set(uids(twins))) == 5


def test_the_partitioning_matters() -> None:
    def program(env) -> None:
        env.from_collection([1]).rebalance().map(str).print()

    assert uids(program)[0] == uids(chain)[0]
    assert uids(program)[1] != uids(chain)[1]


def test_one_uid_for_two_operators_is_refused() -> None:
    def program(env) -> None:
        env.from_collection([1]).uid("x").map(str).name("text").uid("x").print()

    with pytest.raises(JobDefinitionError, match="'Collection' and 'text' both have the uid 'x'"):
        uids(program)


def test_equal_operators_of_several_queries_are_numbered() -> None:
    one, two, three = (Transformation("Rank", Role.OPERATOR, Operator, (), 1) for _ in range(3))
    for made, filters in ((one, "a"), (two, "a"), (three, "b")):
        made.uid, made.query_uid = "rank-1", QueryUid("rank-1", filters)
    uids = assign_uids([one, two, three])
    assert uids[one] == "rank-1"
    assert uids[two] == "rank-1-query2"
    assert uids[three].startswith("rank-1-query3-")
    two.uid = "mine"
    assert assign_uids([one, two])[two] == "mine"
    two.uid = three.uid = "mine"
    with pytest.raises(JobDefinitionError, match="both have the uid 'mine'"):
        assign_uids([two, three])
