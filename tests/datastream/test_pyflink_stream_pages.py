"""What the pages of PyFlink's documentation about streams teach: a program for each snippet.

Pages: DataStream API tutorial, intro, data types, operators, windows, dependency management, FAQ.
The programs are ours; the calls, the classes and their import paths are those of the pages.
"""

from __future__ import annotations

import zipfile
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from millrace.common import Encoder, Row, Types, WatermarkStrategy
from millrace.common.serialization import Encoder as PageEncoder
from millrace.common.serializer import TypeSerializer
from millrace.common.typeinfo import Types as PageTypes
from millrace.common.watermark_strategy import TimestampAssigner
from millrace.datastream import (
    MapFunction,
    ProcessWindowFunction,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
    Trigger,
    TriggerResult,
    WindowAssigner,
    WindowFunction,
)
from millrace.datastream.connectors import (
    FileSink,
    FileSource,
    OutputFileConfig,
    RollingPolicy,
    StreamFormat,
    StreamingFileSink,
)
from millrace.datastream.connectors.kafka import FlinkKafkaConsumer, FlinkKafkaProducer
from millrace.datastream.connectors.number_seq import NumberSequenceSource
from millrace.datastream.formats.json import (
    JsonRowDeserializationSchema,
    JsonRowSerializationSchema,
)
from millrace.datastream.functions import RuntimeContext
from millrace.datastream.state import ValueStateDescriptor
from millrace.datastream.window import TimeWindow, TimeWindowSerializer
from millrace.table import StreamTableEnvironment
from millrace.testing import run_local

PAIR = Types.ROW([Types.INT(), Types.STRING()])


@pytest.fixture
def env() -> Iterator[StreamExecutionEnvironment]:
    with run_local(epoch_records=2):
        yield StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)


def written(directory: Path) -> list[str]:
    """Lines of finished files, sorted."""
    files = [path for path in directory.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if path.name.startswith(".")]
    return sorted(line for path in files for line in path.read_text().splitlines())


def words(line: str) -> Iterator[str]:
    yield from line.split()


@pytest.mark.parametrize("to_file", [True, False])
def test_tutorial(
    env: StreamExecutionEnvironment, tmp_path: Path, capsys: Any, to_file: bool
) -> None:
    """Words of a file are counted in batch mode, into files or to the terminal."""
    (tmp_path / "lines.txt").write_text("to sleep to dream\nto sleep\n")
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    lines = env.from_source(
        source=FileSource.for_record_stream_format(
            StreamFormat.text_line_format(), str(tmp_path / "lines.txt")
        )
        .process_static_file_set()
        .build(),
        watermark_strategy=WatermarkStrategy.for_monotonous_timestamps(),
        source_name="lines",
    )
    counted = (
        lines.flat_map(words)
        .map(lambda i: (i, 1), output_type=Types.TUPLE([Types.STRING(), Types.INT()]))
        .key_by(lambda i: i[0])
        .reduce(lambda i, j: (i[0], i[1] + j[1]))
    )
    if not to_file:
        counted.print()
        env.execute()
        assert sorted(capsys.readouterr().out.splitlines()) == [
            "('dream', 1)",
            "('sleep', 2)",
            "('to', 3)",
        ]
        return
    names = OutputFileConfig.builder().with_part_prefix("prefix").with_part_suffix(".ext").build()
    counted.sink_to(
        sink=FileSink.for_row_format(
            base_path=str(tmp_path / "counts"), encoder=Encoder.simple_string_encoder()
        )
        .with_output_file_config(names)
        .with_rolling_policy(RollingPolicy.default_rolling_policy())
        .build()
    )
    env.execute()
    assert len(written(tmp_path / "counts")) == 3
    for path in (tmp_path / "counts").rglob("prefix*"):
        assert path.suffix == ".ext"


class FirstTwo(MapFunction):
    """Adds one to the first two values of a key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_state(
            ValueStateDescriptor("seen", Types.PICKLED_BYTE_ARRAY())
        )

    def map(self, value: Any) -> Any:
        seen = self.seen.value()
        if seen is None or seen < 2:
            self.seen.update(1 if seen is None else seen + 1)
            return value[0], value[1] + 1
        return value[0], value[1]


def test_intro_state_of_a_map(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    numbers = env.from_source(
        source=NumberSequenceSource(1, 20),
        watermark_strategy=WatermarkStrategy.for_monotonous_timestamps(),
        source_name="numbers",
        type_info=PageTypes.LONG(),
    )
    counted = (
        numbers.map(lambda a: Row(a % 4, 1), output_type=Types.ROW([Types.LONG(), Types.LONG()]))
        .key_by(lambda a: a[0])
        .map(FirstTwo(), output_type=Types.TUPLE([Types.LONG(), Types.LONG()]))
    )
    names = OutputFileConfig.builder().with_part_prefix("pre").with_part_suffix("suf").build()
    sink = FileSink.for_row_format(str(tmp_path), PageEncoder.simple_string_encoder())
    counted.sink_to(sink.with_output_file_config(names).build())
    env.execute("state_access")
    lines = written(tmp_path)
    assert len(lines) == 20
    assert sum("2)" in line for line in lines) == 8


def test_intro_a_list(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection(collection=[(1, "a|b"), (2, "b")], type_info=PAIR)
    with stream.execute_and_collect() as results:
        assert [tuple(result) for result in results] == [(1, "a|b"), (2, "b")]
    untyped = env.from_collection([1, 2]).map(lambda a: a + 1)
    assert list(untyped.execute_and_collect()) == [2, 3]


def test_intro_kafka_as_it_was_in_flink_1(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    """Nothing is asked of a broker until the job runs; its own tests run the job."""
    jar = tmp_path / "connector.jar"
    with zipfile.ZipFile(jar, "w") as made:
        made.writestr("META-INF/MANIFEST.MF", "")
    env.add_jars(f"file://{jar}")
    env.add_classpaths(f"file://{jar}")
    read = JsonRowDeserializationSchema.builder().type_info(type_info=PAIR).build()
    properties = {"bootstrap.servers": "localhost:9092", "group.id": "a"}
    source = FlinkKafkaConsumer(topics="a", deserialization_schema=read, properties=properties)
    stream = env.add_source(source)
    write = JsonRowSerializationSchema.builder().with_type_info(type_info=PAIR).build()
    sink = FlinkKafkaProducer(topic="b", serialization_schema=write, producer_config=properties)
    stream.add_sink(sink)
    assert '"level": 0' in env.get_execution_plan()


def test_intro_tables(env: StreamExecutionEnvironment, capsys: Any) -> None:
    """A table becomes a stream, which becomes a table that is printed."""
    t_env = StreamTableEnvironment.create(stream_execution_environment=env)
    t_env.execute_sql(
        "CREATE TABLE my_source (a INT, b VARCHAR) WITH ('connector' = 'datagen', "
        "'number-of-rows' = '10')"
    )
    stream = t_env.to_append_stream(t_env.from_path("my_source"), PAIR)
    with stream.execute_and_collect() as results:
        assert len(list(results)) == 10
    t_env.execute_sql("CREATE TABLE my_sink (a INT, b VARCHAR) WITH ('connector' = 'print')")

    def parts(pair: Any) -> Iterator[Row]:
        for part in pair[1].split("|"):
            yield Row(pair[0], part)

    given = env.from_collection([(1, "a|b"), (2, "b")], type_info=PAIR)
    summed = (
        given.map(lambda i: (i[0] + 1, i[1]))
        .flat_map(parts, PAIR)
        .key_by(lambda i: i[1])
        .reduce(lambda i, j: Row(i[0] + j[0], i[1]))
    )
    t_env.from_data_stream(summed).execute_insert("my_sink").wait()
    assert "+I[5, b]" in capsys.readouterr().out


def test_intro_tuples_are_columns(env: StreamExecutionEnvironment, capsys: Any) -> None:
    t_env = StreamTableEnvironment.create(env)
    t_env.execute_sql("CREATE TABLE my_sink (a INT, b VARCHAR) WITH ('connector' = 'print')")

    def parts(pair: Any) -> Iterator[tuple[int, str]]:
        for part in pair[1].split("|"):
            yield pair[0], part

    summed = (
        env.from_collection([(1, "a|b"), (2, "b")], type_info=PAIR)
        .flat_map(parts, Types.TUPLE([Types.INT(), Types.STRING()]))
        .key_by(lambda i: i[1])
        .reduce(lambda i, j: (i[0] + j[0], i[1]))
    )
    t_env.from_data_stream(summed).execute_insert("my_sink").wait()
    assert "+I[3, b]" in capsys.readouterr().out


def test_intro_retracted_streams(env: StreamExecutionEnvironment) -> None:
    t_env = StreamTableEnvironment.create(env)
    table = t_env.from_elements([(1, "a"), (2, "a")], ["n", "k"])
    totals = table.group_by(table.k).select(table.n.sum.cast("INT"), table.k)
    stream = t_env.to_retract_stream(totals, PAIR)
    changes = [tuple(change) for change in stream.execute_and_collect()]
    kept = [row for is_added, row in changes if is_added]
    gone = [row for is_added, row in changes if not is_added]
    assert [tuple(row) for row in kept if row not in gone] == [(3, "a")]


def test_data_types(env: StreamExecutionEnvironment, tmp_path: Path, capsys: Any) -> None:
    given = env.from_collection(collection=[(1, "a"), (2, "b")])
    raised = given.map(lambda record: (record[0] + 1, record[1].upper()))
    raised.print()
    env.execute()
    assert capsys.readouterr().out == "(2, 'A')\n(3, 'B')\n"
    sink = StreamingFileSink.for_row_format(str(tmp_path), Encoder.simple_string_encoder())
    given.map(lambda each: Row(each[0] + 1, each[1]), output_type=PAIR).add_sink(sink.build())
    env.execute()
    assert len(written(tmp_path)) == 2


class PlusOne(MapFunction):
    def map(self, value: int) -> int:
        return value + 1


@pytest.mark.parametrize("function", [PlusOne(), lambda x: x + 1, (2).__rpow__])
def test_operators(env: StreamExecutionEnvironment, function: Any) -> None:
    stream = env.from_collection([1, 2, 3], type_info=Types.INT())
    mapped = stream.map(function, output_type=Types.INT())
    assert list(mapped.execute_and_collect()) in ([2, 3, 4], [1, 4, 9])


class Timely(Trigger[tuple, TimeWindow]):
    """Fires once the watermark has passed the window."""

    def on_element(
        self, element: tuple, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        ctx.register_event_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE

    def on_processing_time(
        self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(
        self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        if time >= window.max_timestamp():
            return TriggerResult.FIRE_AND_PURGE
        return TriggerResult.CONTINUE

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        pass

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        pass


class Tumbling(WindowAssigner[tuple, TimeWindow]):
    def __init__(self, size: int, offset: int, is_event_time: bool) -> None:
        self._size = size
        self._offset = offset
        self._is_event_time = is_event_time

    def assign_windows(
        self, element: tuple, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        start = TimeWindow.get_window_start_with_offset(timestamp, self._offset, self._size)
        return [TimeWindow(start, start + self._size)]

    def get_default_trigger(self, env: StreamExecutionEnvironment) -> Trigger[tuple, TimeWindow]:
        return Timely()

    def get_window_serializer(self) -> TypeSerializer[TimeWindow]:
        return TimeWindowSerializer()

    def is_event_time(self) -> bool:
        return self._is_event_time


class SumOfProcess(ProcessWindowFunction[tuple, tuple, str, TimeWindow]):
    def process(
        self, key: str, content: ProcessWindowFunction.Context, elements: Iterable[tuple]
    ) -> Iterable[tuple]:
        return [(key, content.window().start, sum(each[0] for each in elements))]

    def clear(self, context: ProcessWindowFunction.Context) -> None:
        pass


class SumOfWindow(WindowFunction[tuple, tuple, str, TimeWindow]):
    def apply(self, key: str, window: TimeWindow, inputs: Iterable[tuple]) -> Iterable[tuple]:
        return [(key, window.start, sum(each[0] for each in inputs))]


class Seconds(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[0]) * 1000


@pytest.mark.parametrize("kind", ["process", "apply"])
def test_windows(env: StreamExecutionEnvironment, kind: str) -> None:
    """An assigner, a trigger and window functions of one's own, and late records."""
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Seconds())
    given = env.from_collection(
        [(1, "hi"), (2, "you"), (3, "hi"), (4, "you"), (5, "hi"), (6, "you")],
        type_info=Types.TUPLE([Types.INT(), Types.STRING()]),
    )
    windows = (
        given.assign_timestamps_and_watermarks(strategy)
        .key_by(lambda x: x[1], key_type=Types.STRING())
        .window(Tumbling(4000, 0, True))
        .allowed_lateness(1000)
    )
    result = Types.TUPLE([Types.STRING(), Types.LONG(), Types.INT()])
    summed = (
        windows.process(SumOfProcess(), result)
        if kind == "process"
        else windows.apply(SumOfWindow(), result)
    )
    assert sorted(summed.execute_and_collect()) == [
        ("hi", 0, 4),
        ("hi", 4000, 5),
        ("you", 0, 2),
        ("you", 4000, 10),
    ]


def test_dependencies(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    """Files and archives are there where functions run."""
    package = tmp_path / "shipped" / "page_utils"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "page_util.py").write_text("ANSWER = 42\n")
    env.add_python_file(str(tmp_path / "shipped"))
    archive = tmp_path / "data.zip"
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("data/data.txt", "seven")
    env.add_python_archive(archive_path=str(archive), target_dir="mine")
    env.add_python_archive(archive_path=str(archive), target_dir=None)

    def answer(value: int) -> int:
        from page_utils import page_util

        return int(value + page_util.ANSWER)

    assert list(env.from_collection([1]).map(answer).execute_and_collect()) == [43]


def test_a_job_is_waited_for(env: StreamExecutionEnvironment, capsys: Any) -> None:
    env.from_collection([1]).print()
    client = env.execute_async("mine")
    client.get_job_execution_result().result()
    assert capsys.readouterr().out == "1\n"
