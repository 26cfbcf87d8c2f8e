"""Fitted models evaluated with NumPy, batch by batch, without a JVM."""
