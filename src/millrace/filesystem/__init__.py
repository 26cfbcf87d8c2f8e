"""File systems by URI scheme: what checkpoints, savepoints and file connectors store files with."""
