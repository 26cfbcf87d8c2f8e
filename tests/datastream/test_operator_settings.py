"""What can be set on operators: chaining, ids, slot sharing groups and what has no effect."""

from __future__ import annotations

import pytest

from millrace.common import MemorySize
from millrace.common.errors import JobDefinitionError
from millrace.datastream import SlotSharingGroup, StreamExecutionEnvironment
from millrace.job_graph.stages import build_job_graph
from millrace.testing import run_local


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment()


def stages(env) -> list[str]:
    program = build_job_graph(env._sinks, "run", "job", max_parallelism=128).program
    return [stage.name for stage in program.stages]


def named(stream, *names: str):
    for name in names:
        stream = stream.map(str).name(name)
    return stream


def test_without_settings_everything_is_chained(env) -> None:
    named(env.from_collection([1]), "a", "b", "c").print()
    assert stages(env) == ["Collection -> a -> b -> c -> Print"]


def test_start_new_chain(env) -> None:
    named(named(env.from_collection([1]), "a", "b").start_new_chain(), "c").print()
    assert stages(env) == ["Collection -> a", "b -> c -> Print"]


def test_disable_chaining(env) -> None:
    named(named(env.from_collection([1]), "a", "b").disable_chaining(), "c").print()
    assert stages(env) == ["Collection -> a", "b", "c -> Print"]


def test_disable_chaining_of_a_sink(env) -> None:
    named(env.from_collection([1]), "a").print().disable_chaining()
    assert stages(env) == ["Collection -> a", "Print"]


def test_disable_operator_chaining(env) -> None:
    assert env.is_chaining_enabled()
    assert env.disable_operator_chaining() is env
    assert not env.is_chaining_enabled()
    named(env.from_collection([1]), "a", "b").print()
    assert stages(env) == ["Collection", "a", "b", "Print"]


@pytest.mark.parametrize("cut", ["start_new_chain", "disable_chaining"])
def test_the_results_are_the_same(cut) -> None:
    with run_local(2, 3, epoch_records=2):
        env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
        stream = getattr(env.from_collection([1, 2, 3]).rebalance().map(abs), cut)()
        assert sorted(stream.map(str).execute_and_collect()) == ["1", "2", "3"]


def test_force_non_parallel(env) -> None:
    env.set_parallelism(4)
    stream = env.from_collection([1]).map(abs).force_non_parallel()
    assert stream._transformation.parallelism == 1


def test_a_max_parallelism_other_than_the_jobs_is_refused() -> None:
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        stream = env.from_collection([1]).map(abs).name("Abs").set_max_parallelism(64)
        with pytest.raises(JobDefinitionError) as refusal:
            list(stream.execute_and_collect())
    assert "'Abs' has a max parallelism of 64" in str(refusal.value)
    assert "env.set_max_parallelism(64)" in str(refusal.value)
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment().set_max_parallelism(64)
        stream = env.from_collection([1]).map(abs).set_max_parallelism(64)
        assert list(stream.execute_and_collect()) == [1]


def test_a_uid_hash(env) -> None:
    stream = env.from_collection([1]).map(abs).set_uid_hash("0123456789abcdef" * 2)
    assert stream._transformation.uid == "0123456789abcdef" * 2
    sink = stream.print().set_uid_hash("fedcba98")
    assert sink._transformation.uid == "fedcba98"
    for bad in ("name", "abc", 5):
        with pytest.raises(JobDefinitionError, match="a uid hash must be a hexadecimal number"):
            stream.set_uid_hash(bad)


def test_what_is_accepted_without_effect(env) -> None:
    stream = env.from_collection([1]).map(abs)
    assert stream.set_buffer_timeout(-1).set_buffer_timeout(100) is stream
    with pytest.raises(JobDefinitionError, match="takes -1 or a number of ms from 0, got -2"):
        stream.set_buffer_timeout(-2)
    with pytest.raises(JobDefinitionError, match="changes one operator"):
        stream.rebalance().set_buffer_timeout(1)


def test_types_and_environment(env) -> None:
    stream = env.from_collection([1])
    assert stream.get_execution_environment() is env
    assert stream.get_execution_config() is env.get_config()
    assert stream.get_type() is not None


def group() -> SlotSharingGroup:
    builder = SlotSharingGroup.builder("heavy").set_cpu_cores(2).set_task_heap_memory("1g")
    builder = builder.set_task_off_heap_memory(MemorySize.parse("10m")).set_managed_memory("5m")
    return builder.set_external_resource("gpu", 1.0).set_external_resource("disk", 3.0).build()


def test_a_slot_sharing_group() -> None:
    made = group()
    assert made.get_name() == "heavy"
    assert made.get_cpu_cores() == 2.0
    assert made.get_task_heap_memory() == MemorySize.parse("1g")
    assert made.get_task_off_heap_memory() == MemorySize.parse("10m")
    assert made.get_managed_memory() == MemorySize.parse("5m")
    assert made.get_external_resources() == {"gpu": 1.0, "disk": 3.0}
    builder = SlotSharingGroup.builder("x").set_cpu_cores(1).set_task_heap_memory_mb(3)
    made = builder.set_task_off_heap_memory_mb(4).set_managed_memory_mb(5).build()
    assert made.get_task_heap_memory() == MemorySize.parse("3m")
    assert made.get_task_off_heap_memory() == MemorySize.parse("4m")
    assert made.get_managed_memory() == MemorySize.parse("5m")
    assert SlotSharingGroup.builder("x").build().get_cpu_cores() is None
    with pytest.raises(JobDefinitionError, match="more than 0 cores, got 0"):
        SlotSharingGroup.builder("x").set_cpu_cores(0)
    with pytest.raises(JobDefinitionError, match="more than 0 bytes of heap memory, got 0"):
        SlotSharingGroup.builder("x").set_task_heap_memory(MemorySize(bytes_size=0))
    with pytest.raises(JobDefinitionError, match="needs set_cpu_cores and set_task_heap_memory"):
        SlotSharingGroup.builder("x").set_cpu_cores(1.0).set_task_off_heap_memory_mb(10).build()


def test_slot_sharing_groups_are_kept_for_the_plan(env) -> None:
    stream = env.from_collection([1]).map(abs).slot_sharing_group("light")
    assert stream._transformation.slot_sharing_group == "light"
    assert stream.slot_sharing_group(group())._transformation.slot_sharing_group == "heavy"
    sink = stream.print().slot_sharing_group(group())
    assert sink._transformation.slot_sharing_group == "heavy"
    assert env.register_slot_sharing_group(group()) is env
    with pytest.raises(JobDefinitionError, match="must be given by its name, got 5"):
        stream.slot_sharing_group(5)


def test_uids_may_be_demanded(env) -> None:
    """So that each savepoint fits the next program."""
    env.get_config().disable_auto_generated_uids()
    stream = env.from_collection([1]).uid("numbers").map(abs)
    stream.print().uid("print")
    with pytest.raises(JobDefinitionError, match="operator 'Map' has no uid"):
        env.get_execution_plan()
    stream.uid("absolute")
    assert '"absolute"' in env.get_execution_plan()
