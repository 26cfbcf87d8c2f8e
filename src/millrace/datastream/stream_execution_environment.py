"""The environment, in which streams begin and jobs are started."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from millrace.common.config import flink_options, options
from millrace.common.config.checkpoint_config import CheckpointConfig, CheckpointingMode
from millrace.common.config.configuration import Configuration
from millrace.common.config.execution_config import ExecutionConfig
from millrace.common.config.execution_mode import RuntimeExecutionMode
from millrace.common.config.restart_strategy import RestartStrategies, RestartStrategyConfiguration
from millrace.common.errors import JobDefinitionError
from millrace.common.functions.base import SourceFunction  # noqa: F401  (PyFlink has it here)
from millrace.common.job import JobExecutionResult
from millrace.common.job_client import JobClient  # noqa: F401  (PyFlink has it here)
from millrace.common.source import Source
from millrace.common.time.amounts import Duration, Time
from millrace.common.time.watermark_strategy import WatermarkStrategy
from millrace.common.types.result_type_queryable import ResultTypeQueryable
from millrace.common.types.row import Row
from millrace.common.types.typeinfo import TypeInformation, Types  # noqa: F401  (PyFlink has it here)
from millrace.datastream import unexecuted
from millrace.datastream.checks import built_or_not
from millrace.datastream.collected import CloseableIterator
from millrace.datastream.connect_target import connect_server
from millrace.datastream.data_stream_sink import DataStreamSink, checked_parallelism
from millrace.datastream.execution_target import explained_choice
from millrace.datastream.job_dependencies import JobDependencies
from millrace.datastream.job_launcher import JobLauncher
from millrace.datastream.slot_sharing_group import SlotSharingGroup
from millrace.datastream.stream import DataStream
from millrace.datastream.stream_picture import StreamPicture
from millrace.engine.embedded_job_client import EmbeddedJobClient
from millrace.engine.program_file import default_job_name, program_file
from millrace.job_graph.execution_plan import execution_plan
from millrace.job_graph.job_graph import JobGraph
from millrace.job_graph.stages import inputs_first
from millrace.job_graph.transformation import Input, Role, Transformation
from millrace.runtime.declared_output import DeclaredRecords, with_declared_output
from millrace.runtime.operators.source import SourceOperator
from millrace.state.backend.state_backend import StateBackend

if TYPE_CHECKING:
    from millrace.connectors.file_source import FileSource

T = TypeVar("T")
ResultHandler = Callable[[list[Any], int, int], None]


class StreamExecutionEnvironment(JobDependencies, StreamPicture):
    """Builds and runs jobs. Flink: class ``StreamExecutionEnvironment``.

    Example:
        >>> env = StreamExecutionEnvironment.get_execution_environment()
        >>> env.set_parallelism(2).get_parallelism()
        2
    """

    def __init__(self, configuration: Configuration | None = None) -> None:
        self._configuration = Configuration(configuration)
        self._configuration.validate()
        self._checkpoint_config = CheckpointConfig(self._configuration)
        self._config = ExecutionConfig(self._configuration)
        self._restart_strategy: RestartStrategyConfiguration | None = None
        self._state_backend: StateBackend | None = None
        self._loops = 0
        self._slot_sharing_groups: dict[str, SlotSharingGroup] = {}
        self._sinks: list[Transformation] = []
        self._planned = False
        self._handlers: dict[Transformation, ResultHandler] = {}
        self.launcher = JobLauncher.of_environment()

    @staticmethod
    def get_execution_environment(
        configuration: Configuration | None = None,
    ) -> StreamExecutionEnvironment:
        """An environment with the given configuration; under ``millrace run``, with the settings
        of its command line on top.

        Raises:
            ConfigurationError: an unknown key, or a value of the wrong type.
        """
        launcher = JobLauncher.current()
        merged = Configuration(launcher.defaults)
        merged.add_all(Configuration(configuration)).add_all(launcher.settings)
        return StreamExecutionEnvironment(merged)

    # -- settings ----------------------------------------------------------------------

    def get_config(self) -> ExecutionConfig:
        """Execution settings of the environment."""
        return self._config

    def get_checkpoint_config(self) -> CheckpointConfig:
        """Checkpoint settings of the environment."""
        return self._checkpoint_config

    def configure(self, configuration: Configuration) -> StreamExecutionEnvironment:
        """Add settings to the environment."""
        self._configuration.add_all(configuration)
        self._configuration.validate()
        return self

    def set_parallelism(self, parallelism: int) -> StreamExecutionEnvironment:
        """Set the parallelism of later operators that have no parallelism of their own."""
        self._config.set_parallelism(checked_parallelism(parallelism))
        return self

    def get_parallelism(self) -> int:
        """Parallelism of operators that have no parallelism of their own."""
        return self._config.get_parallelism()

    @staticmethod
    def get_default_local_parallelism() -> int:
        """Parallelism of environments that configure none."""
        return JobLauncher.current().defaults.get(options.PARALLELISM)

    @staticmethod
    def set_default_local_parallelism(parallelism: int) -> None:
        """Set the parallelism of later environments in this process that configure none."""
        JobLauncher.current().defaults.set(options.PARALLELISM, checked_parallelism(parallelism))

    def set_max_parallelism(self, max_parallelism: int) -> StreamExecutionEnvironment:
        """Set the number of key groups, which is fixed for the life of a job's state."""
        self._config.set_max_parallelism(max_parallelism)
        return self

    def get_max_parallelism(self) -> int:
        """The number of key groups."""
        return self._configuration.get(options.MAX_PARALLELISM)

    def set_runtime_mode(self, execution_mode: RuntimeExecutionMode) -> StreamExecutionEnvironment:
        """Set STREAMING, BATCH (final results only) or AUTOMATIC."""
        self._configuration.set(options.RUNTIME_MODE, execution_mode.name)
        return self

    def enable_checkpointing(
        self, interval: int, mode: CheckpointingMode = CheckpointingMode.EXACTLY_ONCE
    ) -> StreamExecutionEnvironment:
        """Make a checkpoint every ``interval`` ms; with 0, after every epoch."""
        self._checkpoint_config.set_checkpoint_interval(interval)
        self._checkpoint_config.set_checkpointing_mode(mode)
        return self

    def get_checkpoint_interval(self) -> int:
        """Milliseconds between checkpoints; -1 if there are none."""
        return self._checkpoint_config.get_checkpoint_interval()

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """Guarantee for state after a failure: exactly once or at least once."""
        return self._checkpoint_config.get_checkpointing_mode()

    def is_unaligned_checkpoints_enabled(self) -> bool:
        """Whether the program enabled unaligned checkpoints; the setting has no effect."""
        return self._checkpoint_config.is_unaligned_checkpoints_enabled()

    def is_force_unaligned_checkpoints(self) -> bool:
        """Whether the program forced unaligned checkpoints; the setting has no effect."""
        return self._checkpoint_config.is_force_unaligned_checkpoints()

    def enable_changelog_state_backend(self, enabled: bool) -> StreamExecutionEnvironment:
        """Accepted and kept, without effect: every epoch writes the changes of its state in any
        case.
        """
        self._configuration.set(flink_options.CHANGELOG, enabled)
        return self

    def is_changelog_state_backend_enabled(self) -> bool | None:
        """The program's setting, which has no effect; None if the program has not set it."""
        return self._configuration.get(flink_options.CHANGELOG)

    def set_default_savepoint_directory(self, directory: str) -> StreamExecutionEnvironment:
        """Set the directory of savepoints that are requested without one."""
        self._configuration.set(options.SAVEPOINT_DIR, directory)
        return self

    def get_default_savepoint_directory(self) -> str | None:
        """Directory of savepoints that are requested without one; None if none is configured."""
        return self._configuration.get(options.SAVEPOINT_DIR)

    def set_restart_strategy(
        self, restart_strategy_configuration: RestartStrategyConfiguration
    ) -> StreamExecutionEnvironment:
        """Set the strategy for failures of user functions; without one, the job fails."""
        self._restart_strategy = restart_strategy_configuration
        return self

    def get_restart_strategy(self) -> RestartStrategyConfiguration:
        """Strategy for failures of user functions."""
        return self._restart_strategy or RestartStrategies.from_configuration(self._configuration)

    def set_state_backend(self, state_backend: StateBackend) -> StreamExecutionEnvironment:
        """Set the state backend, the place of keyed state while the job runs (Flink docs, "State
        Backends"); it has precedence over the option ``state.backend.type``.

        Example:
            >>> from millrace.datastream.state_backend import HashMapStateBackend
            >>> env = StreamExecutionEnvironment.get_execution_environment()
            >>> env.set_state_backend(HashMapStateBackend()).get_state_backend().name
            'hashmap'
        """
        self._state_backend = state_backend
        return self

    def get_state_backend(self) -> StateBackend | None:
        """State backend of `set_state_backend`, or None."""
        return self._state_backend

    def disable_operator_chaining(self) -> StreamExecutionEnvironment:
        """Run every operator built from now on in a stage of its own."""
        self._configuration.set(flink_options.OPERATOR_CHAINING, False)
        return self

    def is_chaining_enabled(self) -> bool:
        """Whether operators are chained where possible."""
        return self._configuration.get(flink_options.OPERATOR_CHAINING)

    def is_chaining_of_operators_with_different_max_parallelism_enabled(self) -> bool:
        """The configured value; all operators of a job share one max parallelism in any case."""
        return self._configuration.get(flink_options.CHAIN_OTHER_MAX_PARALLELISM)

    def register_slot_sharing_group(
        self, slot_sharing_group: SlotSharingGroup
    ) -> StreamExecutionEnvironment:
        """Accepted and kept for the plan; Spark decides where tasks run (see docs/deviations)."""
        self._slot_sharing_groups[slot_sharing_group.get_name()] = slot_sharing_group
        return self

    def set_buffer_timeout(self, timeout_millis: int) -> StreamExecutionEnvironment:
        """Limit the time that records wait in a busy subtask of resident tasks for a buffer to
        fill. For 0, each record is processed and sent alone; for -1, a buffer is sent only when it
        is full.

        With a Spark job per epoch, buffers are sent when they are full, and at the end of the
        epoch.

        Raises:
            JobDefinitionError: the timeout is below -1.
        """
        if timeout_millis < -1:
            raise JobDefinitionError(
                f"set_buffer_timeout() takes -1 or a number of ms from 0, got {timeout_millis}"
            )
        self._configuration.set(flink_options.BUFFER_TIMEOUT_ENABLED, timeout_millis >= 0)
        if timeout_millis >= 0:
            timeout = Duration.of_millis(timeout_millis)
            self._configuration.set(flink_options.BUFFER_TIMEOUT, timeout)
        return self

    def get_buffer_timeout(self) -> int:
        """The buffer timeout that `set_buffer_timeout` has set, in ms; 5 by default. -1 means
        that there is no timeout."""
        if not self._configuration.get(flink_options.BUFFER_TIMEOUT_ENABLED):
            return -1
        return self._configuration.get(flink_options.BUFFER_TIMEOUT).to_millis()

    def get_checkpointing_consistency_mode(self) -> CheckpointingMode:
        """Guarantee for state after a failure: exactly once or at least once."""
        return self.get_checkpointing_mode()

    # -- sources -----------------------------------------------------------------------

    def from_collection(
        self, collection: Collection[T], type_info: TypeInformation[Any] | None = None
    ) -> DataStream[T]:
        """A stream of the elements of a collection, for tests and small tables, because the
        collection is shipped with the program. With a row type, tuples, lists and dicts become rows
        with its names.

        The collection is read in its order, by one subtask. The subtasks of a next operator at a
        higher parallelism get the records by turns, so records of one key may overtake one another
        before ``key_by``. Set parallelism 1 there if the order matters.

        Raises:
            SerializationError: a record is not of the declared type.
        """
        from millrace.connectors.collection import CollectionSource

        records, declared = list(collection), DeclaredRecords.of(type_info)
        if declared is not None:
            records = declared.records(records)
        strategy = WatermarkStrategy.no_watermarks()
        stream = self.from_source(CollectionSource(records), strategy, "Collection")
        stream._transformation.output_type = type_info
        # one reader keeps the collection's order
        return stream.set_parallelism(1)

    def from_source(
        self,
        source: Source[T],
        watermark_strategy: WatermarkStrategy[Any],
        source_name: str,
        type_info: TypeInformation[Any] | None = None,
    ) -> DataStream[T]:
        """A stream of a `Source`, with event times and watermarks per split.

        A record that is not of the type in ``type_info`` fails the job. Without it, the type is
        that of a source which is a `ResultTypeQueryable`.
        """
        if not isinstance(source, Source):
            raise JobDefinitionError(f"from_source() takes a Source, got {built_or_not(source)}")
        if not isinstance(watermark_strategy, WatermarkStrategy):
            raise JobDefinitionError(
                f"source '{source_name}' needs a WatermarkStrategy, got {watermark_strategy!r}; "
                "use WatermarkStrategy.no_watermarks() if it has no event time"
            )
        if type_info is None and isinstance(source, ResultTypeQueryable):
            type_info = source.get_produced_type()
        transformation = Transformation(
            name=source_name,
            role=Role.SOURCE,
            factory=with_declared_output(
                partial(SourceOperator, source, watermark_strategy), type_info
            ),
            inputs=(),
            parallelism=self.get_parallelism(),
            chaining=self.is_chaining_enabled(),
            functions=(source, watermark_strategy),
            alignment=watermark_strategy.alignment,
            source=source,
            output_type=type_info,
        )
        return DataStream(self, [Input(transformation)])

    def add_source(
        self,
        source_func: Source[T],
        source_name: str = "Custom Source",
        type_info: TypeInformation[Any] | None = None,
    ) -> DataStream[T]:
        """A stream of a `Source` without event times: the form of `from_source` in older Flink
        programs.

        Raises:
            JobDefinitionError: the object is not a `Source`.
        """
        if not isinstance(source_func, Source):
            raise JobDefinitionError(
                f"add_source() takes a Source, got {source_func!r}: there are no SourceFunctions"
            )
        none: WatermarkStrategy[Any] = WatermarkStrategy.no_watermarks()
        return self.from_source(source_func, none, source_name, type_info)

    def create_input(
        self, input_format: Any, type_info: TypeInformation[T] | None = None
    ) -> DataStream[Any]:
        """A stream of an input format with its own path, such as `AvroInputFormat`.

        Raises:
            JobDefinitionError: the object is not such a format.
        """
        from millrace.connectors.file_source import FileSource
        from millrace.formats.file_format import FileFormat

        path = getattr(input_format, "path", None)
        if not isinstance(input_format, FileFormat) or path is None:
            raise JobDefinitionError(
                f"create_input() takes AvroInputFormat(path, schema), got {input_format!r}; other "
                "formats go into a FileSource"
            )
        source = FileSource.for_bulk_file_format(input_format, path).build()
        name = type(input_format).__name__
        return self.from_source(source, WatermarkStrategy.no_watermarks(), name, type_info)

    def read_text_file(self, file_path: str, charset_name: str = "UTF-8") -> DataStream[str]:
        """The lines of a text file, or of all files below a directory."""
        from millrace.connectors.file_source import FileSource
        from millrace.formats.stream_format import StreamFormat

        text = StreamFormat.text_line_format(charset_name)
        source: FileSource[str] = FileSource.for_record_stream_format(text, file_path).build()
        return self.from_source(source, WatermarkStrategy.no_watermarks(), "Text File")

    def from_spark(
        self,
        dataframe: Any,
        watermark_strategy: WatermarkStrategy[Any] | None = None,
        source_name: str = "DataFrame",
        *,
        repeatable: bool = False,
        trigger: Mapping[str, Any] | None = None,
        record_type: type[Any] = Row,
    ) -> DataStream[Any]:
        """A stream of a DataFrame's rows, streaming or bounded: any Spark reader becomes a source.

        Each is a `Row` with the DataFrame's column names, or a dict. They travel in columns, and
        stay so until somebody wants them one by one.

        Args:
            dataframe: a `pyspark.sql.DataFrame`, such as ``spark.readStream.format(...).load()``.
            watermark_strategy: strategy for event time; None for no watermarks.
            repeatable: whether a bounded DataFrame has the same rows in the same partitions
                whenever it is computed. If not, Spark writes it to files once, which the job reads.
            trigger: interval of a streaming DataFrame's micro-batches, as the arguments of
                `pyspark.sql.streaming.DataStreamWriter.trigger`.
            record_type: ``Row`` or ``dict``.

        Raises:
            JobDefinitionError: the object is not a DataFrame of PySpark, a column has a type that
                Arrow lacks, or an option is for the other kind of DataFrame.

        Example::

            ticks = spark.readStream.format("rate").option("rowsPerSecond", 100).load()
            env.from_spark(ticks).map(lambda row: row.value % 10).print()
        """
        from millrace.spark.connector import dataframe_source

        directory = self._configuration.get(options.CHECKPOINTING_DIR)
        source = dataframe_source(dataframe, directory, repeatable, trigger, record_type)
        strategy = watermark_strategy or WatermarkStrategy.no_watermarks()
        return self.from_source(source, strategy, source_name)

    def state_changes(
        self,
        directory: str | os.PathLike[str],
        uid: str,
        state_name: str,
        job_name: str | None = None,
        *,
        bounded: bool = False,
        poll_interval: Duration | Time | int | None = None,
        source_name: str = "State Changes",
    ) -> DataStream[Row]:
        """The committed changes of a keyed state of another job, exactly once.

        Each is a `Row` of ``key``, ``value`` and ``checkpoint``, whose kind says what it does
        (Flink docs, "Dynamic Tables"): INSERT, UPDATE_BEFORE with the former value, UPDATE_AFTER,
        DELETE with the last value. Changes of a key between two looks may be given as one. The
        first ones are all there is: a table as a stream. See `StateChangesSource` for the
        arguments. The copy of the state that this needs is keyed state of this job.
        """
        from millrace.connectors.state_changes import CopyComplete, StateUpdate
        from millrace.state_processor.state_changelog import COPIES, StateChangelog, key_of_update
        from millrace.state_processor.state_changes_source import StateChangesSource

        source = StateChangesSource(
            directory,
            uid,
            state_name,
            job_name,
            bounded=bounded,
            poll_interval=poll_interval,
        )
        strategy = WatermarkStrategy.for_monotonous_timestamps()
        read: DataStream[Any] = self.from_source(source, strategy, source_name).set_parallelism(1)
        updates = read.filter(lambda record: isinstance(record, StateUpdate)).name("Updates")
        copies = read.filter(lambda record: isinstance(record, CopyComplete)).name("Copies")
        keyed = updates.set_parallelism(1).key_by(key_of_update)
        changes: DataStream[Row] = keyed.connect(
            copies.set_parallelism(1).broadcast(COPIES)
        ).process(StateChangelog())
        return changes.name(f"{source_name}: {uid}/{state_name}")

    # -- running -----------------------------------------------------------------------

    def execute(self, job_name: str | None = None) -> JobExecutionResult:
        """Run the job to its end.

        Raises:
            JobDefinitionError: the program is wrong, or has no sink.
            UserFunctionError: a user function failed, and the restart strategy gave up.
            JobExecutionError: Spark failed again and again.
        """
        client = self.build_client(job_name)
        return self.launcher.run_to_end(client)

    def execute_async(self, job_name: str | None = None) -> EmbeddedJobClient:
        """Start the job in the background."""
        return self.launcher.start(self.build_client(job_name))

    def get_execution_plan(self) -> str:
        """The plan of the job so far, as JSON in the form of Flink's plans."""
        graph = self._graph()
        self._planned = True
        return json.dumps(execution_plan(graph, inputs_first(self._sinks)), indent=2)

    def explain(self) -> str:
        """The operators of the job so far, one per line, and the executor that it would get."""
        if not self._sinks:
            return super().explain()
        executor = self.explained_executor(self._sinks, Configuration())
        return f"{super().explain()}\nexecutor: {executor}"

    def explained_executor(self, sinks: Sequence[Transformation], settings: Configuration) -> str:
        """The executor that a job with the given sinks would get, and why. ``settings`` have
        precedence over the environment's."""
        configuration = Configuration(self._configuration)
        configuration.add_all(settings)
        graph = self.launcher.graph(sinks, configuration, "explain", backend=self._state_backend)
        server = connect_server(configuration)
        return explained_choice(graph, configuration) if server is None else str(server.choice)

    def _graph(self) -> JobGraph:
        name, backend = self._job_name(None), self._state_backend
        return self.launcher.graph(self._sinks, self._configuration, name, backend=backend)

    def _graph_ends(self) -> list[Transformation]:
        return self._sinks

    def __repr__(self) -> str:
        return f"<environment of {len(self._sinks)} sinks, parallelism {self.get_parallelism()}>"

    def build_client(
        self, job_name: str | None, settings: Configuration | None = None
    ) -> EmbeddedJobClient:
        """A client of the job with all sinks so far, not yet started.

        Args:
            settings: settings of this job only, which have precedence over the environment's.
        """
        configuration = Configuration(self._configuration)
        if settings is not None:
            configuration.add_all(settings)
            configuration.validate()
        sinks, self._sinks = self._sinks, []
        handlers, self._handlers = self._handlers, {}
        return self.launcher.client(
            sinks,
            handlers,
            configuration,
            self._job_name(job_name),
            self._restart_strategy or RestartStrategies.from_configuration(configuration),
            self._state_backend,
        )

    def _job_name(self, job_name: str | None) -> str:
        configured = self._configuration.get(options.JOB_NAME)
        return job_name or configured or default_job_name(program_file())

    def close(self) -> None:
        """Do nothing: the Spark session outlives the environment."""

    # -- what streams add --------------------------------------------------------------

    def new_loop(self) -> str:
        """A new name for a loop."""
        self._loops += 1
        return f"loop-{self._loops}"

    def add_sink_transformation(self, transformation: Transformation) -> DataStreamSink:
        """Add a transformation as an end of the job."""
        self._sinks.append(transformation)
        unexecuted.note(self)
        return DataStreamSink(transformation)

    @property
    def unexecuted(self) -> int:
        """Number of sinks that were defined after the last execution; 0 if the plan was
        requested since."""
        return 0 if self._planned else len(self._sinks)

    def add_result_handler(self, transformation: Transformation, handler: ResultHandler) -> None:
        """Pass the records of a collecting transformation to ``handler``."""
        self._handlers[transformation] = handler

    def collect_records(
        self,
        transformation: Transformation,
        job_name: str | None,
        settings: Configuration | None = None,
    ) -> CloseableIterator[Any]:
        """Run the job, with ``transformation`` as an additional sink, and iterate over the records
        of this sink.

        Args:
            settings: settings of this job only, which have precedence over the environment's.
        """
        iterator: CloseableIterator[Any] = CloseableIterator()
        self.add_result_handler(transformation, iterator)
        self.add_sink_transformation(transformation)
        client = self.build_client(job_name, settings)
        iterator.attach(client)
        client.start()
        return iterator
