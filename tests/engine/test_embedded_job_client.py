from __future__ import annotations

from pathlib import Path
from threading import Event

import pytest

from millrace.common import RestartStrategies
from millrace.common.job import JobStatus
from millrace.datastream import KeyedProcessFunction, MapFunction, StreamExecutionEnvironment
from millrace.testing import Faults, run_local


def job(values=(1, 2, 3), map_function=abs):
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection(values).map(map_function).print()
    return env


def test_from_created_to_finished(capsys) -> None:
    with run_local():
        client = job().build_client("a job")
        assert client.get_job_status().result() is JobStatus.CREATED
        done = Event()
        client.when_done(done.set)
        client.start()
        result = client.result(timeout=180)
        assert done.wait(30)
    assert client.get_job_status().result() is JobStatus.FINISHED
    assert result.get_job_id() == client.get_job_id()
    assert result.get_net_runtime() >= 0
    assert client.get_job_execution_result().result() is result
    assert client.progress().records == 3
    assert capsys.readouterr().out == "1\n2\n3\n"


def test_the_same_name_is_the_same_job() -> None:
    with run_local():
        ids = [job().build_client(name).get_job_id() for name in ("a", "a", "b")]
    assert ids[0] == ids[1] != ids[2]


def test_failed() -> None:
    def fail(value):
        raise ValueError(value)

    with run_local():
        client = job(map_function=fail).execute_async("bad")
        with pytest.raises(Exception, match="operator 'Map' failed"):
            client.result(timeout=180)
    assert client.get_job_status().result() is JobStatus.FAILED


class Counting(MapFunction):
    def open(self, runtime_context):
        group = runtime_context.get_metrics_group()
        self.seen = group.counter("seen")
        self.sizes = group.distribution("sizes")

    def map(self, value):
        self.seen.inc()
        self.sizes.update(value)
        return value


@pytest.mark.parametrize("seed", range(3))
def test_accumulators_count_each_record_once_whatever_happens(seed: int) -> None:
    faults = Faults(lost_epochs=0.3, lost_workers=0.5, repeated_tasks=0.2)
    with run_local(workers=3, seed=seed, faults=faults, epoch_records=7):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.from_collection(range(50)).rebalance().map(Counting()).set_parallelism(2).print()
        result = env.execute()
    assert result.get_accumulator_result("seen") == 50
    sizes = {"count": 50, "sum": sum(range(50)), "min": 0, "max": 49}
    assert result.get_all_accumulator_results() == {"seen": 50, "sizes": sizes}


def test_late_records_are_an_accumulator() -> None:
    from millrace.common import Time, WatermarkStrategy
    from millrace.datastream.window import TumblingEventTimeWindows

    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda v, t: v)
    with run_local(epoch_records=1):
        env = StreamExecutionEnvironment.get_execution_environment()
        stream = env.from_collection([5, 25, 6, 7]).assign_timestamps_and_watermarks(strategy)
        ten = TumblingEventTimeWindows.of(Time.milliseconds(10))
        stream.key_by(lambda v: 0).window(ten).reduce(max).print()
        assert env.execute().get_accumulator_result("numLateRecordsDropped") == 2


def test_functions_are_told_their_attempt_and_place() -> None:
    class Where(KeyedProcessFunction):
        def open(self, runtime_context):
            self.where = runtime_context.get_task_name_with_subtasks()

        def process_element(self, value, ctx):
            yield self.where

    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(2)
        stream = env.from_collection(range(20)).key_by(lambda v: v).process(Where()).name("Where")
        assert set(stream.execute_and_collect()) == {"Where (1/2)#0", "Where (2/2)#0"}


def test_the_attempt_number_counts_the_restarts_of_the_job() -> None:
    class Brittle(KeyedProcessFunction):
        def open(self, runtime_context):
            self.attempt = runtime_context.get_attempt_number()

        def process_element(self, value, ctx):
            if self.attempt < 2:
                raise ValueError("not yet")
            yield self.attempt

    with run_local(workers=2, seed=1) as cluster:
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_restart_strategy(RestartStrategies.fixed_delay_restart(3, 10))
        stream = env.from_collection([1]).key_by(lambda v: v).process(Brittle())
        assert list(stream.execute_and_collect()) == [2]
    details = cluster.progress[-1]
    assert details.restarts == 2
    assert [(e.operator, e.fatal) for e in details.exceptions] == [("Keyed Process", False)] * 2


def test_what_is_known_of_a_job_does_not_change_in_the_hand() -> None:
    with run_local(epoch_records=2) as cluster:
        env = StreamExecutionEnvironment.get_execution_environment().enable_checkpointing(0)
        env.from_collection(range(6)).rebalance().map(Counting()).name("Count").uid("c").print()
        client = env.build_client("known")
        before = client.progress()
        client.run()
    assert (before.status, before.epochs, before.stages[0].records_in) == (JobStatus.CREATED, 0, 0)
    assert [d.metrics["c"][0]["seen"] for d in cluster.progress] == [2, 4, 6]
    assert [d.checkpoints.completed for d in cluster.progress] == [1, 2, 3]
    assert [d.status for d in cluster.progress] == [JobStatus.RUNNING] * 3
    after = client.progress()
    assert list(after.since) == [JobStatus.CREATED, JobStatus.RUNNING, JobStatus.FINISHED]
    assert [c.number for c in after.checkpoints.recent] == [3, 2, 1]
    counting = next(stage for stage in after.stages if "c" in stage.operators)
    assert (counting.operators["c"], counting.records_in) == ("Count", 6)
    assert len(counting.subtasks) == 1
    with pytest.raises(TypeError):
        after.metrics["c"] = {}  # type: ignore[index]


def test_what_a_job_died_of_is_remembered() -> None:
    def fail(value):
        raise ValueError(value)

    with run_local():
        client = job(map_function=fail).build_client("bad")
        client.run()
    details = client.progress()
    assert list(details.since)[-2:] == [JobStatus.FAILING, JobStatus.FAILED]
    assert details.running is None
    [entry] = details.exceptions
    assert entry.fatal
    assert entry.operator == "Map"
    assert "ValueError" in entry.cause


def ended_with_savepoint(act):
    """The status that the job had when the savepoint's path was there."""
    seen, paths = [], []

    def note(done):
        seen.append(client.get_job_status().result())
        paths.append(done.exception() or done.result())

    with run_local(epoch_records=1) as cluster:
        client = job(range(20)).build_client("job")
        cluster.listeners.append(
            lambda p: act(client).add_done_callback(note) if p.epochs == 3 else None
        )
        client.run()
    return seen, paths


@pytest.mark.parametrize(
    ("end", "status"),
    [("stop_with_savepoint", JobStatus.FINISHED), ("cancel_with_savepoint", JobStatus.CANCELED)],
)
def test_the_savepoint_of_a_job_that_ends_is_there_when_it_has_ended(end, status, tmp_path) -> None:
    """In Flink, too: who has the path may start the next run at once."""
    directory = str(tmp_path / "savepoints")
    act = lambda client: getattr(client, end)(savepoint_directory=directory)  # noqa: E731
    seen, [path] = ended_with_savepoint(act)
    assert seen == [status]
    assert (Path(path) / "_metadata").exists()


def test_a_savepoint_that_is_not_possible_is_refused_while_the_job_goes_on(tmp_path) -> None:
    (tmp_path / "file").write_text("")
    act = lambda client: client.stop_with_savepoint(False, str(tmp_path / "file"))  # noqa: E731
    seen, [error] = ended_with_savepoint(act)
    assert seen == [JobStatus.RUNNING]
    assert "cannot write a savepoint" in str(error)
