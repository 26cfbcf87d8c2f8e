"""Alerts about jobs, which go to webhooks."""
