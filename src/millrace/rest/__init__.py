"""A small HTTP endpoint inside the driver with a running job's state and progress."""

from millrace.rest.client import QueryableStateClient, QueryableStateError

__all__ = ["QueryableStateClient", "QueryableStateError"]
