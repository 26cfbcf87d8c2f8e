"""All errors that millrace raises on purpose; ``except MillraceError`` catches all of them.

The tree::

    MillraceError
    ├── JobDefinitionError          a wrong program, found while it is built
    │   └── MalformedPatternError   a pattern that cannot be matched, or not by anything
    ├── ConfigurationError          an unknown key, or a value that cannot be read
    ├── KeyTypeError (TypeError)    a key of a type without a stable encoding
    ├── StateError                  state used in a way its descriptor does not allow
    ├── SerializationError          a value or function that cannot be pickled or encoded
    ├── CheckpointError             a checkpoint cannot be written, found or read
    │   ├── CheckpointCorruptError  a file of a checkpoint is damaged; names the file
    │   └── StateMigrationError     state was written with a type that the present one cannot read
    ├── LeaseError                  the job directory belongs to another driver
    │   └── LeaseLostError          this driver was superseded while it ran
    ├── JobExecutionError           a running job failed
    │   └── UserFunctionError       a function of the user raised; carries its traceback
    ├── UnsupportedFileSystemSchemeError
    │                               a URI names a file system that is not supported
    ├── JobCancelledError           the job was cancelled, so it has no result
    └── JobControlError             a running job cannot be told what it should do

All of them survive pickling: they cross from Spark's workers to the driver.
"""

from __future__ import annotations

import os

from millrace.common.installation import missing_package

__all__ = [
    "CheckpointCorruptError",
    "CheckpointError",
    "ConfigurationError",
    "JobCancelledError",
    "JobControlError",
    "JobDefinitionError",
    "JobExecutionError",
    "KeyTypeError",
    "LeaseError",
    "LeaseLostError",
    "MalformedPatternError",
    "MillraceError",
    "SerializationError",
    "StateError",
    "StateMigrationError",
    "UnsupportedFileSystemSchemeError",
    "UserFunctionError",
]


class MillraceError(Exception):
    """Root of all errors raised by millrace."""


class JobDefinitionError(MillraceError):
    """The program is wrong; raised while it is built, before anything runs."""


class MalformedPatternError(JobDefinitionError):
    """A pattern contradicts itself. Flink: ``MalformedPatternException``."""


class ConfigurationError(MillraceError):
    """A configuration key is unknown, or its value is not of the option's type."""


class KeyTypeError(MillraceError, TypeError):
    """A key has a type that has no stable encoding, so it cannot be assigned to a key group."""


class StateError(MillraceError):
    """State was used in a way that its descriptor or the current operator does not allow."""


class SerializationError(MillraceError):
    """A value, key or function cannot be pickled or encoded."""


class UnsupportedFileSystemSchemeError(MillraceError):
    """A URI belongs to a file system that is not supported. Flink's class of the same name.

    Args:
        uri: the URI as given.
        scheme: the part before the first colon.
        host: host of a ``file:`` URI that names another machine.
        missing: the package that its file system needs and that is not installed.
    """

    def __init__(self, uri: str, scheme: str, host: str = "", missing: str = "") -> None:
        super().__init__(uri, scheme, host, missing)
        self.uri = uri
        self.scheme = scheme
        self.host = host
        self.missing = missing

    def __str__(self) -> str:
        if self.host:
            return (
                f"{self.uri}: a file URI has three slashes (file:///directory); this one names "
                f"the host '{self.host}', whose files cannot be reached"
            )
        if self.missing:
            extra = "hdfs" if self.scheme == "hdfs" else "object-stores"
            return missing_package(
                f"{self.uri}: the file system '{self.scheme}' needs",
                self.missing,
                extra,
                on_workers=True,
            )
        return (
            f"{self.uri}: the file system '{self.scheme}' is not supported; name a "
            "directory that all machines of the job see under the same path, such as a "
            "shared mount, as a path or as file:///path (a directory that is really called "
            f"'{self.scheme}:' is ./{self.scheme}:). A Spark reader can read files from "
            "there: env.from_spark(spark.read...)"
        )


class CheckpointError(MillraceError):
    """A checkpoint cannot be written, found or read."""


class CheckpointCorruptError(CheckpointError):
    """A file of a checkpoint is damaged.

    Args:
        path: the damaged file.
        reason: the damage, for example ``"checksum differs"``.
    """

    # The constructor's arguments are kept as `args`, which is what pickle calls it with again.
    def __init__(self, path: str | os.PathLike[str], reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{os.fspath(self.path)} is corrupt: {self.reason}"


class StateMigrationError(CheckpointError):
    """State was written with a type that cannot be read as the type declared now."""


class LeaseError(MillraceError):
    """The lease of a job directory is not available, because another driver holds it."""


class LeaseLostError(LeaseError):
    """This driver lost its lease: another driver owns the job now, and this one must not commit."""


class JobExecutionError(MillraceError):
    """A running job failed, and its restart strategy gave up."""


class UserFunctionError(JobExecutionError):
    """A function of the user raised an exception.

    Args:
        operator: name of the operator that called the function.
        record: ``repr`` of the record it was called with; None outside of a record (``open``).
        user_traceback: the formatted traceback, beginning in the user's code.
    """

    def __init__(self, operator: str, record: str | None, user_traceback: str) -> None:
        super().__init__(operator, record, user_traceback)
        self.operator = operator
        self.record = record
        self.user_traceback = user_traceback

    def __str__(self) -> str:
        where = f" for the record {self.record}" if self.record is not None else ""
        return f"operator {self.operator!r} failed{where}\n{self.user_traceback.rstrip()}"


class JobCancelledError(MillraceError):
    """The job was cancelled, so there is no result to wait for."""


class JobControlError(MillraceError):
    """A job does not run here, does not answer, or cannot carry out a request."""
