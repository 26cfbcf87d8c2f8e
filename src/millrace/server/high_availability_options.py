"""Options of several job servers that share a registry and elect a leader.

Names: Flink docs, "Configuration", "High Availability"; those of PostgreSQL are like those that
Flink has for Kubernetes.
"""

from __future__ import annotations

from millrace.common.config.config_options import ConfigOptions
from millrace.common.config.known_options import known
from millrace.common.time.amounts import Duration

HA_TYPE = known(
    ConfigOptions.key("high-availability.type")
    .string_type()
    .default_value("none")
    .one_of("none", "file", "postgresql", "zookeeper"),
    "Way in which job servers elect a leader. `none`: there is one server. `file`: by a "
    "lock beside a registry in SQLite, on one machine. `postgresql`: by a lease in the "
    "registry's database. `zookeeper`: by an ephemeral node. All servers of a registry need "
    "the same value.",
)
HA_CLUSTER_ID = known(
    ConfigOptions.key("high-availability.cluster-id").string_type().default_value("default"),
    "Name that distinguishes the servers of several registries in one ZooKeeper.",
)
HA_STORAGE_DIR = known(
    ConfigOptions.key("high-availability.storage-dir").string_type().no_default_value(),
    "Directory with the checkpoints of a job server's jobs: a path or a `file:` URI, "
    "mounted under the same path on every machine with a server. Unset: a directory below "
    "the server's own directory, which suffices for servers on one machine.",
)
POSTGRESQL_LEASE_DURATION = known(
    ConfigOptions.key("high-availability.postgresql.leader-election.lease-duration")
    .duration_type()
    .default_value(Duration.of_seconds(8))
    .at_least(1_000),
    "Time after which a leader's lease ends unless it is renewed, by the clock of "
    "PostgreSQL. If the leader dies, a standby takes over after at most this time plus a "
    "`retry-period`.",
)
POSTGRESQL_RETRY_PERIOD = known(
    ConfigOptions.key("high-availability.postgresql.leader-election.retry-period")
    .duration_type()
    .default_value(Duration.of_seconds(1))
    .at_least(50),
    "Interval at which the leader renews its lease, and at which a standby tries to get it.",
)
ZOOKEEPER_QUORUM = known(
    ConfigOptions.key("high-availability.zookeeper.quorum").string_type().no_default_value(),
    "The ZooKeeper servers, as `host:port,host:port`.",
)
ZOOKEEPER_ROOT = known(
    ConfigOptions.key("high-availability.zookeeper.path.root")
    .string_type()
    .default_value("/millrace"),
    "The node below which job servers create their nodes.",
)
ZOOKEEPER_SESSION_TIMEOUT = known(
    ConfigOptions.key("high-availability.zookeeper.client.session-timeout")
    .duration_type()
    .default_value(Duration.of_seconds(8))
    .at_least(1_000),
    "Time for which ZooKeeper keeps the session, and with it the leadership, of a server "
    "that does not respond. ZooKeeper's own limits must allow it (`minSessionTimeout`, "
    "`maxSessionTimeout`).",
)
