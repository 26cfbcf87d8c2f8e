"""Logging in functions: which job, operator and subtask a record is of, and how it gets out."""
