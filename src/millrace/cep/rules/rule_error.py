"""Errors of rules written as JSON: the place, and what should be there."""

from __future__ import annotations

from millrace.common.errors import JobDefinitionError


class RuleError(JobDefinitionError):
    """A rule cannot be read; says at which place of the JSON, and what should be there."""
