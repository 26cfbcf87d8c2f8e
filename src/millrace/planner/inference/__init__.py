"""Properties derived from trees: time attributes, changelog modes and upsert keys per node."""
