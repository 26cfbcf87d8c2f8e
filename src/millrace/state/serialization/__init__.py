"""Serialization of state values: types, their schemas and the permitted changes of types."""
