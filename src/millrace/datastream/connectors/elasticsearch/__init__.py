"""Elasticsearch and OpenSearch (``pip install 'millrace[elasticsearch]'``)."""

from __future__ import annotations

from millrace.common.sink.delivery_guarantee import DeliveryGuarantee
from millrace.common.sink.sink import Sink
from millrace.connectors.elasticsearch import (
    DocumentFailure,
    Elasticsearch6SinkBuilder,
    Elasticsearch7SinkBuilder,
    ElasticsearchAction,
    ElasticsearchEmitter,
    ElasticsearchError,
    ElasticsearchSink,
    ElasticsearchSinkBuilderBase,
    FlushBackoffType,
)

__all__ = [
    "DeliveryGuarantee",
    "DocumentFailure",
    "Elasticsearch6SinkBuilder",
    "Elasticsearch7SinkBuilder",
    "ElasticsearchAction",
    "ElasticsearchEmitter",
    "ElasticsearchError",
    "ElasticsearchSink",
    "ElasticsearchSinkBuilderBase",
    "FlushBackoffType",
    "Sink",
]
