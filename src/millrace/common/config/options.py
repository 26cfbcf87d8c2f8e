"""Every configuration key of millrace, with its type, default and description.

Keys have Flink's names where Flink has them (Flink docs, "Configuration"); those that begin with
``millrace.`` are our own. The documentation's table is made from this registry.
"""

from __future__ import annotations

from typing import Any, TypeVar

from millrace.common.config.config_options import ConfigOption, ConfigOptions
from millrace.common.config.memory_size import MemorySize
from millrace.common.time.amounts import Duration

__all__ = ["OPTIONS", "known"]

T = TypeVar("T")

OPTIONS: dict[str, ConfigOption[Any]] = {}


def known(option: ConfigOption[T], description: str) -> ConfigOption[T]:
    """Add an option to the registry."""
    described = option.with_description(description)
    OPTIONS[option.key] = described
    return described


PARALLELISM = known(
    ConfigOptions.key("parallelism.default").int_type().default_value(1).at_least(1),
    "Parallelism of operators that set none.",
)
MAX_PARALLELISM = known(
    ConfigOptions.key("pipeline.max-parallelism").int_type().default_value(128).at_least(1),
    "Number of key groups: the highest parallelism that keyed state can be rescaled to.",
)
JOB_NAME = known(
    ConfigOptions.key("pipeline.name").string_type().no_default_value(),
    "Name of the job if `execute` is given none. If there is none here either, it follows from the "
    "path of the program's file.",
)
AUTO_WATERMARK_INTERVAL = known(
    ConfigOptions.key("pipeline.auto-watermark-interval")
    .duration_type()
    .default_value(Duration.of_millis(200))
    .at_least(0),
    "Time after which a watermark generator of your own is asked (`on_periodic_emit`) although no "
    "record has come; `0 ms`: never. On resident tasks only. Every generator is also asked after "
    "every batch of records and at the end of every epoch.",
)
GLOBAL_JOB_PARAMETERS = known(
    ConfigOptions.key("pipeline.global-job-parameters").map_type().default_value({}),
    "Parameters of your own, as `name:value,name:value`.",
)
RUNTIME_MODE = known(
    ConfigOptions.key("execution.runtime-mode")
    .string_type()
    .default_value("STREAMING")
    .one_of("STREAMING", "BATCH", "AUTOMATIC"),
    "`BATCH` gives only final results and makes no checkpoints; `AUTOMATIC` chooses it when all "
    "sources are bounded.",
)
AVAILABLE_NOW = known(
    ConfigOptions.key("millrace.available-now").boolean_type().default_value(False),
    "Whether a run reads what there is when it begins, and ends; it goes on from the newest "
    "checkpoint, also of a run that has finished (`millrace run --available-now`).",
)
CHECKPOINTING_INTERVAL = known(
    ConfigOptions.key("execution.checkpointing.interval").duration_type().no_default_value(),
    "Time from one checkpoint to the next; `0 ms`: one after every epoch. Unset: 1 s.",
)
CHECKPOINTING_DIR = known(
    ConfigOptions.key("execution.checkpointing.dir").string_type().no_default_value(),
    "Directory under which each job keeps its checkpoints.",
)
CONTROL_DIR = known(
    ConfigOptions.key("millrace.control.directory").string_type().no_default_value(),
    "Directory of this machine with what commands need to find and operate a job: its record, its "
    "details and its mailbox. Unset: beside its checkpoints, or, if those are in an object store, "
    "where `millrace run` keeps checkpoints by default. The job server sets it for each of its "
    "jobs; their checkpoints are there, too, or in a subdirectory with the job's id of an object "
    "store that the job names.",
)
CHECKPOINTING_NUM_RETAINED = known(
    ConfigOptions.key("execution.checkpointing.num-retained")
    .int_type()
    .default_value(2)
    .at_least(1),
    "How many completed checkpoints are kept.",
)
EXTERNALIZED_CHECKPOINT_RETENTION = known(
    ConfigOptions.key("execution.checkpointing.externalized-checkpoint-retention")
    .string_type()
    .default_value("RETAIN_ON_CANCELLATION")
    .one_of("RETAIN_ON_CANCELLATION", "DELETE_ON_CANCELLATION", "NO_EXTERNALIZED_CHECKPOINTS"),
    "What becomes of the checkpoints when the job ends: they stay; are deleted if it was "
    "cancelled; or are deleted however it ended, unless it was killed or stopped to be resumed.",
)
CHECKPOINTING_MODE = known(
    ConfigOptions.key("execution.checkpointing.mode")
    .string_type()
    .default_value("EXACTLY_ONCE")
    .one_of("EXACTLY_ONCE", "AT_LEAST_ONCE"),
    "Guarantee for state. An epoch is a consistent cut in both modes.",
)
TOLERABLE_FAILED_CHECKPOINTS = known(
    ConfigOptions.key("execution.checkpointing.tolerable-failed-checkpoints")
    .int_type()
    .default_value(0)
    .at_least(0),
    "How many checkpoints in a row may fail before the job does.",
)
RESUME = known(
    ConfigOptions.key("millrace.resume").boolean_type().default_value(False),
    "Whether a run goes on from the newest checkpoint of the job's name in the checkpoint "
    "directory; without one, it starts afresh (`millrace run --resume`).",
)
RESUME_FROM = known(
    ConfigOptions.key("millrace.checkpoint.resume-from").int_type().no_default_value().at_least(1),
    "Number of the checkpoint that a run with `--resume` or `millrace.resume` goes on from. "
    "Unset: the newest.",
)
START_FROM = known(
    ConfigOptions.key("execution.state-recovery.path").string_type().no_default_value(),
    "Savepoint or checkpoint that the job starts from (`millrace run -s PATH`). With `--resume`, a "
    "checkpoint of the job itself comes first.",
)
CLAIM_MODE = known(
    ConfigOptions.key("execution.state-recovery.claim-mode")
    .string_type()
    .default_value("NO_CLAIM")
    .one_of("NO_CLAIM", "CLAIM"),
    "Whose the snapshot is that the job starts from. `NO_CLAIM`: it stays its owner's, and nothing "
    "in it or pending in it is touched. `CLAIM`: it becomes the job's own, which commits what is "
    "pending in it and deletes it after the first checkpoint of its own.",
)
KEEP_CLAIMED = known(
    ConfigOptions.key("millrace.state-recovery.keep-claimed").boolean_type().default_value(False),
    "Whether a claimed snapshot stays. The job takes it over as its owner does, with what is "
    "pending in it, but does not delete it; a job that starts from it later gets it as with "
    "`NO_CLAIM`. A rerun of an ended job from its last checkpoint sets this.",
)
ALLOW_PICKLE = known(
    ConfigOptions.key("execution.state-recovery.allow-pickle").boolean_type().default_value(False),
    "Whether the job may start from a native snapshot that it has not written itself, and from "
    "values that are pickled in a savepoint of others. Reading them can run code of "
    "their author (`millrace run --allow-pickle`).",
)
ALLOW_NON_RESTORED = known(
    ConfigOptions.key("execution.state-recovery.ignore-unclaimed-state")
    .boolean_type()
    .default_value(False),
    "Start although the snapshot has state of operators that the job does not have; that state is "
    "left behind.",
)
SAVEPOINT_DIR = known(
    ConfigOptions.key("execution.checkpointing.savepoint-dir").string_type().no_default_value(),
    "Directory for savepoints that are asked for without one.",
)
STATE_BACKEND = known(
    ConfigOptions.key("state.backend.type").string_type().default_value("hashmap"),
    "Where keyed state lives while the job runs: `hashmap` (in memory), `rocksdb` (on the workers' "
    "disks) or the name of an entry point of the group `millrace.state_backends`.",
)
RECOVER_LOCALLY = known(
    ConfigOptions.key("execution.state-recovery.from-local").boolean_type().default_value(False),
    "Whether a run that goes on from a checkpoint takes over the databases that its predecessor "
    "left on the hosts (`rocksdb` only), instead of reading all state from the checkpoint.",
)
ROCKSDB_LOCALDIR = known(
    ConfigOptions.key("state.backend.rocksdb.localdir").string_type().no_default_value(),
    "Directories on local disks of the workers for databases, as `/a,/b`. Unset: the host's "
    "directory for temporary files.",
)
ROCKSDB_CACHE = known(
    ConfigOptions.key("millrace.state.rocksdb.cache-size")
    .memory_type()
    .default_value(MemorySize.of_mebi_bytes(256)),
    "Memory that the decoded entries of one subtask may take between two epochs.",
)
ROCKSDB_BLOCK_CACHE = known(
    ConfigOptions.key("state.backend.rocksdb.block.cache-size")
    .memory_type()
    .default_value(MemorySize.of_mebi_bytes(64)),
    "Memory for blocks of a database's files, per subtask.",
)
ROCKSDB_WRITE_BUFFER = known(
    ConfigOptions.key("state.backend.rocksdb.writebuffer.size")
    .memory_type()
    .default_value(MemorySize.of_mebi_bytes(32)),
    "Memory in which a database gathers what it writes to a file.",
)
ROCKSDB_WRITE_BUFFERS = known(
    ConfigOptions.key("state.backend.rocksdb.writebuffer.count")
    .int_type()
    .default_value(2)
    .at_least(1),
    "How many of these there may be at a time.",
)
ROCKSDB_BLOOM = known(
    ConfigOptions.key("state.backend.rocksdb.use-bloom-filter").boolean_type().default_value(True),
    "Whether files have filters that tell which keys they cannot have.",
)
ROCKSDB_BLOOM_BITS = known(
    ConfigOptions.key("state.backend.rocksdb.bloom-filter.bits-per-key")
    .int_type()
    .default_value(10)
    .at_least(1),
    "Size of these filters.",
)
ROCKSDB_THREADS = known(
    ConfigOptions.key("state.backend.rocksdb.thread.num").int_type().default_value(2).at_least(1),
    "Threads of a database that write and merge files.",
)
ROCKSDB_PREDEFINED = known(
    ConfigOptions.key("state.backend.rocksdb.predefined-options")
    .string_type()
    .default_value("DEFAULT")
    .one_of(
        "DEFAULT",
        "SPINNING_DISK_OPTIMIZED",
        "SPINNING_DISK_OPTIMIZED_HIGH_MEM",
        "FLASH_SSD_OPTIMIZED",
    ),
    "Options for a kind of hardware; they replace some of those above.",
)
RESTART_STRATEGY = known(
    ConfigOptions.key("restart-strategy.type")
    .string_type()
    .no_default_value()
    .one_of(
        *("none", "fixed-delay", "failure-rate", "exponential-delay"),
        *("off", "disable", "fixeddelay", "failurerate", "exponentialdelay"),  # Flink's, too
    ),
    "What to do when a user function fails. Unset: `none`, which is also called `off`.",
)
FIXED_DELAY_ATTEMPTS = known(
    ConfigOptions.key("restart-strategy.fixed-delay.attempts")
    .int_type()
    .default_value(1)
    .at_least(0),
    "How often `fixed-delay` restarts the job before it fails.",
)
FIXED_DELAY_DELAY = known(
    ConfigOptions.key("restart-strategy.fixed-delay.delay")
    .duration_type()
    .default_value(Duration.of_seconds(1)),
    "Pause before each of these restarts.",
)
FAILURE_RATE_MAX_FAILURES = known(
    ConfigOptions.key("restart-strategy.failure-rate.max-failures-per-interval")
    .int_type()
    .default_value(1)
    .at_least(0),
    "How many failures within the interval `failure-rate` survives.",
)
FAILURE_RATE_INTERVAL = known(
    ConfigOptions.key("restart-strategy.failure-rate.failure-rate-interval")
    .duration_type()
    .default_value(Duration.of_minutes(1)),
    "The interval in which failures are counted.",
)
FAILURE_RATE_DELAY = known(
    ConfigOptions.key("restart-strategy.failure-rate.delay")
    .duration_type()
    .default_value(Duration.of_seconds(1)),
    "Pause before each of these restarts.",
)
EXPONENTIAL_INITIAL_BACKOFF = known(
    ConfigOptions.key("restart-strategy.exponential-delay.initial-backoff")
    .duration_type()
    .default_value(Duration.of_seconds(1)),
    "First pause of `exponential-delay`.",
)
EXPONENTIAL_MAX_BACKOFF = known(
    ConfigOptions.key("restart-strategy.exponential-delay.max-backoff")
    .duration_type()
    .default_value(Duration.of_minutes(1)),
    "Longest pause.",
)
EXPONENTIAL_MULTIPLIER = known(
    ConfigOptions.key("restart-strategy.exponential-delay.backoff-multiplier")
    .double_type()
    .default_value(1.5)
    .at_least(1),
    "Factor from one pause to the next.",
)
EXPONENTIAL_RESET_THRESHOLD = known(
    ConfigOptions.key("restart-strategy.exponential-delay.reset-backoff-threshold")
    .duration_type()
    .default_value(Duration.of_hours(1)),
    "Time without failure after which the pause is the first one again.",
)
EXPONENTIAL_JITTER = known(
    ConfigOptions.key("restart-strategy.exponential-delay.jitter-factor")
    .double_type()
    .default_value(0.1)
    .at_least(0),
    "Part of the pause that is added or subtracted at random.",
)
EPOCH_TARGET_DURATION = known(
    ConfigOptions.key("millrace.epoch.target-duration")
    .duration_type()
    .default_value(Duration.of_seconds(1))
    .at_least(1),
    "How long an epoch should take under load; its size adapts.",
)
EPOCH_MAX_RECORDS = known(
    ConfigOptions.key("millrace.epoch.max-records-per-split")
    .int_type()
    .default_value(1_000_000)
    .at_least(1),
    "Most records that an epoch reads from one split: bounds memory. Batch mode reads splits whole "
    "unless this is set.",
)
EPOCH_INITIAL_RECORDS = known(
    ConfigOptions.key("millrace.epoch.initial-records-per-split")
    .int_type()
    .default_value(100)
    .at_least(1),
    "Records that the first epoch reads from each split: nothing is known of their cost yet. "
    "Those that follow grow as long as they are quick.",
)
EPOCH_MIN_INTERVAL = known(
    ConfigOptions.key("millrace.epoch.min-interval")
    .duration_type()
    .default_value(Duration.of_millis(0)),
    "Least time from the start of one epoch to the next: fewer, larger epochs.",
)
EPOCH_KEEP_WARM = known(
    ConfigOptions.key("millrace.epoch.keep-warm")
    .duration_type()
    .default_value(Duration.of_seconds(45)),
    "An idle job runs an empty epoch this often, because Spark ends idle Python workers, and their "
    "state with them, after 60 s.",
)
EPOCH_REPORT_AFTER = known(
    ConfigOptions.key("millrace.epoch.report-after")
    .duration_type()
    .default_value(Duration.of_minutes(1)),
    "An epoch that takes longer is logged with the Python stacks of the subtasks that it waits "
    "for, and again whenever it has taken twice as long; `0 s`: never.",
)
EPOCH_TIMEOUT = known(
    ConfigOptions.key("millrace.epoch.timeout").duration_type().no_default_value().at_least(1),
    "An epoch that takes longer fails, and the restart strategy decides what follows.",
)
BUFFER_RECORDS = known(
    ConfigOptions.key("millrace.buffer.records").int_type().default_value(4096).at_least(1),
    "Records in one buffer between stages.",
)
STATE_INLINE_LIMIT = known(
    ConfigOptions.key("millrace.state.inline-limit")
    .memory_type()
    .default_value(MemorySize.of_mebi_bytes(1)),
    "Changes of state up to this size travel to the driver; a subtask writes larger ones itself.",
)
STATE_MEMORY_CAP = known(
    ConfigOptions.key("millrace.state.memory-cap").memory_type().no_default_value(),
    "State that one Python worker may keep in memory before it gives up what it can load again.",
)
PREVIEW = known(
    ConfigOptions.key("millrace.preview.enabled").boolean_type().default_value(False),
    "Whether people with the server's token to operate may watch records that the job's operators "
    "emit, a few per second, in the web UI. The records pass through files in the job's directory, "
    "which only the job's user can read, for as long as somebody watches.",
)
EXECUTOR = known(
    ConfigOptions.key("millrace.executor")
    .string_type()
    .default_value("auto")
    .one_of("auto", "epochs", "resident"),
    "How a streaming job runs on Spark. `epochs`: as one Spark job per epoch. `resident`: as one "
    "Spark job whose tasks stay, for latencies of a few milliseconds; each task holds a slot of "
    "the application as long as the job runs. `auto`: on resident tasks if the job suits them and "
    "the application has the free slots, else on epochs; the log says why.",
)
RESIDENT_HEARTBEAT_TIMEOUT = known(
    ConfigOptions.key("millrace.resident.heartbeat-timeout")
    .duration_type()
    .default_value(Duration.of_seconds(50))
    .at_least(100),
    "A worker of resident tasks that sends no heartbeat for so long counts as lost: its process is "
    "frozen, or its machine is gone. A busy one sends heartbeats.",
)
RESIDENT_BARRIER_INTERVAL = known(
    ConfigOptions.key("millrace.resident.barrier-interval")
    .duration_type()
    .no_default_value()
    .at_least(1),
    "Time from one barrier of resident tasks to the next, while records come: the length of an "
    "epoch. Unset: the checkpointing interval, at most 1 s.",
)
JOBMANAGER_ADDRESS = known(
    ConfigOptions.key("jobmanager.rpc.address").string_type().no_default_value(),
    "Spark Connect: address or name at which the server's workers reach the process that runs the "
    "job. Unset: the address with which this process is connected to the server.",
)
JOBMANAGER_BIND_HOST = known(
    ConfigOptions.key("jobmanager.bind-host").string_type().no_default_value(),
    "Spark Connect: address of this machine at which the job listens for its workers, if it is "
    "not `jobmanager.rpc.address`, such as `0.0.0.0` in a container.",
)
JOBMANAGER_PORT = known(
    ConfigOptions.key("jobmanager.rpc.port").int_type().default_value(0).at_least(0),
    "Spark Connect: port at which the job listens for its workers; 0: any that is free. Jobs of "
    "one machine need different ports.",
)
SPARK_TASKS = known(
    ConfigOptions.key("millrace.spark.tasks").int_type().no_default_value().at_least(1),
    "The most Spark tasks that a level of an epoch runs as, each with several subtasks. Without it "
    "as many as the application has cores; more pay if functions mostly wait.",
)
SOURCE_POLL_INTERVAL = known(
    ConfigOptions.key("millrace.source.poll-interval")
    .duration_type()
    .default_value(Duration.of_millis(100))
    .at_least(1),
    "How often an idle source without a wake-up time of its own is asked again.",
)
STATEFUN_MAX_ASYNC = known(
    ConfigOptions.key("statefun.async.max-per-task").int_type().default_value(1024).at_least(1),
    "Stateful Functions: most batches of messages that a subtask has in flight to remote or "
    "asynchronous functions. `with_max_async_per_task` sets it for one builder.",
)
COMMITTER_RETRIES = known(
    ConfigOptions.key("sink.committer.retries").int_type().default_value(10).at_least(0),
    "How often a commit of a sink is tried again, after 0.1 s at first and 10 s at most, before "
    "the job fails.",
)

PYTHON_FILES = known(
    ConfigOptions.key("python.files").string_type().no_default_value(),
    "Python files, wheels, zips and directories that functions import from, as `a.py,b.zip` "
    "(`add_python_file`).",
)
PYTHON_ARCHIVES = known(
    ConfigOptions.key("python.archives").string_type().no_default_value(),
    "Archives that are unpacked in the workers' working directory, as `a.zip,b.zip#directory` "
    "(`add_python_archive`).",
)
PYTHON_REQUIREMENTS = known(
    ConfigOptions.key("python.requirements").string_type().no_default_value(),
    "File of packages that functions need, with `#` before a directory to install them from "
    "(`set_python_requirements`).",
)
PYTHON_EXECUTABLE = known(
    ConfigOptions.key("python.executable").string_type().no_default_value(),
    "Interpreter of the workers (`set_python_executable`). Unset: that of the driver.",
)
JARS = known(
    ConfigOptions.key("pipeline.jars").list_type().default_value([]),
    "Jars that Spark is started with, as `a.jar;b.jar` (`add_jars`).",
)
CLASSPATHS = known(
    ConfigOptions.key("pipeline.classpaths").list_type().default_value([]),
    "Jars that are on all hosts already, for the class path of driver and executors "
    "(`add_classpaths`).",
)

REST_ENABLED = known(
    ConfigOptions.key("rest.enabled").boolean_type().default_value(False),
    "Whether the driver of a job answers questions over HTTP: its status and queryable state.",
)
REST_BIND_ADDRESS = known(
    ConfigOptions.key("rest.bind-address").string_type().default_value("127.0.0.1"),
    "Address that the endpoint binds to. Nothing is encrypted: beyond loopback use a tunnel. In "
    "`config.yaml`: the address that the job server binds to.",
)
REST_PORT = known(
    ConfigOptions.key("rest.port").int_type().default_value(0).at_least(0),
    "Port of the endpoint; `0`: any that is free. It is in `rest.json` in the job's directory. In "
    "`config.yaml`: the port of the job server, 8081 if unset.",
)
REST_TOKEN = known(
    ConfigOptions.key("rest.token").string_type().no_default_value(),
    "What requests must show. Unset: a new one for each run, in `rest.json`.",
)
S3_ENDPOINT = known(
    ConfigOptions.key("s3.endpoint").string_type().no_default_value(),
    "Another server of S3's protocol than Amazon's, as a URL. Unset: what `AWS_ENDPOINT_URL_S3` or "
    "the profile says. Credentials are no option: they would travel with the job.",
)
S3_REGION = known(
    ConfigOptions.key("s3.endpoint.region").string_type().no_default_value(),
    "The region of the buckets. Unset: what `AWS_REGION` or the profile says.",
)
S3_PATH_STYLE = known(
    ConfigOptions.key("s3.path.style.access").boolean_type().no_default_value(),
    "Whether the name of a bucket is in the path of URLs instead of the host's name. Unset: at all "
    "servers but Amazon's.",
)
