"""The checkpoint format: delta files, segments and manifests, and how their files are created
and deleted."""
