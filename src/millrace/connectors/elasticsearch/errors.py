"""Errors of Elasticsearch and OpenSearch: for whole requests and for single documents."""

from __future__ import annotations

from dataclasses import dataclass

from millrace.connectors.errors import ConnectorError

__all__ = ["DocumentFailure", "ElasticsearchError", "TransientFailure"]


class ElasticsearchError(ConnectorError):
    """Elasticsearch or OpenSearch is not writable, or refuses a document."""


class TransientFailure(Exception):
    """A request failed that may succeed later: no node answered, or the cluster has no capacity."""


@dataclass(frozen=True, slots=True)
class DocumentFailure:
    """A document that the cluster refused permanently, or still refused after the last retry.

    Attributes:
        operation: ``index``, ``create``, ``update`` or ``delete``.
        index: index of the document.
        document_id: its id, or None if the cluster was to make one.
        status: the HTTP status of this document in the cluster's answer, such as 400.
        kind: the cluster's name of the failure, such as ``mapper_parsing_exception``.
        reason: the cluster's sentence.
        document: the sent document as JSON; None for a delete.
    """

    operation: str
    index: str
    document_id: str | None
    status: int
    kind: str
    reason: str
    document: bytes | None

    def __str__(self) -> str:
        named = "a document without an id" if self.document_id is None else f"'{self.document_id}'"
        return (
            f"{self.operation} of {named} in index '{self.index}': {self.reason} "
            f"({self.status} {self.kind})"
        )
