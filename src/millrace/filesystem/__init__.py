"""File systems by URI scheme, for checkpoints, savepoints and file connectors."""
