"""Logging in functions: the job, operator and subtask of each record, and its way to the log."""
