"""Invocations of functions: over HTTP, or of the SDK's objects in the worker."""
