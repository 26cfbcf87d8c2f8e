"""Rules: from a bound tree to the one that is run, a module each."""
