"""Reporters: each brings the metrics of a job to one kind of system, through its own client."""
