"""What is derived of trees: time attributes, changelog modes and upsert keys per node."""
