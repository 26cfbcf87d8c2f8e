"""Reporters, each for one kind of monitoring system, through that system's own client."""
