"""Sink for Elasticsearch and OpenSearch, through their bulk interface and the package urllib3."""

from __future__ import annotations

from millrace.connectors.elasticsearch.action import ElasticsearchAction
from millrace.connectors.elasticsearch.backoff import FlushBackoffType
from millrace.connectors.elasticsearch.emitter import ElasticsearchEmitter
from millrace.connectors.elasticsearch.errors import DocumentFailure, ElasticsearchError
from millrace.connectors.elasticsearch.sink import (
    Elasticsearch6SinkBuilder,
    Elasticsearch7SinkBuilder,
    ElasticsearchSink,
    ElasticsearchSinkBuilderBase,
)

__all__ = [
    "DocumentFailure",
    "Elasticsearch6SinkBuilder",
    "Elasticsearch7SinkBuilder",
    "ElasticsearchAction",
    "ElasticsearchEmitter",
    "ElasticsearchError",
    "ElasticsearchSink",
    "ElasticsearchSinkBuilderBase",
    "FlushBackoffType",
]
