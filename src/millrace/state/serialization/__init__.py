"""How values of state become bytes: types, their schemas and how these may change."""
