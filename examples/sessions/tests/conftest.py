"""Fixtures for tests of functions, without Spark."""

pytest_plugins = ["millrace.testing.fixtures"]
