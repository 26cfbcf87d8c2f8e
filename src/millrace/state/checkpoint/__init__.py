"""The checkpoint format: delta files, segments, manifests, and how their files come and go."""
