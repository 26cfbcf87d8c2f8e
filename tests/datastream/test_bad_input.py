"""What goes wrong at a user's hands: each mistake is refused with a name and a way out."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from millrace.common import Configuration, Types
from millrace.common.errors import (
    CheckpointError,
    ConfigurationError,
    JobDefinitionError,
    SerializationError,
    UserFunctionError,
)
from millrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from millrace.datastream.state import ListStateDescriptor, ValueStateDescriptor
from millrace.engine.job_identity import job_id_of
from millrace.testing import run_local


@pytest.fixture
def env():
    with run_local(workers=2, seed=5):
        yield StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)


@pytest.mark.parametrize(
    ("key", "name"),
    [({"a": 1}, "dict"), (np.arange(2), "numpy.ndarray"), (object(), "object")],
    ids=["dict", "array", "object"],
)
def test_a_key_without_a_stable_encoding(env, key, name) -> None:
    env.from_collection([key]).key_by(lambda value: value).reduce(lambda a, b: a).print()
    with pytest.raises(UserFunctionError, match=f"a key of type {name} .*has no stable encoding"):
        env.execute()


def test_numpy_scalars_and_bytearrays_survive(env) -> None:
    values = [np.int64(1), np.float32(2.5), np.bool_(False), bytearray(b"x"), np.str_("s")]
    stream = env.from_collection(values).rebalance().map(lambda v: [v]).key_by(lambda v: 1)
    found = list(stream.process(Unwrap()).execute_and_collect())
    assert sorted(map(repr, found)) == sorted(map(repr, values))
    assert {type(value) for value in found} == {type(value) for value in values}


class Unwrap(KeyedProcessFunction):
    def open(self, runtime_context):
        self.kept = runtime_context.get_list_state(ListStateDescriptor("kept"))

    def process_element(self, value, ctx):
        self.kept.add(value[0])
        yield self.kept.get()[-1]


def test_an_unknown_configuration_key() -> None:
    configuration = Configuration({"execution.checkpointing.intervall": "1 s"})
    with pytest.raises(ConfigurationError, match=r"execution\.checkpointing\.interval\b"):
        StreamExecutionEnvironment.get_execution_environment(configuration)


def test_a_function_that_captured_what_cannot_be_pickled(env) -> None:
    lock = threading.Lock()
    env.from_collection([1]).map(lambda value: (value, lock)).name("locked").print()
    with pytest.raises(SerializationError, match=r"operator 'locked'.*captured.*lock.*open\(\)"):
        env.execute()


def test_a_record_that_cannot_be_pickled(env) -> None:
    env.from_collection([1]).map(lambda value: (n for n in [value])).rebalance().print()
    with pytest.raises(UserFunctionError, match=r"operator 'Map' failed(.|\n)*generator"):
        env.execute()


def test_a_state_descriptor_used_with_two_types(env) -> None:
    class Twice(KeyedProcessFunction):
        def open(self, runtime_context):
            self.one = runtime_context.get_state(ValueStateDescriptor("n", Types.INT()))
            self.two = runtime_context.get_state(ValueStateDescriptor("n", Types.STRING()))

        def process_element(self, value, ctx):
            yield value

    env.from_collection([1]).key_by(lambda value: value).process(Twice()).print()
    with pytest.raises(UserFunctionError, match="state 'n' is declared twice with different types"):
        env.execute()


def test_a_job_without_a_sink(env) -> None:
    env.from_collection([1]).map(str)
    with pytest.raises(JobDefinitionError, match="no sink"):
        env.execute()


def test_a_checkpoint_directory_of_another_job(tmp_path) -> None:
    def run(name: str, resume: bool) -> None:
        with run_local(checkpoint_dir=str(tmp_path), resume=resume):
            env = StreamExecutionEnvironment.get_execution_environment()
            env.from_collection([1]).key_by(lambda value: value).sum().print()
            env.execute(name)

    run("mine", resume=False)
    (tmp_path / job_id_of("mine")).rename(tmp_path / job_id_of("yours"))
    with pytest.raises(CheckpointError, match="mine"):
        run("yours", resume=True)


def test_a_keyed_function_on_a_stream_without_keys(env) -> None:
    class Keyed(KeyedProcessFunction):
        def process_element(self, value, ctx):
            yield value

    with pytest.raises(JobDefinitionError, match="KeyedProcessFunction.*call key_by"):
        env.from_collection([1]).process(Keyed())
