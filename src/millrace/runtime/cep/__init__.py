"""Pattern matching: a position automaton over a shared buffer of events."""
