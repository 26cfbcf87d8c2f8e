"""Dispatcher with functions that are told what to do, against a naive model."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from told_functions import COUNT, OUT, Told, address, argument, message

from millrace.common import Configuration
from millrace.common.errors import MillraceError, SerializationError, StateError
from millrace.datastream import DataStream, StreamExecutionEnvironment
from millrace.engine.resident.tasks import ResidentSettings
from millrace.statefun.address import Address, TypedValue
from millrace.statefun.data_stream import StatefulFunctionDataStreamBuilder
from millrace.statefun.dispatch.dispatch_operator import DispatchOperator, DispatchSpec, egress_tag
from millrace.statefun.invocation.batch import (
    Effects,
    InvocationError,
    MessageBatch,
    MissingStates,
    Reply,
    RoutableMessage,
    StateSpec,
)
from millrace.statefun.protocol import AFTER_INVOKE, AFTER_WRITE
from millrace.testing import CollectingSink, Faults, OperatorHarness, run_local
from millrace.testing.resident_tasks import local_resident_executor


def harness(functions: Told, **settings: Any) -> OperatorHarness:
    spec = DispatchSpec((("test", "told", functions),), (OUT,), **settings)
    factory = partial(DispatchOperator, spec)
    return OperatorHarness(
        lambda stream: stream.key_by(lambda m: m[0][2])._then("Functions", factory, None)
    )


def told(of: OperatorHarness) -> list[str]:
    return [value.value.decode() for value in of.side_output(egress_tag(OUT))]


@pytest.mark.parametrize(("expires", "kept"), [(AFTER_WRITE, False), (AFTER_INVOKE, True)])
def test_states_expire_after_writes_or_invocations(expires: int, kept: bool) -> None:
    one = harness(Told(True, specs=(StateSpec("count", COUNT, expires, 100),)))
    one.process_element(message("a", ("add", 5), ("out",)))
    one.set_processing_time(80)
    one.process_element(message("a", ("out",)))
    one.set_processing_time(160)
    one.process_element(message("a", ("out",)))
    one.set_processing_time(260)
    one.process_element(message("a", ("out",)))
    assert told(one) == ["a=5", "a=5", "a=5" if kept else "a=0", "a=0"]


def test_messages_of_one_address_are_batched() -> None:
    batches: list[int] = []

    class Counting(Told):
        def invoke_now(self, batch: MessageBatch) -> Reply:
            batches.append(len(batch.messages))
            return super().invoke_now(batch)

    one = harness(Counting(True, max_batch=4))
    one.process_elements([message("a", ("add", 1)) for _ in range(10)])
    assert batches == [4, 4, 4, 2]  # the first one learns of the states


@pytest.mark.parametrize(
    ("instruction", "error"),
    [
        (("set", "other", COUNT), "changed the state 'other', which it has not registered"),
        (("set", "count", "test/x"), "set the state 'count' of type test/count to a value of type"),
    ],
)
def test_wrong_mutations_fail(instruction: Any, error: str) -> None:
    with pytest.raises(StateError, match=error):
        harness(Told(True)).process_element(message("a", instruction))


def test_a_record_that_an_egress_does_not_take_names_its_function() -> None:
    def convert(value: TypedValue) -> str:
        if value.value == b"b=0":
            raise SerializationError("there is no b")
        return value.value.decode().upper()

    one = harness(Told(True), converters={OUT: convert})
    one.process_element(message("a", ("out",)))
    assert one.side_output(egress_tag(OUT)) == ["A=0"]
    text = r"^egress test/out: there is no b \(function test/told/b at test\)$"
    with pytest.raises(InvocationError, match=text):
        one.process_element(message("b", ("out",)))


def test_an_error_of_a_conversion_names_its_function_and_is_the_cause() -> None:
    def convert(value: TypedValue) -> str:
        return {}[value.value]

    one = harness(Told(True), converters={OUT: convert})
    text = (
        r"^egress test/out: the conversion of a record raised KeyError: b'a=0' "
        r"\(function test/told/a at test\)$"
    )
    with pytest.raises(InvocationError, match=text) as raised:
        one.process_element(message("a", ("out",)))
    assert isinstance(raised.value.__cause__, KeyError)


def test_the_first_registration_of_a_state_counts() -> None:
    """Functions of a new version, which ask for another time to live, keep the former one."""
    functions = Told(True, specs=(StateSpec("count", COUNT, AFTER_WRITE, 100),))
    one = harness(functions)
    one.process_element(message("a", ("add", 5)))
    functions.wanted = (StateSpec("count", COUNT, AFTER_WRITE, 1), StateSpec("more", COUNT))
    functions.missing = {"more"}
    one.set_processing_time(50)
    one.process_element(message("a", ("out",)))
    one.set_processing_time(150)
    one.process_element(message("a", ("out",)))
    assert told(one) == ["a=5", "a=0"]


def test_states_have_one_type_for_good() -> None:
    functions = Told(True)
    one = harness(functions)
    one.process_element(message("a", ("add", 1)))
    snapshot = one.snapshot()
    functions.wanted = (StateSpec("count", "test/else"),)
    other = one.restored(snapshot)
    with pytest.raises(
        StateError, match=r"'count' of test/told/a was written with type test/count"
    ):
        other.process_element(message("a", ("out",)))


def test_a_function_that_asks_for_what_it_has_fails() -> None:
    class Asking(Told):
        def invoke_now(self, batch: MessageBatch) -> Reply:
            return MissingStates(self.wanted)

    with pytest.raises(
        MillraceError, match="requests states that its request already contained: count"
    ):
        harness(Asking(True)).process_element(message("a"))


ids = st.sampled_from("abcd")
leaf = st.sampled_from([("add", 1), ("add", 5), ("delete",), ("add", 0)])


def programs(depth: int) -> st.SearchStrategy[Any]:
    if depth == 0:
        return st.lists(leaf, max_size=2).map(tuple)
    inner = programs(depth - 1)
    send = st.tuples(st.just("send"), ids, inner)
    later = st.tuples(st.just("later"), st.integers(0, 50), st.just(""), ids, inner)
    return st.lists(st.one_of(leaf, send, later), max_size=3).map(tuple)


def counted(program: Any, id: str, sums: dict[str, int]) -> None:
    """Sums per id of programs without deletions, whose order has no meaning."""
    for instruction in program:
        match instruction:
            case ("add", by):
                sums[id] += by
            case ("send", to, inner) | ("later", _, _, to, inner):
                counted(inner, to, sums)


def without_deletions(program: Any) -> Any:
    return eval(repr(program).replace("('delete',)", "('add', 2)"))


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.tuples(ids, programs(2).map(without_deletions)), min_size=1, max_size=8),
    st.booleans(),
    st.integers(1, 3),
    st.integers(0, 1000),
    st.sampled_from([Faults(), Faults(0.2, 0.2, 0.2, 0.1)]),
)
def test_every_effect_counts_once(
    sent: list[tuple[str, Any]], direct: bool, parallelism: int, seed: int, faults: Faults
) -> None:
    sums: dict[str, int] = defaultdict(int)
    for id, program in sent:
        counted(program, id, sums)
    with run_local(workers=2, seed=seed, faults=faults, epoch_records=2):
        env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)
        last = ("later", 10_000, "", "{id}", (("out",),))
        messages = [message(id, *program) for id, program in sent]
        for id in "abcd":
            messages.append(message(id, (*last[:3], id, last[4])))
        builder = StatefulFunctionDataStreamBuilder.builder("told")
        builder._with("test", "told", Told(direct))
        builder.with_data_stream_as_ingress(env.from_collection(messages)).with_egress_id(
            "test/out"
        )
        results = builder.build(env).get_data_stream_for_egress_id("test/out")
        texts = sorted(value.value.decode() for value in results.execute_and_collect())
    assert texts == [f"{id}={sums[id]}" for id in "abcd"]


def test_a_token_cancels_messages_of_its_sender_id() -> None:
    one = harness(Told(True))
    out = (("out",),)
    one.process_element(message("a", ("later", 50, "t", "a", out), ("later", 60, "u", "a", out)))
    one.process_element(message("b", ("later", 50, "t", "b", out)))
    one.process_element(message("a", ("cancel", "t"), ("cancel", "unknown")))
    snapshot = one.snapshot()
    assert one.operator.next_wakeup() == 50
    other = one.restored(snapshot)
    other.set_processing_time(100)
    assert told(other) == ["b=0", "a=0"]
    assert other.operator.next_wakeup() is None


# -- resident tasks ------------------------------------------------------------------------------


def on_resident_tasks() -> Any:
    settings = ResidentSettings(barrier_interval=10)
    return run_local(executor=lambda: local_resident_executor(2, settings))


class Telling(Told):
    """Functions that tell their counts after each batch."""

    def invoke_now(self, batch: MessageBatch) -> Reply:
        effects = super().invoke_now(batch)
        if isinstance(effects, Effects):
            count = effects.mutations.get("count") or batch.states["count"]
            text = f"{batch.target.id}={int(count.value or 0)}"
            effects.egresses.append((OUT, TypedValue(COUNT, True, text.encode())))
        return effects

    async def invoke(self, batch: MessageBatch) -> Reply:
        await asyncio.sleep(0.003 if batch.target.id == "a" else 0)
        return self.invoke_now(batch)


def highest(texts: list[str]) -> dict[str, int]:
    counts: dict[str, int] = defaultdict(int)
    for text in texts:
        id, _, count = text.partition("=")
        counts[id] = max(counts[id], int(count))
    return counts


def told_stream(env: Any, functions: Told, messages: list[RoutableMessage]) -> DataStream[Any]:
    builder = StatefulFunctionDataStreamBuilder.builder("told")
    builder._with("test", "told", functions)
    builder.with_data_stream_as_ingress(env.from_collection(messages)).with_egress_id("test/out")
    results = builder.build(env).get_data_stream_for_egress_id("test/out")
    return results.map(lambda value: value.value.decode())


@settings(max_examples=8, deadline=None)
@given(
    st.lists(st.tuples(ids, programs(2).map(without_deletions)), min_size=1, max_size=8),
    st.booleans(),
    st.integers(1, 3),
)
def test_every_effect_counts_once_on_resident_tasks(
    sent: list[tuple[str, Any]], direct: bool, parallelism: int
) -> None:
    sums: dict[str, int] = defaultdict(int)
    for id, program in sent:
        counted(program, id, sums)
    with on_resident_tasks():
        env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)
        messages = [message(id, *program) for id, program in sent]
        counts = highest(list(told_stream(env, Telling(direct), messages).execute_and_collect()))
    assert {id: n for id, n in counts.items() if n} == {id: n for id, n in sums.items() if n}


RING = 20
TOKENS = 30


class Ring(Telling):
    """Functions that hand tokens on. A token is its hops so far and those that are left.

    Args:
        step: by how much a hop lessens the hops that are left; with 0, tokens go on forever.
    """

    def __init__(self, direct: bool, step: int) -> None:
        super().__init__(direct)
        self.step = step

    def _carry_out(self, instruction: Any, count: int, target: Address, effects: Effects) -> int:
        hops, left = instruction
        effects.mutations["count"] = TypedValue(COUNT, True, b"%d" % (count + 1))
        following = str((int(target.id) + 1) % RING)
        if left > 0:
            token = ((hops + 1, left - self.step),)
            effects.messages.append(RoutableMessage(address(following), argument(token), target))
        else:
            text = f"hops={hops}"
            effects.egresses.append((OUT, TypedValue(COUNT, True, text.encode())))
        return count + 1


def ring(env: Any, direct: bool, step: int) -> DataStream[Any]:
    tokens = [message(str(token % RING), (0, RING)) for token in range(TOKENS)]
    return told_stream(env, Ring(direct, step), tokens)


def check_ring(texts: list[str]) -> None:
    """Check that all functions together count what the tokens count."""
    hops = [int(text.partition("=")[2]) for text in texts if text.startswith("hops")]
    assert len(hops) == TOKENS
    assert sum(hops) > TOKENS * RING
    counts = highest([text for text in texts if not text.startswith("hops")])
    assert sum(counts.values()) == sum(hops) + TOKENS


@pytest.mark.parametrize("direct", [True, False])
@pytest.mark.parametrize("first", ["epochs", "resident"])
def test_a_savepoint_with_messages_under_way(direct: bool, first: str, tmp_path: Path) -> None:
    """Tokens go round forever before the savepoint, and end behind it, on resident tasks with
    another parallelism."""
    with on_resident_tasks() if first == "resident" else run_local(workers=2):
        env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
        epochs = [0]
        env.launcher.listeners.append(lambda details: epochs.__setitem__(0, details.epochs))
        ring(env, direct, 0).sink_to(CollectingSink())
        client = env.execute_async("ring")
        while epochs[0] < 5:
            client.get_job_status().result()
        savepoint = client.stop_with_savepoint(False, str(tmp_path)).result()
    with on_resident_tasks():
        config = Configuration({"execution.state-recovery.path": savepoint})
        env = StreamExecutionEnvironment.get_execution_environment(config).set_parallelism(3)
        check_ring(list(ring(env, direct, 1).execute_and_collect()))


class Steered(Ring):
    """A ring that stops when the test says so."""

    following_step = 0

    def _carry_out(self, instruction: Any, count: int, target: Address, effects: Effects) -> int:
        self.step = Steered.following_step
        return super()._carry_out(instruction, count, target, effects)


@pytest.mark.parametrize("direct", [True, False])
def test_rescaling_with_messages_under_way(direct: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Steered, "following_step", 0)
    with on_resident_tasks():
        env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
        epochs = [0]
        env.launcher.listeners.append(lambda details: epochs.__setitem__(0, details.epochs))
        tokens = [message(str(token % RING), (0, RING)) for token in range(TOKENS)]
        sink = CollectingSink[str]()
        told_stream(env, Steered(direct, 0), tokens).sink_to(sink)
        client = env.execute_async("ring")
        while epochs[0] < 5:
            client.get_job_status().result()
        client.rescale(3).result()
        Steered.following_step = 1
        client.get_job_execution_result().result()
    check_ring(sink.values())
