"""Settings of an Elasticsearch sink."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from millrace.connectors.elasticsearch.backoff import Backoff
from millrace.connectors.elasticsearch.connection import Connection
from millrace.connectors.elasticsearch.emitter import ElasticsearchEmitter
from millrace.connectors.elasticsearch.errors import DocumentFailure

__all__ = ["FailureHandler", "SinkSettings"]

FailureHandler = Callable[[DocumentFailure], Any]
"""Called with each document that was refused: returns to pass over it, raises to fail the job."""


@dataclass(frozen=True)
class SinkSettings:
    """All settings that the builder collected."""

    connection: Connection
    emitter: ElasticsearchEmitter
    backoff: Backoff
    max_actions: float
    """Maximum number of actions of one request; infinite for no limit."""
    max_bytes: float
    failure_handler: FailureHandler | None
    with_types: bool = False
    """Whether actions name the types of their documents, as Elasticsearch 6 wants it."""
    writes_ahead: bool = False
    """Whether documents are written when their checkpoint is complete."""
