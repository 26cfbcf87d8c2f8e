from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from millrace.common import Configuration, RestartStrategies, WatermarkStrategy
from millrace.common.errors import ConfigurationError, JobDefinitionError
from millrace.common.types.typeinfo import Types
from millrace.connectors.number_sequence import NumberSequenceSource
from millrace.datastream import (
    MapFunction,
    RuntimeContext,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from millrace.datastream.job_launcher import JobLauncher
from millrace.engine.program_file import default_job_name, program_file
from millrace.testing import run_local


def new_env(**settings: str) -> StreamExecutionEnvironment:
    configuration = Configuration({key.replace("_", "."): value for key, value in settings.items()})
    return StreamExecutionEnvironment.get_execution_environment(configuration)


def test_settings_from_the_configuration() -> None:
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration({"parallelism.default": "3", "pipeline.max-parallelism": "64"})
    )
    assert (env.get_parallelism(), env.get_max_parallelism()) == (3, 64)
    assert env.set_max_parallelism(256).get_max_parallelism() == 256


def test_a_changelog_of_state_is_kept_as_set() -> None:
    env = new_env()
    assert env.is_changelog_state_backend_enabled() is None
    assert env.enable_changelog_state_backend(True).is_changelog_state_backend_enabled() is True
    env.configure(Configuration({"state.backend.changelog.enabled": "false"}))
    assert env.is_changelog_state_backend_enabled() is False


def test_an_unknown_key_suggests_the_nearest() -> None:
    with pytest.raises(ConfigurationError, match=r"paralelism.*parallelism\.default"):
        StreamExecutionEnvironment.get_execution_environment(
            Configuration({"paralelism.default": "3"})
        )
    with pytest.raises(ConfigurationError, match="parallelism.default"):
        new_env().configure(Configuration({"parallelism.defalt": "3"}))


def test_the_launchers_settings_go_over_the_programs() -> None:
    before = JobLauncher.current()
    JobLauncher.install(JobLauncher(settings=Configuration({"parallelism.default": "7"})))
    try:
        assert new_env().get_parallelism() == 7
    finally:
        JobLauncher.install(before)


def test_what_listens_to_an_environment_does_not_hear_of_other_environments() -> None:
    with run_local() as cluster:
        first, heard = new_env(), []
        first.launcher.listeners.append(lambda progress: heard.append(progress.job_name))
        for env, name in ((first, "first"), (new_env(), "second")):
            env.from_collection([1]).print()
            env.execute(name)
    assert heard == ["first"]
    assert [progress.job_name for progress in cluster.progress] == ["first", "second"]


@pytest.mark.parametrize("bad", [0, -1, 1.5, True, "2", None])
def test_a_parallelism_is_a_positive_whole_number(bad) -> None:
    with pytest.raises(JobDefinitionError, match="at least 1"):
        new_env().set_parallelism(bad)
    with pytest.raises(JobDefinitionError, match="at least 1"):
        new_env().from_collection([1]).set_parallelism(bad)
    with pytest.raises(JobDefinitionError, match="at least 1"):
        new_env().from_collection([1]).print().set_parallelism(bad)


def test_parallelism_is_of_operators_built_from_then_on() -> None:
    env = new_env()
    one = env.from_collection([1]).map(str)
    env.set_parallelism(4)
    four = one.rebalance().map(str)
    assert one._transformation.parallelism == 1
    assert four._transformation.parallelism == 4


def test_checkpointing() -> None:
    env = new_env()
    assert env.get_checkpoint_interval() == -1
    assert env.enable_checkpointing(500).get_checkpoint_interval() == 500
    assert env.get_checkpoint_config().get_checkpoint_interval() == 500


def test_the_directory_of_savepoints() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    assert env.get_default_savepoint_directory() is None
    assert env.set_default_savepoint_directory("kept") is env
    assert env.get_default_savepoint_directory() == "kept"


def test_restart_strategy() -> None:
    env = new_env()
    strategy = RestartStrategies.fixed_delay_restart(3, 10)
    env.set_restart_strategy(strategy)
    assert env.get_restart_strategy() is strategy


def test_from_collection_keeps_the_order_and_any_values() -> None:
    values = ["b", "a", None, {"x": [1]}, ("t",), 1.5]
    with run_local():
        assert list(new_env().from_collection(values).execute_and_collect()) == values
        assert list(new_env().from_collection([]).execute_and_collect()) == []


def test_from_source_refuses_what_is_none() -> None:
    env = new_env()
    with pytest.raises(JobDefinitionError, match="takes a Source"):
        env.from_source([1], WatermarkStrategy.no_watermarks(), "x")  # type: ignore[arg-type]
    with pytest.raises(JobDefinitionError, match=r"write Types.STRING\(\)"):
        env.from_collection(["a"], Types.STRING)  # type: ignore[arg-type]
    with pytest.raises(JobDefinitionError, match="'x' needs a WatermarkStrategy"):
        env.from_source(NumberSequenceSource(1, 2), None, "x")  # type: ignore[arg-type]


def test_read_text_file(tmp_path) -> None:
    (tmp_path / "a.txt").write_text("to be\nor not\n")
    with run_local():
        lines = new_env().read_text_file(str(tmp_path / "a.txt"))
        assert list(lines.execute_and_collect()) == ["to be", "or not"]


def test_a_job_without_a_sink_says_so() -> None:
    env = new_env()
    env.from_collection([1]).map(str)
    with run_local(), pytest.raises(JobDefinitionError, match="no sink"):
        env.execute()


def test_an_environment_can_run_several_jobs(capsys) -> None:
    with run_local():
        env = new_env()
        stream = env.from_collection([1, 2])
        stream.print("first")
        env.execute()
        stream.map(lambda v: v * 10).print("second")
        env.execute()
    assert capsys.readouterr().out == "first> 1\nfirst> 2\nsecond> 10\nsecond> 20\n"


def test_the_job_name_is_given_configured_or_the_default(tmp_path) -> None:
    with run_local() as cluster:
        for name in ("mine", None):
            env = new_env()
            env.from_collection([1]).print()
            env.execute(name)
        env = StreamExecutionEnvironment.get_execution_environment(
            Configuration({"pipeline.name": "configured"})
        )
        env.from_collection([1]).print()
        env.execute()
    names = [progress.job_name for progress in cluster.progress]
    assert names == ["mine", default_job_name(program_file()), "configured"]


@pytest.mark.parametrize(
    ("mode", "expected"),
    [("STREAMING", [1, 3, 6]), ("BATCH", [6]), ("AUTOMATIC", [6])],
)
def test_runtime_modes(mode: str, expected: list[int]) -> None:
    with run_local(epoch_records=1):
        env = new_env().set_runtime_mode(RuntimeExecutionMode[mode])
        totals = env.from_collection([1, 2, 3]).key_by(lambda v: 0).sum()
        assert list(totals.execute_and_collect()) == expected


def test_the_execution_plan_is_json() -> None:
    with run_local():
        env = new_env()
        env.from_collection([1]).map(str).print()
        plan = json.loads(env.get_execution_plan())
    assert [stage["name"] for stage in plan["stages"]] == ["Collection -> Map -> Print"]


def test_importing_the_api_loads_neither_pyspark_nor_pyarrow() -> None:
    code = (
        "import sys; import millrace.datastream, millrace.testing, millrace.connectors; "
        "print([m for m in ('pyspark', 'py4j', 'pyarrow', 'numpy', 'pandas') if m in sys.modules])"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == "[]"


def test_a_configuration_of_flink_is_taken_over() -> None:
    """Under the names of old, too; what is set by a method is in the configuration."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.configure(
        Configuration(
            {
                "pipeline.operator-chaining": "false",
                "execution.buffer-timeout": "1 min",
                "execution.checkpointing.timeout": "12000",
                "execution.checkpointing.unaligned": "true",
                "pipeline.object-reuse": "true",
                "state.checkpoints.dir": "/checkpoints",
                "taskmanager.numberOfTaskSlots": "10",
            }
        )
    )
    assert not env.is_chaining_enabled()
    assert env.get_buffer_timeout() == 60_000
    assert env.get_checkpoint_config().get_checkpoint_timeout() == 12_000
    assert env.get_checkpoint_config().is_unaligned_checkpoints_enabled()
    assert env.is_unaligned_checkpoints_enabled()
    assert not env.is_force_unaligned_checkpoints()
    assert env.get_checkpoint_config().get_checkpoint_storage_dir() == "/checkpoints"
    assert env.get_config().is_object_reuse_enabled()
    assert env.set_buffer_timeout(-1).get_buffer_timeout() == -1
    assert env.set_buffer_timeout(12).get_buffer_timeout() == 12


class Parameters(MapFunction[int, tuple[str, str]]):
    """Reads what the program was given."""

    def open(self, runtime_context: RuntimeContext) -> None:
        found = runtime_context.get_job_parameter("stage", "test")
        self.found = found, runtime_context.get_job_parameter("missing", "default")

    def map(self, value: int) -> tuple[str, str]:
        return self.found


def test_functions_read_the_parameters_of_the_job() -> None:
    """Those of set_global_job_parameters; what is missing has the given default."""
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        env.get_config().set_global_job_parameters({"stage": "production"})
        read = env.from_collection([1]).map(Parameters()).execute_and_collect()
        assert list(read) == [("production", "default")]
