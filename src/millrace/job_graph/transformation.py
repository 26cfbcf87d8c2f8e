"""Transformations: the nodes of the graph that the API builds, before anything runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from millrace.common.functions.output_tag import OutputTag
from millrace.common.functions.partitioner import Partitioner
from millrace.common.sink.sink import Sink
from millrace.common.source import Source
from millrace.common.time.watermark_strategy import WatermarkAlignment
from millrace.common.types.logical.logical_type import RowType
from millrace.common.types.type_information import TypeInformation
from millrace.runtime.operator import Operator
from millrace.runtime.program import Exchange


class Role(Enum):
    """Role of a transformation in the graph."""

    SOURCE = "SOURCE"
    OPERATOR = "OPERATOR"
    SINK = "SINK"
    COLLECT = "COLLECT"
    FEEDBACK = "FEEDBACK"
    """The end of a loop."""


@dataclass(frozen=True)
class Partitioning:
    """Distribution of records from one transformation to the next. Without a partitioning, they
    are forwarded where possible."""

    exchange: Exchange
    key_selector: Callable[[Any], Any] | None = None
    key_batch: Callable[[list[Any]], list[Any]] | None = None
    partitioner: Partitioner | Callable[[Any, int], int] | None = None
    key_type: TypeInformation[Any] | None = None
    """Type of the keys; None if the program does not declare it."""
    sql_keys: bool = False
    """Whether keys are values of SQL, which may also be NaN, rows, arrays and maps."""


@dataclass(frozen=True)
class Input:
    """One input of a transformation: the other transformation, the tag if records come from its
    side output, and the partitioning."""

    transformation: Transformation
    tag: OutputTag[Any] | None = None
    partitioning: Partitioning | None = None
    number: int = 0
    """Number of the input: 0, or 1 for the second of two connected streams."""


@dataclass(frozen=True)
class QueryUid:
    """The uid that a query gave one of its operators.

    Attributes:
        uid: the uid, which operators of several queries of a job may share.
        filters: digest of filters that tells apart operators that are equal otherwise.
    """

    uid: str
    filters: str = ""


@dataclass(eq=False)
class Transformation:
    """One operator of the program, as the user wrote it."""

    name: str
    role: Role
    factory: Callable[[], Operator]
    inputs: tuple[Input, ...]
    parallelism: int
    fixed_parallelism: bool = False
    """Whether the program chose the parallelism, rather than the job's default."""
    uid: str | None = None
    chaining: bool = True
    starts_chain: bool = False
    max_parallelism: int | None = None
    """Maximum parallelism; None for the job's default."""
    source: Source[Any] | None = None
    alignment: WatermarkAlignment | None = None
    """Watermark alignment of a source."""
    sink: Sink[Any] | None = None
    functions: tuple[Any, ...] = field(default=())
    """The user's functions in the operator, for errors that name a function that cannot be
    pickled."""
    description: str = ""
    slot_sharing_group: str | None = None
    output_type: TypeInformation[Any] | None = None
    """Type of the results, as declared by the program."""
    query_uid: QueryUid | None = None
    """Uid from a query, which a number follows if another query of the job has the same operator.
    None for other operators."""
    row_type: RowType | None = None
    """Columns of the results, if these are the rows of a query."""
    loop: str | None = None
    """Loop that the transformation begins or (FEEDBACK) ends."""
