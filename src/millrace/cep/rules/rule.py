"""A rule with the diagrams and the explanation of its pattern."""

from __future__ import annotations

from millrace.cep.pattern_diagrams import PatternDiagrams
from millrace.runtime.cep import pattern_rule

__all__ = ["Rule"]


class Rule(pattern_rule.PatternRule, PatternDiagrams):
    """A pattern with a name and the keys that it applies to.

    Args:
        id: its name.
        version: from 1 on; a higher version replaces the rule of this name.
        pattern: the pattern to detect, as `Pattern` or as plain data.
        key_prefix: beginning of the keys that the rule applies to, as text; empty for all keys.
        enabled: whether it is looked for.
        metadata: data about the rule for the receivers of its matches.

    Raises:
        JobDefinitionError: an argument is of another type.
        MalformedPatternError: the pattern contradicts itself.

    Example:
        >>> from millrace.cep import Pattern
        >>> large = Pattern.begin("large").where(lambda value: value > 500)
        >>> Rule("large", 1, large).explain()
        begin
          -> large
        large: value > 500
          -> match
        after a match: no_skip
    """
