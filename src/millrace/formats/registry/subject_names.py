"""Subjects under which schemas are registered (Confluent docs, "Subject name strategy")."""

from __future__ import annotations

__all__ = ["SubjectName"]


class SubjectName:
    """Subject names, by Confluent's strategies.

    Example:
        >>> SubjectName.topic("orders")
        'orders-value'
        >>> SubjectName.topic_record("orders", "org.example.Order")
        'orders-org.example.Order'
    """

    @staticmethod
    def topic(topic: str, is_key: bool = False) -> str:
        """``TopicNameStrategy``: one schema for the values of a topic, one for its keys."""
        return f"{topic}-{'key' if is_key else 'value'}"

    @staticmethod
    def record(record_name: str) -> str:
        """``RecordNameStrategy``: one schema for a record, in all topics."""
        return record_name

    @staticmethod
    def topic_record(topic: str, record_name: str) -> str:
        """``TopicRecordNameStrategy``: one schema for a record in a topic."""
        return f"{topic}-{record_name}"
