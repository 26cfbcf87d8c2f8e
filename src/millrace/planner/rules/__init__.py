"""Rules that turn a bound tree into the tree that is run, one module each."""
