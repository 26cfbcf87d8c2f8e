"""The paths from which PyFlink programs import connectors."""

from __future__ import annotations

import importlib

import pytest

PATHS = {
    "connectors": [
        "DeliveryGuarantee",
        "FileSink",
        "FileSource",
        "NumberSequenceSource",
        "Sink",
        "Source",
    ],
    "connectors.base": ["DeliveryGuarantee", "Sink", "Source"],
    "connectors.kafka": [
        "DeliveryGuarantee",
        "KafkaOffsetResetStrategy",
        "KafkaOffsetsInitializer",
        "KafkaRecordDeserializationSchema",
        "KafkaRecordSerializationSchema",
        "KafkaRecordSerializationSchemaBuilder",
        "KafkaSink",
        "KafkaSinkBuilder",
        "KafkaSource",
        "KafkaSourceBuilder",
        "KafkaTopicPartition",
        "KafkaTopicSelector",
        "SimpleStringValueKafkaRecordDeserializationSchema",
    ],
    "connectors.number_seq": ["NumberSequenceSource"],
    "connectors.file_system": [
        "BucketAssigner",
        "BulkFormat",
        "FileEnumeratorProvider",
        "FileSink",
        "FileSource",
        "FileSplitAssignerProvider",
        "OutputFileConfig",
        "RollingPolicy",
        "StreamFormat",
    ],
}


@pytest.mark.parametrize("path", PATHS)
def test_the_names_are_those_of_our_own_rooms(path: str) -> None:
    module = importlib.import_module(f"millrace.datastream.{path}")
    for name in PATHS[path]:
        thing = getattr(module, name)
        assert thing.__module__.startswith(
            ("millrace.connectors", "millrace.formats", "millrace.common")
        )
