"""Elasticsearch and OpenSearch (``pip install 'millrace[elasticsearch]'``)."""

from __future__ import annotations

from typing import NoReturn

from millrace.common.sink.delivery_guarantee import DeliveryGuarantee
from millrace.common.sink.sink import Sink
from millrace.connectors.elasticsearch import (
    DocumentFailure,
    Elasticsearch7SinkBuilder,
    ElasticsearchAction,
    ElasticsearchEmitter,
    ElasticsearchError,
    ElasticsearchSink,
    FlushBackoffType,
)
from millrace.missing_modules import missing_name

__all__ = [
    "DeliveryGuarantee",
    "DocumentFailure",
    "Elasticsearch7SinkBuilder",
    "ElasticsearchAction",
    "ElasticsearchEmitter",
    "ElasticsearchError",
    "ElasticsearchSink",
    "FlushBackoffType",
    "Sink",
]


def __getattr__(name: str) -> NoReturn:
    """Explain what a program imports from here and Millrace does not have."""
    raise missing_name(__name__, name)
