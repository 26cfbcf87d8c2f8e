"""Graphs on Spark: DataFrames of vertices and edges."""
