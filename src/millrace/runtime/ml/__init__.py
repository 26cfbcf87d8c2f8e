"""Fitted models as NumPy evaluates them: a batch of rows at a time, without a JVM."""
