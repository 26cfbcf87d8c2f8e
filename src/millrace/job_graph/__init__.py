"""From transformations to a program: chains, stages, levels, uids. Pure data."""
