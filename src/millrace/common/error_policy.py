"""Error policies: unreadable input fails the job, is skipped, or goes to a side output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.common.functions.output_tag import OutputTag

__all__ = ["DeadLetter", "ErrorPolicy"]


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A piece of input that could not be decoded.

    Attributes:
        raw: its bytes, at most 64 KiB of them; none of a file that could not be read as a whole.
        error: the reason why it could not be decoded.
        source: the path of the file, or the topic and partition.
        offset: where in the source it begins: a byte of the (decompressed) file, a row of a Parquet
            file, Kafka's offset. None if it is not known.
        line: the line it begins in, from 1; None where there are no lines.
        column: the character of the line (from 1), or the name of the column, if it is known.
    """

    raw: bytes
    error: str
    source: str
    offset: int | None = None
    line: int | None = None
    column: int | str | None = None


@dataclass(frozen=True, slots=True)
class ErrorPolicy:
    """Treatment of records that a source cannot decode: fail, skip, or side output.

    Example:
        >>> tag = OutputTag("dead letters")
        >>> ErrorPolicy.side_output(tag).tag == tag, ErrorPolicy.fail().fails
        (True, True)
    """

    fails: bool
    tag: OutputTag[DeadLetter] | None = None

    @staticmethod
    def fail() -> ErrorPolicy:
        """Fail the job with the position of the record (the default)."""
        return ErrorPolicy(fails=True)

    @staticmethod
    def skip() -> ErrorPolicy:
        """Skip the record; the metric ``numRecordsInErrors`` counts it and the log names it."""
        return ErrorPolicy(fails=False)

    @staticmethod
    def side_output(tag: OutputTag[DeadLetter]) -> ErrorPolicy:
        """Emit a `DeadLetter` to a side output, exactly once: ``stream.get_side_output(tag)``.

        Raises:
            JobDefinitionError: the argument is not an `OutputTag`.
        """
        if not isinstance(tag, OutputTag):
            raise JobDefinitionError(f"side_output() takes an OutputTag, not {tag!r}")
        return ErrorPolicy(fails=False, tag=tag)


def require_error_policy(policy: Any) -> ErrorPolicy:
    """The policy itself, after a check.

    Raises:
        JobDefinitionError: the argument is not an `ErrorPolicy`.
    """
    if not isinstance(policy, ErrorPolicy):
        raise JobDefinitionError(
            f"an error policy is ErrorPolicy.fail(), .skip() or .side_output(tag), not {policy!r}"
        )
    return policy
