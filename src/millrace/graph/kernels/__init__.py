"""Vectorised building blocks of the library: collectives, segments, adjacency and labels."""
