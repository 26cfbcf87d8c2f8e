"""The checkpoint format: layer files, segments, manifests, and how their files come and go."""
