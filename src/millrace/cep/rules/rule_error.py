"""What is wrong with a rule that was written as JSON."""

from __future__ import annotations

from millrace.common.errors import JobDefinitionError


class RuleError(JobDefinitionError):
    """A rule cannot be read; says at which place of the JSON, and what should be there."""
