"""Configuration keys of jobs, with their types, defaults and descriptions.

Keys have Flink's names where Flink has them (Flink docs, "Configuration"); those that begin with
``millrace.`` are our own. Metrics, logs and the job server have modules of their own
(`millrace.common.config.known_options`).
"""

from __future__ import annotations

from millrace.common.config.config_options import ConfigOptions
from millrace.common.config.known_options import known
from millrace.common.config.memory_size import MemorySize
from millrace.common.time.amounts import Duration

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
    "Name of the job if `execute` is called without a name. If this is unset, too, the name "
    "is derived from the path of the program's file.",
)
AUTO_WATERMARK_INTERVAL = known(
    ConfigOptions.key("pipeline.auto-watermark-interval")
    .duration_type()
    .default_value(Duration.of_millis(200))
    .at_least(0),
    "Time without records after which a user-defined watermark generator is called "
    "(`on_periodic_emit`); `0 ms`: never. Only on resident tasks. Every generator is also "
    "called after every batch of records and at the end of every epoch.",
)
GLOBAL_JOB_PARAMETERS = known(
    ConfigOptions.key("pipeline.global-job-parameters").map_type().default_value({}),
    "Parameters of the program, as `name:value,name:value`.",
)
RUNTIME_MODE = known(
    ConfigOptions.key("execution.runtime-mode")
    .string_type()
    .default_value("STREAMING")
    .one_of("STREAMING", "BATCH", "AUTOMATIC"),
    "`BATCH` gives only final results and makes no checkpoints; `AUTOMATIC` selects `BATCH` "
    "if all sources are bounded.",
)
AVAILABLE_NOW = known(
    ConfigOptions.key("millrace.available-now").boolean_type().default_value(False),
    "Whether a run reads only the input that is available at its start, and then ends. It "
    "continues from the newest checkpoint, even that of a finished run (`millrace run "
    "--available-now`).",
)
CHECKPOINTING_INTERVAL = known(
    ConfigOptions.key("execution.checkpointing.interval").duration_type().no_default_value(),
    "Time from one checkpoint to the next; `0 ms`: a checkpoint after every epoch. Unset: 1 s.",
)
CHECKPOINTING_DIR = known(
    ConfigOptions.key("execution.checkpointing.dir").string_type().no_default_value(),
    "Directory under which each job keeps its checkpoints.",
)
CONTROL_DIR = known(
    ConfigOptions.key("millrace.control.directory").string_type().no_default_value(),
    "Directory of this machine with the files by which commands find and operate a job: its "
    "record, its details and its mailbox. Unset: beside its checkpoints, or, if the "
    "checkpoints are in an object store, in the default checkpoint directory of `millrace "
    "run`. The job server sets this directory for each of its jobs. Their checkpoints are "
    "also there, or, if a job names an object store, in a subdirectory of it with the job's "
    "id.",
)
CHECKPOINTING_NUM_RETAINED = known(
    ConfigOptions.key("execution.checkpointing.num-retained")
    .int_type()
    .default_value(2)
    .at_least(1),
    "Number of completed checkpoints that are kept.",
)
EXTERNALIZED_CHECKPOINT_RETENTION = known(
    ConfigOptions.key("execution.checkpointing.externalized-checkpoint-retention")
    .string_type()
    .default_value("RETAIN_ON_CANCELLATION")
    .one_of("RETAIN_ON_CANCELLATION", "DELETE_ON_CANCELLATION", "NO_EXTERNALIZED_CHECKPOINTS"),
    "Fate of the checkpoints at the end of the job: they stay; or they are deleted if the "
    "job was cancelled; or they are always deleted, unless the job was killed or stopped to "
    "be resumed.",
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
    "Maximum number of consecutive checkpoint failures that the job tolerates; one more fails it.",
)
RESUME = known(
    ConfigOptions.key("millrace.resume").boolean_type().default_value(False),
    "Whether a run continues from the newest checkpoint of the job with this name in the "
    "checkpoint directory. Without a checkpoint, the run starts afresh (`millrace run "
    "--resume`).",
)
RESUME_FROM = known(
    ConfigOptions.key("millrace.checkpoint.resume-from").int_type().no_default_value().at_least(1),
    "Number of the checkpoint from which a run with `--resume` or `millrace.resume` "
    "continues. Unset: the newest.",
)
START_FROM = known(
    ConfigOptions.key("execution.state-recovery.path").string_type().no_default_value(),
    "Savepoint or checkpoint from which the job starts (`millrace run -s PATH`). With "
    "`--resume`, a checkpoint of the job itself takes precedence.",
)
CLAIM_MODE = known(
    ConfigOptions.key("execution.state-recovery.claim-mode")
    .string_type()
    .default_value("NO_CLAIM")
    .one_of("NO_CLAIM", "CLAIM"),
    "Owner of the snapshot from which the job starts. `NO_CLAIM`: the owner does not "
    "change, and the snapshot's files and pending commits are left alone. `CLAIM`: the job "
    "becomes the owner, makes the pending commits, and deletes the snapshot after the first "
    "checkpoint of its own.",
)
KEEP_CLAIMED = known(
    ConfigOptions.key("millrace.state-recovery.keep-claimed").boolean_type().default_value(False),
    "Whether a claimed snapshot stays. The job takes it over like its owner, including "
    "pending commits, but does not delete it. A job that starts from it later gets it as "
    "with `NO_CLAIM`. A rerun of an ended job from its last checkpoint sets this option.",
)
ALLOW_PICKLE = known(
    ConfigOptions.key("execution.state-recovery.allow-pickle").boolean_type().default_value(False),
    "Whether the job may start from a native snapshot that it has not written itself, and "
    "from pickled values in a savepoint of another job. Reading them can run code of their "
    "author (`millrace run --allow-pickle`).",
)
ALLOW_NON_RESTORED = known(
    ConfigOptions.key("execution.state-recovery.ignore-unclaimed-state")
    .boolean_type()
    .default_value(False),
    "Whether the job starts although the snapshot has state of operators that the job does "
    "not have; this state is dropped.",
)
SAVEPOINT_DIR = known(
    ConfigOptions.key("execution.checkpointing.savepoint-dir").string_type().no_default_value(),
    "Directory of savepoints that are requested without a directory.",
)
STATE_BACKEND = known(
    ConfigOptions.key("state.backend.type").string_type().default_value("hashmap"),
    "Location of keyed state while the job runs: `hashmap` (in memory), `rocksdb` (on the "
    "workers' disks) or the name of an entry point of the group `millrace.state_backends`.",
)
RECOVER_LOCALLY = known(
    ConfigOptions.key("execution.state-recovery.from-local").boolean_type().default_value(False),
    "Whether a run that continues from a checkpoint takes over the databases that the "
    "previous run left on the hosts (only `rocksdb`), instead of reading all state from the "
    "checkpoint.",
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
    "Memory for the rows that a database collects before it writes a file.",
)
ROCKSDB_WRITE_BUFFERS = known(
    ConfigOptions.key("state.backend.rocksdb.writebuffer.count")
    .int_type()
    .default_value(2)
    .at_least(1),
    "Maximum number of these memory areas.",
)
ROCKSDB_BLOOM = known(
    ConfigOptions.key("state.backend.rocksdb.use-bloom-filter").boolean_type().default_value(True),
    "Whether files have filters that exclude keys which they do not contain.",
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
    "Predefined options for a kind of hardware; they replace some of the options above.",
)
RESTART_STRATEGY = known(
    ConfigOptions.key("restart-strategy.type")
    .string_type()
    .no_default_value()
    .one_of(
        *("none", "fixed-delay", "failure-rate", "exponential-delay"),
        *("off", "disable", "fixeddelay", "failurerate", "exponentialdelay"),  # Flink's, too
    ),
    "Strategy after a failure of a user function. Unset: `none`, which is also called `off`.",
)
FIXED_DELAY_ATTEMPTS = known(
    ConfigOptions.key("restart-strategy.fixed-delay.attempts")
    .int_type()
    .default_value(1)
    .at_least(0),
    "Number of restarts that `fixed-delay` makes before the job fails.",
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
    "Number of failures within the interval after which `failure-rate` still restarts the job.",
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
    "Time without failures after which the pause returns to its initial value.",
)
EXPONENTIAL_JITTER = known(
    ConfigOptions.key("restart-strategy.exponential-delay.jitter-factor")
    .double_type()
    .default_value(0.1)
    .at_least(0),
    "Share of the pause that is randomly added or subtracted.",
)
EPOCH_TARGET_DURATION = known(
    ConfigOptions.key("millrace.epoch.target-duration")
    .duration_type()
    .default_value(Duration.of_seconds(1))
    .at_least(1),
    "Target duration of an epoch under load; the number of records adapts to it.",
)
EPOCH_MAX_RECORDS = known(
    ConfigOptions.key("millrace.epoch.max-records-per-split")
    .int_type()
    .default_value(1_000_000)
    .at_least(1),
    "Maximum number of records that an epoch reads from one split, which bounds the memory. "
    "Batch mode reads splits as a whole unless this is set.",
)
EPOCH_INITIAL_RECORDS = known(
    ConfigOptions.key("millrace.epoch.initial-records-per-split")
    .int_type()
    .default_value(100)
    .at_least(1),
    "Number of records that the first epoch reads from each split, because their cost is "
    "not known yet. Later epochs grow while they are fast.",
)
EPOCH_MIN_INTERVAL = known(
    ConfigOptions.key("millrace.epoch.min-interval")
    .duration_type()
    .default_value(Duration.of_millis(0)),
    "Minimum time from the start of one epoch to the next: longer times give fewer, larger epochs.",
)
EPOCH_KEEP_WARM = known(
    ConfigOptions.key("millrace.epoch.keep-warm")
    .duration_type()
    .default_value(Duration.of_seconds(45)),
    "Interval at which an idle job runs an empty epoch, because Spark ends idle Python "
    "workers, and their state with them, after 60 s.",
)
EPOCH_REPORT_AFTER = known(
    ConfigOptions.key("millrace.epoch.report-after")
    .duration_type()
    .default_value(Duration.of_minutes(1)),
    "Duration after which an epoch is logged, with the Python stacks of the subtasks for "
    "which it waits. It is logged again whenever its duration has doubled; `0 s`: never.",
)
EPOCH_TIMEOUT = known(
    ConfigOptions.key("millrace.epoch.timeout").duration_type().no_default_value().at_least(1),
    "Duration after which an epoch fails; then the restart strategy applies.",
)
BUFFER_RECORDS = known(
    ConfigOptions.key("millrace.buffer.records").int_type().default_value(4096).at_least(1),
    "Records in one buffer between stages.",
)
STATE_INLINE_LIMIT = known(
    ConfigOptions.key("millrace.state.inline-limit")
    .memory_type()
    .default_value(MemorySize.of_mebi_bytes(1)),
    "Changes of state up to this size travel to the driver; a subtask writes larger changes "
    "itself.",
)
STATE_MEMORY_CAP = known(
    ConfigOptions.key("millrace.state.memory-cap").memory_type().no_default_value(),
    "Memory for the state in one Python worker. Above it, the worker drops state that it "
    "can load again.",
)
PREVIEW = known(
    ConfigOptions.key("millrace.preview.enabled").boolean_type().default_value(False),
    "Whether people with the server's operate token may watch records that the job's "
    "operators emit, a few per second, in the web UI. While somebody watches, the records "
    "pass through files in the job's directory, which only the job's user can read.",
)
EXECUTOR = known(
    ConfigOptions.key("millrace.executor")
    .string_type()
    .default_value("auto")
    .one_of("auto", "epochs", "resident"),
    "Executor of a streaming job on Spark. `epochs`: one Spark job per epoch. `resident`: "
    "one Spark job whose tasks run for many epochs, for latencies of a few milliseconds; "
    "each task holds a slot of the application while the job runs. `auto`: resident tasks "
    "if the job suits them and the application has enough free slots, else epochs; the log "
    "says why.",
)
RESIDENT_HEARTBEAT_TIMEOUT = known(
    ConfigOptions.key("millrace.resident.heartbeat-timeout")
    .duration_type()
    .default_value(Duration.of_seconds(50))
    .at_least(100),
    "Time without a heartbeat after which a worker of resident tasks counts as lost, "
    "because its process is frozen or its machine is gone. Busy workers also send "
    "heartbeats.",
)
RESIDENT_BARRIER_INTERVAL = known(
    ConfigOptions.key("millrace.resident.barrier-interval")
    .duration_type()
    .no_default_value()
    .at_least(1),
    "Time from one barrier of resident tasks to the next while records arrive: the length "
    "of an epoch. Unset: the checkpointing interval, at most 1 s.",
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
    "Spark Connect: port at which the job listens for its workers; 0: any free port. Jobs "
    "on one machine need different ports.",
)
SPARK_TASKS = known(
    ConfigOptions.key("millrace.spark.tasks").int_type().no_default_value().at_least(1),
    "Maximum number of Spark tasks of a level of an epoch; each task runs several subtasks. "
    "Unset: the application's number of cores. More tasks help if functions mostly wait.",
)
SOURCE_POLL_INTERVAL = known(
    ConfigOptions.key("millrace.source.poll-interval")
    .duration_type()
    .default_value(Duration.of_millis(100))
    .at_least(1),
    "Interval at which an idle source is polled if it has no wake-up time of its own.",
)
STATEFUN_MAX_ASYNC = known(
    ConfigOptions.key("statefun.async.max-per-task").int_type().default_value(1024).at_least(1),
    "Stateful Functions: maximum number of batches of messages that a subtask has in flight "
    "to remote or asynchronous functions. `with_max_async_per_task` sets it for one builder.",
)
COMMITTER_RETRIES = known(
    ConfigOptions.key("sink.committer.retries").int_type().default_value(10).at_least(0),
    "Number of times that a commit of a sink is retried before the job fails. The first "
    "pause is 0.1 s, and pauses grow to at most 10 s.",
)

PYTHON_FILES = known(
    ConfigOptions.key("python.files").string_type().no_default_value(),
    "Python files, wheels, zips and directories from which functions import, as "
    "`a.py,b.zip` (`add_python_file`).",
)
PYTHON_ARCHIVES = known(
    ConfigOptions.key("python.archives").string_type().no_default_value(),
    "Archives that are unpacked in the workers' working directory, as `a.zip,b.zip#directory` "
    "(`add_python_archive`).",
)
PYTHON_REQUIREMENTS = known(
    ConfigOptions.key("python.requirements").string_type().no_default_value(),
    "Requirements file of the packages that functions need, with `#` before a directory to "
    "install them from (`set_python_requirements`).",
)
PYTHON_EXECUTABLE = known(
    ConfigOptions.key("python.executable").string_type().no_default_value(),
    "Interpreter of the workers (`set_python_executable`). Unset: the driver's interpreter.",
)
JARS = known(
    ConfigOptions.key("pipeline.jars").list_type().default_value([]),
    "Jars with which Spark is started, as `a.jar;b.jar` (`add_jars`).",
)
CLASSPATHS = known(
    ConfigOptions.key("pipeline.classpaths").list_type().default_value([]),
    "Jars that exist on all hosts, for the class path of driver and executors (`add_classpaths`).",
)

REST_ENABLED = known(
    ConfigOptions.key("rest.enabled").boolean_type().default_value(False),
    "Whether the driver of a job serves its status and queryable state over HTTP.",
)
REST_BIND_ADDRESS = known(
    ConfigOptions.key("rest.bind-address").string_type().default_value("127.0.0.1"),
    "Address to which the endpoint binds. Traffic is not encrypted: beyond loopback, use a "
    "tunnel. In `config.yaml`: the address to which the job server binds.",
)
REST_PORT = known(
    ConfigOptions.key("rest.port").int_type().default_value(0).at_least(0),
    "Port of the endpoint; `0`: any free port. The file `rest.json` in the job's directory "
    "has the port. In `config.yaml`: the port of the job server, 8081 if unset.",
)
REST_TOKEN = known(
    ConfigOptions.key("rest.token").string_type().no_default_value(),
    "Token that requests must carry. Unset: a new token for each run, in `rest.json`.",
)
S3_ENDPOINT = known(
    ConfigOptions.key("s3.endpoint").string_type().no_default_value(),
    "URL of a server with S3's protocol other than Amazon's. Unset: the value of "
    "`AWS_ENDPOINT_URL_S3` or of the profile. Credentials are no option, because they would "
    "travel with the job.",
)
S3_REGION = known(
    ConfigOptions.key("s3.endpoint.region").string_type().no_default_value(),
    "The region of the buckets. Unset: the value of `AWS_REGION` or of the profile.",
)
S3_PATH_STYLE = known(
    ConfigOptions.key("s3.path.style.access").boolean_type().no_default_value(),
    "Whether URLs have the name of a bucket in the path instead of the host name. Unset: "
    "for all servers but Amazon's.",
)
