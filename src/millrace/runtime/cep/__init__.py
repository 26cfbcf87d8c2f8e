"""Matching of patterns: a position automaton over a shared buffer of events."""
