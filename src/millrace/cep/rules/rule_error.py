"""Errors of rules in JSON, with the place and the expected value."""

from __future__ import annotations

from millrace.common.errors import JobDefinitionError


class RuleError(JobDefinitionError):
    """A rule cannot be read; the message has the place in the JSON and the expected value."""
